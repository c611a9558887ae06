"""Drawn node features as the nearest known ones: a decoded sentence tree becomes words that can be read."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from graphfnp.graphs import PackedGraphs
from graphfnp.rationales import Structure

KNOWN = 20_000  # nodes of the training graphs that are looked at, evenly spread


def with_known_features(structures: Sequence[Structure], graphs: PackedGraphs) -> list[Structure]:
    """Each node gets the features of the known node nearest to it and, in sentences, its word."""
    nodes = torch.arange(len(graphs.x))[:: max(1, len(graphs.x) // KNOWN)]
    known = graphs.x[nodes].float()
    words = _words(graphs)
    drawn = torch.cat([structure.x for structure in structures if structure.x is not None])
    nearest = nodes[torch.cat([torch.cdist(some, known).argmin(1) for some in drawn.split(1024)])]
    found = []
    for structure, own in zip(structures, nearest.split([s.num_nodes for s in structures]), strict=True):
        names = tuple(words[node] for node in own.tolist()) if words else ()
        found.append(replace(structure, x=graphs.x[own].float(), names=names))
    return found


def _words(graphs: PackedGraphs) -> list[str]:
    """One for each node; none if they are not known."""
    if graphs.schema.kind != "text" or graphs.text is None:
        return []
    words = [word for text in graphs.text for word in text.split()]
    return words if len(words) == len(graphs.x) else []
