"""Of all structures that occur in the very same training graphs, the one to show.

Data cannot tell such structures apart: a triangle, a square and the house made of both are in the same graphs, and so
are a cycle and the cycle with a node hanging on it. Nor can the model be asked which of them is meant: to message
passing a cycle alone is like any other cycle. Two well-known ideas settle it without knowing any motif. The *closed*
structure is the largest that all these graphs share. A *sufficient reason* is a part of it that by itself occurs in
no other graph. What lies in no smallest sufficient reason is left out of the closed structure: nodes hanging on a
cycle go, but of the house every node stays, some for the triangle and some for the square.
"""

from dataclasses import dataclass, field

import networkx as nx
import torch
from torch import Tensor

from graphfnp.datasets.fragments import as_networkx, part
from graphfnp.datasets.subgraphs import Pattern
from graphfnp.decoding.support import Support
from graphfnp.rationales import Structure

ENOUGH = 60  # graphs: structures found in the same 60 differ in less than 5 % of such graphs (rule of three)


@dataclass(frozen=True, eq=False)
class Representatives:
    """Structures by the training graphs that hold them."""

    support: Support
    largest: int  # nodes
    known: dict[tuple[int, ...], Structure] = field(default_factory=dict)

    def __call__(self, structure: Structure) -> Structure:
        """The relevant part of the closed structure; the structure itself where too few graphs hold it.

        Molecules stay as they are: their units are what belongs together, and atoms tell parts of them apart.
        """
        if self.support.searched.is_chemical:
            return structure
        holds = self.support(structure)
        graphs = tuple(torch.where(holds)[0].tolist())
        if not ENOUGH <= len(graphs) < len(holds):
            return structure
        if graphs not in self.known:
            least = self._relevant(structure, holds)
            self.known[graphs] = self._relevant(self._closed(least, graphs), holds)
        return self.known[graphs]

    def _closed(self, structure: Structure, graphs: tuple[int, ...]) -> Structure:
        """Grown node by node in one of the graphs, as long as all of them hold it; into cycles first."""
        searched = self.support.searched
        whole, (links, core) = searched.structures[graphs[0]], searched.neighbours[graphs[0]]
        place = set(Pattern(structure).first_copy(whole.node_type, links, core))
        refused: set[int] = set()
        while place and len(place) < self.largest:
            border = {node for inside in place for node in links[inside]} - place - refused
            if not border:
                break
            node = max(border, key=lambda one: (core[one], len(place & set(links[one])), -one))
            if all(searched.held_by(part(whole, place | {node}), graphs)):
                place.add(node)
            else:
                refused.add(node)
        return part(whole, place) if place else structure

    def _relevant(self, structure: Structure, holds: Tensor) -> Structure:
        """Without the nodes that lie in no smallest connected part that occurs in no other graph."""
        elsewhere = torch.where(~holds)[0].tolist()
        graph = as_networkx(structure)
        told: dict[frozenset[int], bool] = {}

        def suffices(nodes: frozenset[int]) -> bool:
            if nodes not in told:
                told[nodes] = not any(self.support.searched.held_by(part(structure, nodes), elsewhere))
            return told[nodes]

        # A part of something insufficient is insufficient, so the search goes down from the whole and stops there.
        relevant: set[int] = set()
        seen, waiting = set(), [frozenset(graph)]
        while waiting:
            nodes = waiting.pop()
            rest = [nodes - {node} for node in nodes if len(nodes) > 1]
            enough = [one for one in rest if nx.is_connected(graph.subgraph(one)) and suffices(one)]
            if not enough:
                relevant |= nodes
            fresh = [one for one in enough if one not in seen]
            seen.update(fresh)
            waiting += fresh
        return part(structure, relevant)
