"""Domain: how strange a graph is to the training data, in two views, and which training graphs are nearest.

The kernel distance of a model is blind to novelty: mean pooling maps foreign molecules among known ones. Two views
see what the other misses: neighbourhoods that training never met (fingerprints), and places in the model's own
embedding where no training graph lies. benchmarks/domain.py measures them and their combinations; docs/domain.md
has the table this choice rests on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfnp.graphs.fingerprints import Fingerprints, fingerprints
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.randomness import stream

REFERENCES = 4096  # training graphs kept
CHUNK = 512  # graphs compared with all references at a time
STORED_AS = "strangeness"  # name of the nonconformity scores in files
NEAREST = 3
EDGE, UNLIKE = 0.9, 0.975  # scores; above 0.975 are nearly all shuffled molecules, above 0.99 a third of them
VERDICTS = ("in domain", "edge", "unlike the training data")
Steps = tuple[np.ndarray, np.ndarray]  # distinct values, and the share below each


def verdict(score: float) -> str:
    """By the share of training graphs with a lower nonconformity: up to 90 %, up to 97.5 %, above."""
    return VERDICTS[(score > EDGE) + (score > UNLIKE)]


@dataclass(frozen=True, eq=False)
class Placement:
    """Where some graphs lie in a domain."""

    score: Tensor  # [graphs] in [0, 1]: the share of training graphs with a lower nonconformity
    nearest: Tensor  # [graphs, NEAREST]: rows of the training data
    similarity: Tensor  # [graphs, NEAREST] in [0, 1], falling
    text: Sequence[tuple[str, ...]] | None = None  # [graphs]: SMILES or sentence of each nearest graph

    def __len__(self) -> int:
        return len(self.score)

    @property
    def verdicts(self) -> list[str]:
        return [verdict(score) for score in self.score.tolist()]

    def select(self, graphs: Tensor) -> "Placement":
        """Only some of the graphs, by a mask or their numbers."""
        chosen = torch.arange(len(self))[graphs].tolist()
        text = None if self.text is None else [self.text[g] for g in chosen]
        return Placement(self.score[graphs], self.nearest[graphs], self.similarity[graphs], text)

    def neighbours(self, graph: int) -> list[dict[str, Any]]:
        """The nearest training graphs of one graph, ready for JSON."""
        rows, similarity = self.nearest[graph].tolist(), self.similarity[graph].tolist()
        text = [None] * len(rows) if self.text is None else self.text[graph]
        return [
            {"row": row, "input": name, "similarity": round(near, 4)}
            for row, name, near in zip(rows, text, similarity, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Domain:
    """Training graphs as references, and how far each of them is from the others.

    In view v (fingerprint: 1 - Tanimoto; embedding: distance after whitening within classes) d_v is the distance to
    the nearest reference, and p_v(d) the share of references at least as far from all others. A graph's nonconformity
    is -sum_v log p_v (Fisher's method), and its score the share of references with a lower one, so that of graphs drawn
    as the training graphs were a tenth score above 0.9.
    """

    row: Tensor  # [references]: row of the training data
    embedding: Tensor  # [references, dims], float16, whitened
    centre: Tensor  # [dims]
    whitening: Tensor  # [dims, dims]
    left_out: Tensor  # [views, references]: distance of each reference to the nearest other, ascending
    nonconformity: Tensor  # [references], ascending
    fingerprints: Fingerprints | None = None  # None: node features are numbers, not categories
    text: tuple[str, ...] | None = None  # [references]

    def __len__(self) -> int:
        return len(self.row)

    def place(self, graphs: PackedGraphs, embedding: Tensor) -> Placement:
        """Score and nearest references of graphs, whose embedding [graphs, dims] is the classifier's."""
        parts = [self._near(*part) for part in self._chunks(graphs, embedding)]
        distance, nearest, similarity = (torch.cat(some, dim=-1) for some in zip(*parts, strict=True))
        names = self.text
        text = None if names is None else [tuple(names[j] for j in one) for one in nearest.T.tolist()]
        score = _share_below(self._steps[-1], self._nonconformity(distance))
        return Placement(score.float(), self.row[nearest.T], similarity.T, text)

    def renumbered(self, row: Tensor) -> "Domain":
        """The same, training graph g being row ``row[g]`` of its source."""
        return replace(self, row=row[self.row])

    def _chunks(self, graphs: PackedGraphs, embedding: Tensor):
        for index in torch.arange(len(graphs)).split(CHUNK):
            some = graphs if len(index) == len(graphs) else graphs.select(index)
            bits = None if self.fingerprints is None else fingerprints(some)
            yield bits, (embedding[index].float() - self.centre) @ self.whitening

    @cached_property
    def _references(self) -> tuple[Tensor, Tensor]:
        """The whitened embeddings in the precision of products, and their squared lengths."""
        embedding = self.embedding.float()
        return embedding, embedding.square().sum(1)

    @cached_property
    def _steps(self) -> "list[Steps]":
        """Of the distances of each view, and of the nonconformity."""
        return [_steps(known) for known in (*self.left_out, self.nonconformity)]

    def _near(self, bits: Fingerprints | None, white: Tensor, own: Tensor | None = None) -> tuple[Tensor, ...]:
        """Distances [views, graphs], nearest [NEAREST, graphs] and their similarity; ``own`` reference is left out."""
        apart = _distances(white, *self._references)
        alike = None if bits is None or self.fingerprints is None else bits.similarity(self.fingerprints)
        if own is not None:
            here = torch.arange(len(own))
            apart[here, own] = torch.finfo(apart.dtype).max
            if alike is not None:
                alike[here, own] = 0
        distance = apart.amin(1)
        if alike is None:
            best, nearest = apart.topk(min(NEAREST, len(self)), largest=False)
            usual = self.left_out[-1].median() if self.left_out.numel() else torch.tensor(1.0)
            return distance[None], nearest.T, torch.exp(-best / usual.clamp(min=1e-6)).T
        # Of references with the same bits (homologues may have) the one nearest in the embedding comes first.
        order = (1e-4 * apart).div_(apart.add_(1)).neg_().add_(alike)
        nearest = order.topk(min(NEAREST, len(self))).indices
        return torch.stack([1 - alike.amax(1), distance]), nearest.T, alike.gather(1, nearest).T

    def _nonconformity(self, distance: Tensor) -> Tensor:
        """-sum_v log p_v of distances [views, graphs]."""
        count = self.left_out.shape[1]
        below = [_share_below(steps, d) for steps, d in zip(self._steps[:-1], distance, strict=True)]
        return -torch.log1p(-torch.stack(below) * count / (count + 1)).sum(0)

    # ---------------------------------------------------------------- keeping

    def tensors(self) -> dict[str, Tensor]:
        names = ("row", "embedding", "centre", "whitening", "left_out")
        bits = {} if self.fingerprints is None else {"bit": self.fingerprints.bit, "bit_ptr": self.fingerprints.ptr}
        return {**{name: getattr(self, name) for name in names}, STORED_AS: self.nonconformity, **bits}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], text: Sequence[str] | None) -> "Domain":
        rest = dict(tensors)
        bit, ptr, scores = rest.pop("bit", None), rest.pop("bit_ptr", None), rest.pop(STORED_AS)
        bits = None if bit is None or ptr is None else Fingerprints(bit, ptr)
        return cls(**rest, nonconformity=scores, fingerprints=bits, text=None if text is None else tuple(text))


def references(num_graphs: int, seed: int = 0) -> Tensor:
    """Numbers of the training graphs to keep: all, or a seeded choice of REFERENCES."""
    if num_graphs <= REFERENCES:
        return torch.arange(num_graphs)
    return torch.randperm(num_graphs, generator=stream(seed, "domain"))[:REFERENCES].sort().values


def domain_of(graphs: PackedGraphs, embedding: Tensor, row: Tensor) -> Domain:
    """The domain that these reference graphs make; ``row`` says which training graph each is."""
    from sklearn.covariance import ledoit_wolf  # a second to import, and only fitting needs it

    embedding = embedding.double()
    groups = graphs.y.unique(return_inverse=True)[1]
    mean = torch.zeros(int(groups.max()) + 1, embedding.shape[1], dtype=torch.double)
    mean = mean.index_add_(0, groups, embedding) / torch.bincount(groups)[:, None]
    covariance = torch.from_numpy(ledoit_wolf((embedding - mean[groups]).numpy(), assume_centered=True)[0])
    floor = 1e-6 * covariance.diagonal().mean().clamp(min=1e-12)  # embeddings may be all alike
    values, vectors = torch.linalg.eigh(covariance)
    whitening = (vectors * values.clamp(min=floor).rsqrt()) @ vectors.T
    centre = embedding.mean(0)
    domain = Domain(
        row=row,
        embedding=((embedding - centre) @ whitening).half(),
        centre=centre.float(),
        whitening=whitening.float(),
        left_out=torch.zeros(1, 0),
        nonconformity=torch.zeros(0),
        fingerprints=None if graphs.schema.is_continuous else fingerprints(graphs),
        text=graphs.text,
    )
    own = torch.arange(len(domain)).split(CHUNK)
    parts = [
        domain._near(bits, white, mine)[0]
        for (bits, white), mine in zip(domain._chunks(graphs, embedding.float()), own, strict=True)
    ]
    distance = torch.cat(parts, dim=-1)
    domain = replace(domain, left_out=distance.sort().values)
    return replace(domain, nonconformity=domain._nonconformity(distance).sort().values)


def _distances(a: Tensor, b: Tensor, squared_b: Tensor) -> Tensor:
    """Euclidean, [a, b]; by products whatever the sizes, where ``torch.cdist`` takes another way for few rows."""
    squared = a.square().sum(1)[:, None] + squared_b
    return squared.sub_(2 * a @ b.T).clamp_(min=0).sqrt_()


def _steps(known: Tensor) -> Steps:
    """The distinct values of ``known``, which ascends, and the share of it that is less than each."""
    distinct, count = known.double().unique_consecutive(return_counts=True)
    return distinct.numpy(), (count.cumsum(0) - count).numpy() / max(len(known), 1)


def _share_below(steps: Steps, values: Tensor) -> Tensor:
    """The share that is less than each value, interpolated between the steps: no jumps by noise."""
    return torch.from_numpy(np.interp(values.double().numpy(), *steps, right=1.0))
