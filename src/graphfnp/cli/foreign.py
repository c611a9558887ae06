"""Labelled graphs of another file than the run's own, without those that the model was trained on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.datasets.split import seen_before
from graphfnp.errors import InvalidGraphs, MissingData
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.runs.run import Run


def unseen_graphs(
    run: Run, source: str, options: Mapping[str, Any], data: Path | None, seed: int
) -> tuple[PackedGraphs, str]:
    """The graphs the model was not trained on, and a sentence on the others; none: an empty one.

    Columns and labels are called as in training, unless ``options`` say otherwise.
    """
    own, columns = run.plan.data_options, ("smiles", "label", "standardise", "features")
    chosen: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    chosen |= {name: own[name] for name in columns if name in own and name not in chosen}
    loaded = load(source, data=data, seed=seed, **chosen)
    known = _trained_on(run, data)
    if known is None:
        return loaded.graphs, ""
    seen = seen_before(loaded.graphs, known)
    count = int(seen.sum())
    if not count:
        return loaded.graphs, ""
    if count == len(loaded.graphs):
        raise InvalidGraphs(
            f"{source}, whose {count} graphs are all among those the model was trained on",
            "graphs the model has not seen",
            "give others: what it was trained on says nothing about how right it is",
        )
    return loaded.graphs.select((~seen).nonzero()[:, 0]), f"{count} of {len(loaded.graphs)} graphs were trained on"


def _trained_on(run: Run, data: Path | None) -> list[str] | None:
    """Texts of the training graphs: of the run's own data if they are here, else those kept with the model."""
    try:
        dataset: Dataset | None = run.dataset(data)
    except (MissingData, OSError):
        dataset = None
    if dataset is not None and dataset.graphs.text is not None:
        return list(dataset.train.text or ())
    domain = run.model.domain
    return None if domain is None or domain.text is None else list(domain.text)
