"""Scorer: a chunk of SMILES in, the records of one model or of several out; the one thing that every engine runs."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import torch

from graphfnp.chemistry.molecule_arrays import Arrays
from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.reading import read_molecules, target_of
from graphfnp.chemistry.smiles import packed, reads_smiles
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.descriptors import columns_in, table_values, with_values
from graphfnp.graphs.packed import UNLABELLED
from graphfnp.graphs.problem import Problem
from graphfnp.prediction.arrow import column
from graphfnp.prediction.conformal import LEVEL
from graphfnp.prediction.label_mix import assumed_mix, for_mix
from graphfnp.prediction.predict import NUM_DRAWS, TrainedModel, predict
from graphfnp.prediction.records import FAILED, OK, as_text, record_table
from graphfnp.scoring.rows import Chunk

MOST_ATOMS = 1000  # a row with more would take the memory of hundreds
ALONE = ""  # the name of a model that is asked by itself
SHARED = ("row", "input")  # columns of all models; the others are called after their model
Features = tuple[Arrays, list[tuple[int, str]]]  # of the molecules; row and reason of what is none


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
    """Models by name with the same settings; one by itself is called ALONE.

    Draws are shared by all graphs, so a row's record does not depend on its neighbours. Molecules that several models
    read alike are read once.
    """

    given: Mapping[str, TrainedModel]
    settings: Settings
    lists_as_text: bool = False  # for CSV

    def __post_init__(self) -> None:
        for model in self.given.values():
            if not reads_smiles(model.classifier.schema):
                kind = model.classifier.schema.kind
                raise InvalidConfig("SMILES", f"graphs of kind {kind}, which the model was trained on", "give graphs")

    @cached_property
    def models(self) -> dict[str, TrainedModel]:
        """For the label mix of the settings."""
        return {name: for_mix(model, self.settings.mix) for name, model in self.given.items()}

    @property
    def id(self) -> str:
        return ",".join(f"{name}={model.id}" if name else model.id for name, model in self.models.items())

    def read(self, chunk: Chunk) -> dict[Target, Features]:
        """The molecules as each kind of model knows them."""
        return {target: read_chunk(chunk, target) for target in dict.fromkeys(map(self._target, self.models.values()))}

    def score(self, chunk: Chunk, features: Mapping[Target, Features] | None = None) -> pa.Table:
        """The records of a chunk, by model side by side; ``features`` if :meth:`read` was already called elsewhere."""
        features = features or self.read(chunk)
        tables = {name: self._score(chunk, model, features) for name, model in self.models.items()}
        return side_by_side(tables)

    @property
    def columns(self) -> tuple[str, ...]:
        """What a file must hold beside the SMILES."""
        known = (columns_in(model.classifier.schema.descriptors) for model in self.given.values())
        return tuple(dict.fromkeys(name for names in known for name in names))

    def _target(self, model: TrainedModel) -> Target:
        """What reading has to know of a model."""
        return target_of(model.classifier.schema, self.settings.most_atoms)

    def _score(self, chunk: Chunk, model: TrainedModel, features: Mapping[Target, Features]) -> pa.Table:
        arrays, refused = features[self._target(model)]
        problems = [Problem(chunk.start + row, chunk.texts[row], why) for row, why in refused]
        rows, graphs, predictions = arrays["row"].tolist(), None, None
        if rows:
            labels, texts = torch.full((len(rows),), UNLABELLED), [chunk.texts[row] for row in rows]
            graphs = packed(arrays, labels, model.classifier.schema, texts)
            predictions = predict(model, graphs, self.settings.draws, self.settings.seed)
        numbers = [chunk.start + row for row in rows]
        table = record_table(model, predictions, graphs, numbers, problems, self.settings.level)
        return as_text(table) if self.lists_as_text else table


def read_chunk(chunk: Chunk, target: Target) -> Features:
    """The molecules as arrays, and the rows that are none, counted from the chunk's first."""
    values, reasons = table_values(columns_in(target.descriptors), chunk.columns, len(chunk.texts))
    reasons = {row: why for row, why in reasons.items() if chunk.texts[row]} | chunk.reasons
    texts = ["" if place in reasons else text for place, text in enumerate(chunk.texts)]
    arrays, refused = read_molecules(texts, target)
    return with_values(arrays, values[arrays["row"]]), [(row, reasons.get(row, why)) for row, why in refused]


def side_by_side(tables: Mapping[str, pa.Table]) -> pa.Table:
    """Row, input, whether any model answered; then the columns of each model, its name before theirs."""
    if ALONE in tables:
        return tables[ALONE]
    first = next(iter(tables.values()))
    states = [zip(table["status"].to_pylist(), table["reason"].to_pylist(), strict=True) for table in tables.values()]
    rows = [together(dict(zip(tables, row, strict=True))) for row in zip(*states, strict=True)]
    columns = {name: first[name].combine_chunks() for name in SHARED}
    columns |= {name: column([row[k] for row in rows], pa.string()) for k, name in enumerate(("status", "reason"))}
    for model, table in tables.items():
        own = [name for name in table.column_names if name not in SHARED]
        columns |= {f"{model}_{name}": table[name] for name in own}
    return pa.table(columns).combine_chunks()


def together(states: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Status of a row over all models, and why some have no answer; once, if it is the same for all."""
    reasons = {name: reason for name, (status, reason) in states.items() if status != OK}
    told = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    if len(reasons) < len(states):
        return OK, told
    return FAILED, next(iter(reasons.values())) if len(set(reasons.values())) == 1 else told


def about(models: Mapping[str, TrainedModel]) -> dict[str, Any]:
    """What a reader of a file of records should know of the models that made it."""
    known = {name: _about_model(model) for name, model in models.items()}
    return known.get(ALONE) or {"models": known}


def _about_model(model: TrainedModel) -> dict[str, Any]:
    known = None if model.provenance is None else model.provenance.to_json()
    names = list(model.classifier.schema.class_names)
    sets = None if model.conformal is None else model.conformal.guarantee
    return {
        "model": model.id, "classes": names, "label_mix": assumed_mix(model), "calibration": known, "sets": sets,
        "decision": None if model.decision is None else model.decision.to_json(),
    }  # fmt: skip
