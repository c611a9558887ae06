"""Words as nodes: drawn features become known ones, and a word is judged by its usual vector, not by one sentence's."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.structure import Structure

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


def with_usual_features(structures: Sequence[Structure], graphs: PackedGraphs) -> list[Structure]:
    """Each word with the mean of its vectors in the training sentences.

    Vectors of a language model know the sentence around a word: a comma of a bad review is a bad comma. What a phrase
    says by itself is asked with what its words are on average.
    """
    words = _words(graphs)
    if not words:
        return list(structures)
    number = {word: k for k, word in enumerate(dict.fromkeys(map(str.lower, words)))}
    kind = torch.tensor([number[word.lower()] for word in words])
    mean = torch.zeros(len(number), graphs.x.shape[1]).index_add_(0, kind, graphs.x.float())
    mean /= torch.bincount(kind)[:, None]
    return [
        replace(one, x=mean[[number[word.lower()] for word in one.names]]) if one.names else one for one in structures
    ]


def _words(graphs: PackedGraphs) -> list[str]:
    """One for each node; none if they are not known."""
    words = [word for sentence in graphs.words for word in sentence]
    return words if len(words) == len(graphs.x) else []
