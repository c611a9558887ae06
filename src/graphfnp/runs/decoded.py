"""The decoded rationales of a run: those its folder keeps, or found now."""

import dataclasses
from pathlib import Path
from typing import Any

from graphfnp.datasets.dataset import Dataset
from graphfnp.errors import MissingData
from graphfnp.files import read_json
from graphfnp.prediction.saving import MODEL_RECORD
from graphfnp.rationales.config import DecodingConfig, decoding_for
from graphfnp.rationales.store import DECODED, REVISION, DecodedRationales, decode, kept_key, load_decoded, save_decoded
from graphfnp.runs.bundles import is_bundled
from graphfnp.runs.run import Run


def decoded_of_run(
    run: Run,
    data: str | Path | None = None,
    config: DecodingConfig | None = None,
    seed: int = 0,
    dataset: Dataset | None = None,
    anew: bool = False,
) -> DecodedRationales:
    """What the run keeps if it was decoded so before; else decoded now, with its data if they are here, and kept.

    Without ``config`` it is what is usual for such graphs, and only that is kept. ``anew`` looks at nothing that was
    kept, and keeps it also in the folder of a bundled model.
    """
    model = read_json(run.folder / MODEL_RECORD)["sha256"]
    if (run.folder / DECODED).is_file() and not anew:
        written = kept_key(run.folder)
        of_now = written["model"] == model and written.get("revision") == REVISION
        if of_now and (config is None or written == _key(model, config, seed)):
            return load_decoded(run.folder, run.model)[0]
    if dataset is None:
        try:
            dataset = run.dataset(data)
        except MissingData:
            dataset = None
    usual = decoding_for(run.model.classifier.schema)
    found = decode(run.model, dataset, config or usual, seed)
    if config is None and dataset is not None and (anew or not is_bundled(run)):
        save_decoded(found, run.folder, _key(model, usual, seed))
    return found


def _key(model: str, config: DecodingConfig, seed: int) -> dict[str, Any]:
    """What decides the outcome."""
    return {"revision": REVISION, "model": model, "config": dataclasses.asdict(config), "seed": seed}
