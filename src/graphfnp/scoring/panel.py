"""PanelScorer: the records of several models side by side; molecules that models read alike are read once."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from graphfnp.chemistry.read_rows import Target
from graphfnp.prediction.arrow import column
from graphfnp.prediction.predict import TrainedModel
from graphfnp.prediction.records import FAILED, OK
from graphfnp.scoring.chunk import Chunk, Features, read_chunk
from graphfnp.scoring.scorer import Scorer, Settings, about_model

SHARED = ("row", "input")  # of all models; the other columns are called after their model
STATE = ("status", "reason")


@dataclass(frozen=True, eq=False)
class PanelScorer:
    """Models by name with the same settings."""

    models: Mapping[str, TrainedModel]
    settings: Settings
    lists_as_text: bool = False  # for CSV

    @cached_property
    def scorers(self) -> dict[str, Scorer]:
        return {name: Scorer(model, self.settings, self.lists_as_text) for name, model in self.models.items()}

    @property
    def id(self) -> str:
        return ",".join(f"{name}={model.id}" for name, model in self.models.items())

    @property
    def target(self) -> tuple[Target, ...]:
        """What reading has to know of the models, each kind once."""
        return tuple(dict.fromkeys(scorer.target for scorer in self.scorers.values()))

    @property
    def columns(self) -> tuple[str, ...]:
        """What a file must hold beside the SMILES."""
        return tuple(dict.fromkeys(name for scorer in self.scorers.values() for name in scorer.columns))

    @property
    def schema(self) -> pa.Schema:
        """Row, input, whether any model answered; then the columns of each model, its name before theirs."""
        first = next(iter(self.scorers.values())).schema
        own = [
            field.with_name(f"{name}_{field.name}") for name, one in self.scorers.items() for field in _own(one.schema)
        ]
        return pa.schema([*(first.field(name) for name in (*SHARED, *STATE)), *own])

    @staticmethod
    def read(chunk: Chunk, targets: tuple[Target, ...]) -> dict[Target, Features]:
        return {target: read_chunk(chunk, target) for target in targets}

    def tables(self, chunk: Chunk, features: Mapping[Target, Features] | None = None) -> dict[str, pa.Table]:
        """The records of each model, by its name."""
        features = features or self.read(chunk, self.target)
        return {name: one.score(chunk, features[one.target]) for name, one in self.scorers.items()}

    def score(self, chunk: Chunk, features: Mapping[Target, Features] | None = None) -> pa.Table:
        """All of them side by side; a row failed if no model could answer it."""
        tables = self.tables(chunk, features)
        first = next(iter(tables.values()))
        states = [zip(*(table[name].to_pylist() for name in STATE), strict=True) for table in tables.values()]
        rows = [together(dict(zip(tables, row, strict=True))) for row in zip(*states, strict=True)]
        columns = [first[name] for name in SHARED]
        columns += [column([row[place] for row in rows], pa.string()) for place in range(len(STATE))]
        columns += [table[field.name] for table in tables.values() for field in _own(table.schema)]
        return pa.table(columns, schema=self.schema).combine_chunks()

    def about(self) -> dict[str, Any]:
        return {"models": {name: about_model(scorer.model) for name, scorer in self.scorers.items()}}


def _own(schema: pa.Schema) -> list[pa.Field]:
    return [field for field in schema if field.name not in SHARED]


def together(states: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Status of a row over all models, and why some have no answer; once, if it is the same for all."""
    reasons = {name: reason for name, (status, reason) in states.items() if status != OK}
    if len(reasons) < len(states):
        return OK, "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    same = len(set(reasons.values())) == 1
    return FAILED, next(iter(reasons.values())) if same else "; ".join(f"{n}: {why}" for n, why in reasons.items())
