"""Molecules and sentences that occur more than once, and a note when a split has them on two sides."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor

from graphfnp.datasets.dataset import PARTS, Split
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.kinds.kind_of import kind_of


def duplicate_groups(graphs: PackedGraphs) -> Tensor | None:
    """[graphs]: equal numbers for the same molecule (canonical SMILES) or sentence; None: the graphs have no text."""
    if graphs.text is None:
        return None
    keys = kind_of(graphs.schema).canonical(graphs.text)
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.long)


def seen_before(graphs: PackedGraphs, texts: Sequence[str]) -> Tensor:
    """bool [graphs]: is the same molecule (canonical SMILES) or sentence among the texts?"""
    if graphs.text is None:
        return torch.zeros(len(graphs), dtype=torch.bool)
    kind = kind_of(graphs.schema)
    known = set(kind.canonical(texts))
    return torch.tensor([one in known for one in kind.canonical(graphs.text)], dtype=torch.bool)


def duplicate_notes(graphs: PackedGraphs, split: Split) -> Split:
    """The same split, with a note of the molecules or sentences that are in more than one part."""
    groups = duplicate_groups(graphs)
    if groups is None:
        return split
    members = {part: set(groups[getattr(split, part)].tolist()) for part in PARTS}
    shared = {(a, b): members[a] & members[b] for a, b in combinations(PARTS, 2)}
    several = set().union(*shared.values())
    if not several:
        return split
    where = ", ".join(f"{a} and {b} {len(both)}" for (a, b), both in shared.items() if both)
    noun = kind_of(graphs.schema).noun
    note = f"{len(several)} {noun}{'s are' if len(several) > 1 else ' is'} in more than one part ({where})"
    return replace(split, notes=(*split.notes, note))
