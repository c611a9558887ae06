"""Molecules and sentences that occur more than once, and a note when a split has them on two sides."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import torch
from rdkit import Chem, rdBase
from torch import Tensor

from graphfnp.datasets.dataset import PARTS, Split
from graphfnp.graphs.packed import PackedGraphs


def canonical_smiles(smiles: Sequence[str]) -> list[str]:
    """RDKit's canonical SMILES of each; what does not parse stays as given."""
    with rdBase.BlockLogs():
        molecules = (Chem.MolFromSmiles(one) for one in smiles)
        return [Chem.MolToSmiles(mol) if mol else one for mol, one in zip(molecules, smiles, strict=True)]


def duplicate_groups(graphs: PackedGraphs) -> Tensor | None:
    """[graphs]: equal numbers for the same molecule (canonical SMILES) or sentence; None: the graphs have no text."""
    if graphs.text is None:
        return None
    keys = canonical_smiles(graphs.text) if graphs.schema.kind == "molecule" else graphs.text
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.long)


def seen_before(graphs: PackedGraphs, texts: Sequence[str]) -> Tensor:
    """bool [graphs]: is the same molecule (canonical SMILES) or sentence among the texts?"""
    if graphs.text is None:
        return torch.zeros(len(graphs), dtype=torch.bool)
    plain = canonical_smiles if graphs.schema.kind == "molecule" else list
    known = set(plain(texts))
    return torch.tensor([one in known for one in plain(graphs.text)], dtype=torch.bool)


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
    noun = "molecule" if graphs.schema.kind == "molecule" else "text"
    note = f"{len(several)} {noun}{'s are' if len(several) > 1 else ' is'} in more than one part ({where})"
    return replace(split, notes=(*split.notes, note))
