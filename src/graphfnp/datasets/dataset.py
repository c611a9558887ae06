"""Dataset: graphs with a split, and the rows that could not become graphs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.problem import Problem

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class Split:
    """Graph numbers of the three parts; disjoint. ``how`` says how they were chosen, for the run's record."""

    train: Tensor
    validation: Tensor
    test: Tensor
    how: str = "given"
    notes: tuple[str, ...] = ()  # e.g. duplicates across parts

    def __post_init__(self) -> None:
        for part in PARTS:  # lists and arrays are as good
            numbers = torch.as_tensor(getattr(self, part))
            if numbers.ndim != 1 or numbers.dtype == torch.bool or (numbers.is_floating_point() and len(numbers)):
                raise InvalidGraphs(
                    f"a {numbers.dtype} of shape {tuple(numbers.shape)} as {part}", "numbers of graphs, from 0",
                    "of a mask: mask.nonzero().flatten()",
                )  # fmt: skip
            object.__setattr__(self, part, numbers.long())
        together = torch.cat([self.train, self.validation, self.test])
        if len(together.unique()) != len(together):
            raise InvalidGraphs(
                "a graph in two parts of the split", "disjoint train, validation and test", "check the split"
            )

    def to_json(self) -> dict:
        return {"how": self.how, "notes": list(self.notes), **{part: getattr(self, part).tolist() for part in PARTS}}

    @classmethod
    def from_json(cls, record: Mapping) -> "Split":
        parts = {part: torch.tensor(record[part], dtype=torch.long) for part in PARTS}
        return cls(**parts, how=record.get("how", "given"), notes=tuple(record.get("notes", ())))


def read_split(path: Path) -> Split:
    """The split in a file; InvalidConfig if it is none, e.g. because somebody has edited it."""
    try:
        return Split.from_json(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, InvalidGraphs) as error:
        why = error.given if isinstance(error, InvalidGraphs) else error
        raise InvalidConfig(f"{path}: {why}", "a split.json of a run", "check the file") from error


class Reading(NamedTuple):
    """What a reader of files found."""

    graphs: PackedGraphs
    notes: tuple[str, ...] = ()  # what was mended
    rows: Tensor | None = None  # [graphs]: the row of each; None: graph g is row g
    problems: tuple[Problem, ...] = ()  # the rows that are no graph
    split: Split | None = None  # where the reader left graphs out, the parts the others had among all


@dataclass(frozen=True, eq=False)
class Dataset:
    """Named graphs with their split. ``rows[g]`` is the source row of graph g; ``problems`` are the unreadable rows."""

    name: str
    graphs: PackedGraphs
    split: Split
    problems: tuple[Problem, ...] = ()
    rows: Tensor | None = None  # [graphs]; None: graph g is row g
    facts: Mapping[str, str] = field(default_factory=dict)  # origin, licence, "stand-in for ...", file hash
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of the source, by name: a value for every row

    @property
    def train(self) -> PackedGraphs:
        return self.graphs.select(self.split.train)

    @property
    def validation(self) -> PackedGraphs:
        return self.graphs.select(self.split.validation)

    @property
    def test(self) -> PackedGraphs:
        return self.graphs.select(self.split.test)

    def rows_of(self, part: str) -> list[int]:
        """Source rows of the graphs of a part of the split."""
        index = getattr(self.split, part)
        return (index if self.rows is None else self.rows[index]).tolist()

    def has_other_files(self, facts: Mapping[str, str]) -> bool:
        """Is the hash of a file another one than these facts of the same dataset name?"""
        return any(name.startswith("sha256") and self.facts.get(name, own) != own for name, own in facts.items())

    def __repr__(self) -> str:
        parts = "/".join(str(len(getattr(self.split, part))) for part in PARTS)
        return f"Dataset({self.name!r}, {self.graphs!r}, split {self.split.how} {parts}, {len(self.problems)} problems)"
