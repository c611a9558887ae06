"""Scorer: a chunk of SMILES in, its records out; the one thing that every engine runs."""

from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import torch

from graphfnp.conformal import LEVEL
from graphfnp.datasets.dataset import Problem
from graphfnp.datasets.molecule_arrays import Arrays
from graphfnp.datasets.smiles import packed
from graphfnp.datasets.typed_smiles import graphs_in_schema, reads_smiles
from graphfnp.errors import InvalidConfig
from graphfnp.graphs import UNLABELLED, PackedGraphs
from graphfnp.label_shift import moved_to_mix
from graphfnp.prediction import NUM_DRAWS, TrainedModel, predict
from graphfnp.records import as_text, record_table
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

    def score(self, chunk: Chunk, features: Features | None = None) -> pa.Table:
        """The records of a chunk; ``features`` if :func:`read_chunk` was already called elsewhere."""
        arrays, refused = features or read_chunk(chunk, self.settings.most_atoms)
        problems = [Problem(chunk.start + row, given, why) for row, given, why in refused]
        rows = arrays["row"].tolist()
        graphs: PackedGraphs | None = None
        if rows:
            graphs, rows, more = self._graphs(arrays, [chunk.texts[row] for row in rows], rows)
            problems += [Problem(chunk.start + one.row, one.given, one.reason) for one in more]
        rows, model, predictions = [chunk.start + row for row in rows], self.model, None
        if graphs is not None and rows:
            predictions = predict(model, graphs, self.settings.draws, self.settings.seed)
            if self.settings.mix is not None:
                model, predictions = moved_to_mix(model, predictions, self.settings.mix)
        table = record_table(model, predictions, graphs, rows, problems, self.settings.level)
        return as_text(table) if self.lists_as_text else table

    def _graphs(
        self, arrays: Arrays, texts: list[str], rows: list[int]
    ) -> tuple[PackedGraphs | None, list[int], list[Problem]]:
        schema = self.model.classifier.schema
        if schema.features == "molecule":
            return packed(arrays, torch.full((len(rows),), UNLABELLED), schema, texts), rows, []
        graphs, found, problems = graphs_in_schema(texts, schema)  # typed atoms, with hydrogens
        return graphs, [rows[k] for k in found.tolist()], [Problem(rows[p.row], p.given, p.reason) for p in problems]
