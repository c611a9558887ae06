"""Scorer: a chunk of SMILES in, its records out; the one thing that every engine runs."""

from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import torch

from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.reading import target_of
from graphfnp.chemistry.smiles import packed, reads_smiles
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.descriptors import columns_in
from graphfnp.graphs.packed import UNLABELLED
from graphfnp.graphs.problem import Problem
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.label_mix import assumed_mix, for_mix
from graphfnp.prediction.predict import NUM_DRAWS, TrainedModel, predict
from graphfnp.prediction.records import as_text, record_schema, record_table, text_schema
from graphfnp.scoring.chunk import Chunk, Features, read_chunk

MOST_ATOMS = 1000  # a row with more would take the memory of hundreds


@dataclass(frozen=True)
class Settings:
    """All that decides a record, beside the model and the row."""

    draws: int = NUM_DRAWS
    seed: int = 0
    level: float = LEVEL  # of the conformal sets
    mix: tuple[float, ...] | None = None  # label mix of the rows, where it is not the one the model assumes
    most_atoms: int = MOST_ATOMS

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "mix": None if self.mix is None else list(self.mix)}


@dataclass(frozen=True, eq=False)
class Scorer:
    """A model with settings. Draws are shared by all graphs, so a row's record does not depend on its neighbours."""

    model: TrainedModel
    settings: Settings
    lists_as_text: bool = False  # for CSV

    def __post_init__(self) -> None:
        if not reads_smiles(self.model.classifier.schema):
            kind = self.model.classifier.schema.kind
            raise InvalidConfig("SMILES", f"graphs of kind {kind}, which the model was trained on", "give graphs")
        object.__setattr__(self, "model", for_mix(self.model, self.settings.mix))

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def schema(self) -> pa.Schema:
        """The columns of its records."""
        schema = record_schema(self.model.classifier.schema)
        return text_schema(schema) if self.lists_as_text else schema

    @property
    def target(self) -> Target:
        """What reading has to know of the model."""
        return target_of(self.model.classifier.schema, self.settings.most_atoms)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a file must hold beside the SMILES."""
        return columns_in(self.model.classifier.schema.descriptors)

    read = staticmethod(read_chunk)

    def score(self, chunk: Chunk, features: Features | None = None) -> pa.Table:
        """The records of a chunk; ``features`` if :func:`read_chunk` was already called elsewhere."""
        arrays, refused = features or read_chunk(chunk, self.target)
        problems = [Problem(chunk.start + row, chunk.texts[row], why) for row, why in refused]
        rows, model, graphs, predictions = arrays["row"].tolist(), self.model, None, None
        if rows:
            labels, texts = torch.full((len(rows),), UNLABELLED), [chunk.texts[row] for row in rows]
            graphs = packed(arrays, labels, model.classifier.schema, texts)
            predictions = predict(model, graphs, self.settings.draws, self.settings.seed)
        numbers = [chunk.start + row for row in rows]
        table = record_table(model, predictions, graphs, numbers, problems, self.settings.level)
        return as_text(table) if self.lists_as_text else table

    def about(self) -> dict[str, Any]:
        return about_model(self.model)


def about_model(model: TrainedModel) -> dict[str, Any]:
    """What a reader of a file of records should know of the model."""
    known = None if model.provenance is None else model.provenance.to_json()
    names = list(model.classifier.schema.class_names)
    sets = None if model.conformal is None else model.conformal.guarantee
    return {
        "model": model.id, "classes": names, "label_mix": assumed_mix(model), "calibration": known, "sets": sets,
        "decision": None if model.decision is None else model.decision.to_json(),
    }  # fmt: skip
