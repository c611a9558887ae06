"""Where structures occur among the training graphs: what ranking, pruning and explanations may lean on."""

import math
from dataclasses import dataclass, field
from statistics import NormalDist

import networkx as nx
import torch
from torch import Tensor

from graphfnp.datasets.fragments import as_networkx
from graphfnp.decoding.candidates import refined_hash
from graphfnp.decoding.patterns import Searched, smarts_of
from graphfnp.graphs import PackedGraphs
from graphfnp.rationales import Structure

SAME_KIND = nx.algorithms.isomorphism.categorical_node_match("kind", 0)
SEARCHED = 200  # training graphs without chemistry that are searched; molecules are all searched, they are quicker
WRONG = 0.025  # chance that a lower bound of an odds ratio is too high


@dataclass(frozen=True, eq=False)
class Support:
    """Some training graphs in which structures are sought, each structure once."""

    searched: Searched
    known: dict[object, list[tuple[nx.Graph, Tensor]]] = field(default_factory=dict)

    @classmethod
    def of(cls, graphs: PackedGraphs) -> "Support":
        count = len(graphs) if graphs.schema.kind == "molecule" else SEARCHED
        return cls(Searched(graphs.select(torch.arange(len(graphs))[:: max(1, len(graphs) // max(1, count))])))

    def __call__(self, structure: Structure) -> Tensor:
        """[graphs]: does each hold the structure?"""
        smarts = smarts_of(structure, self.searched.graphs.schema) if self.searched.is_chemical else None
        alike = self.known.setdefault(smarts or refined_hash(structure), [])
        graph = nx.Graph() if smarts else as_networkx(structure)
        for other, holds in alike:
            if nx.is_isomorphic(graph, other, SAME_KIND, SAME_KIND):
                return holds
        holds = self.searched.contain_smarts(smarts) if smarts else self.searched.contain(structure)
        alike.append((graph, holds))
        return holds

    def log_odds_ratio(self, structure: Structure, label: int, among: int = 1) -> float:
        """Lower bound of the log odds ratio of holding the structure, graphs of the class against the others.

        log (a d / b c) - e sqrt(1/a + 1/b + 1/c + 1/d), with one half added to each count; e standard errors leave out
        2.5 % in all, if the structure is one of ``among`` that were looked up (Bonferroni). Above zero: it is found in
        graphs of the class more often, beyond what chance and the search for it would do.
        """
        errors = NormalDist().inv_cdf(1 - WRONG / among)
        holds, y = self(structure), self.searched.graphs.y
        cells = [float((a & b).sum()) + 0.5 for b in (y == label, (y >= 0) & (y != label)) for a in (holds, ~holds)]
        ratio = math.log(cells[0] * cells[3] / (cells[1] * cells[2]))
        return ratio - errors * math.sqrt(sum(1 / cell for cell in cells))

    def overlap(self, one: Structure, other: Structure) -> float:
        """The share that the graphs holding both have of those holding either (Jaccard)."""
        a, b = self(one), self(other)
        return float((a & b).sum() / (a | b).sum().clamp(min=1))

    def f1(self, structure: Structure, label: int) -> float:
        """How well finding the structure tells the class: the harmonic mean of precision and recall."""
        holds, own = self(structure), self.searched.graphs.y == label
        return float(2 * (holds & own).sum() / (holds.sum() + own.sum()).clamp(min=1))
