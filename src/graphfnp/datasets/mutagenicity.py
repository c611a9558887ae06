"""Mutagenicity: molecules with explicit hydrogens, and the NH2 and NO2 groups that explain the mutagens."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from graphfnp.datasets.tu import TUNames, read_tu
from graphfnp.graphs.packed import PackedGraphs

ATOMS = ("C", "O", "Cl", "H", "N", "F", "Br", "S", "P", "I", "Na", "K", "Li", "Ca")
NAMES = TUNames(
    kind="molecule",
    classes={0: "mutagen", 1: "nonmutagen"},
    nodes=dict(enumerate(ATOMS)),
    edges={0: "single", 1: "double", 2: "triple"},
)


def read_mutagenicity(place: Path) -> tuple[PackedGraphs, tuple[str, ...]]:
    """The TU files; edges of ``edge_gt`` where that file is, else those of the same groups found here."""
    graphs, notes = read_tu(place, "Mutagenicity", NAMES)
    if graphs.edge_truth is None:
        graphs = replace(graphs, edge_truth=amino_and_nitro_edges(graphs))
        notes = (*notes, "edge ground truth found by structure: bonds of NH2 and NO2")
    return graphs, notes


def amino_and_nitro_edges(graphs: PackedGraphs) -> Tensor:
    """[edges]: N-H where N has three neighbours, two of them H and none O; N-O where two of three are O.

    This is exactly the published ground truth.
    """
    assert graphs.node_type is not None
    kinds = graphs.schema.node_types
    source, target = graphs.global_edge_index
    is_a = {atom: graphs.node_type == kinds.index(atom) for atom in ("N", "H", "O")}
    count = {atom: torch.bincount(target[mask[source]], minlength=len(graphs.x)) for atom, mask in is_a.items()}
    nitrogen = is_a["N"] & (torch.bincount(target, minlength=len(graphs.x)) == 3)
    amino = nitrogen & (count["H"] == 2) & (count["O"] == 0)
    nitro = nitrogen & (count["O"] == 2)

    def bonds(centre: Tensor, end: Tensor) -> Tensor:
        return (centre[source] & end[target]) | (centre[target] & end[source])

    return bonds(amino, is_a["H"]) | bonds(nitro, is_a["O"])
