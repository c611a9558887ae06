"""Plain graphs, and with them all that a kind of graphs can be asked; sentences are trees of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from graphfnp.chemistry.patterns import SubstructureIndex
from graphfnp.chemistry.structures import structures_from_graphs
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure, as_networkx, largest_piece, motif_name, substructure
from graphfnp.graphs.subgraphs import random_connected_nodes


@dataclass(frozen=True)
class PlainGraphs:
    """Any structure is valid, any connected part of it is a part, and shapes have names."""

    schema: Schema

    noun: ClassVar[str] = "text"  # what the text of a graph is
    knows_alerts: ClassVar[bool] = False
    smallest: ClassVar[int] = 3  # nodes of the smallest connected graph that is more than an edge
    largest: ClassVar[int] = 10  # nodes that a rationale may have
    searched: ClassVar[int | None] = 500  # graphs of each class in which a structure is sought; None: all

    # ---------------------------------------------------------------- checked

    def can_be_written(self, structure: Structure) -> bool:
        """Could there be such a graph?"""
        return True

    def is_valid(self, structure: Structure) -> bool:
        """Could a rationale look like this?"""
        return True

    def decoding_rules(self) -> Any | None:
        """What a decoder must keep to; None: nothing."""
        return None

    def repaired(self, structure: Structure) -> Structure:
        """What a decoder drew, in one piece."""
        return largest_piece(structure)

    # ---------------------------------------------------------------- measured and cut

    @property
    def nodes_per_size(self) -> float:
        """Nodes for each node that :meth:`size` counts, about."""
        return 1.0

    def size(self, structure: Structure) -> int:
        """Nodes that count."""
        return structure.num_nodes

    def units(self, structure: Structure) -> list[frozenset[int]]:
        """Nodes that are kept or left out together."""
        return [frozenset([node]) for node in range(structure.num_nodes)]

    def parts(
        self, graphs: PackedGraphs, smallest: int, largest: int, rounds: int, generator: torch.Generator
    ) -> list[Structure]:
        """Connected parts of these sizes: here random ones, ``rounds`` of each graph."""
        structures, batch = structures_from_graphs(graphs), graphs.batch()
        parts: list[Structure] = []
        for _ in range(rounds):
            sizes = torch.randint(smallest, largest + 1, (len(graphs),), generator=generator)
            kept = random_connected_nodes(batch, sizes, generator)
            owner, local = batch.batch[kept], kept - batch.ptr[batch.batch[kept]]
            parts += [substructure(structure, local[owner == g].tolist()) for g, structure in enumerate(structures)]
        return parts

    def attachments(self, structure: Structure) -> int:
        """What tells parts of one shape apart: how many of their nodes were attached to more, where that matters."""
        return 0

    def edge_order(self, edge_type: int) -> int:
        """What an edge of this type weighs at its nodes."""
        return 1

    def may_be_placed(self, edge_type: int) -> bool:
        """May a generator of structures place edges of this type?"""
        return True

    # ---------------------------------------------------------------- sought

    def substructures(self, graphs: PackedGraphs) -> SubstructureIndex | None:
        """Graphs in which structures can be sought; None where nodes have no types to go by."""
        return None if graphs.schema.needs_x else SubstructureIndex(graphs)

    def some_substructures(self, graphs: PackedGraphs) -> SubstructureIndex | None:
        """Of as many graphs as can be searched, evenly from each class."""
        if self.searched is None:
            return self.substructures(graphs)
        chosen: list[torch.Tensor] = []
        for label in range(graphs.num_classes):
            own = torch.where(graphs.y == label)[0]
            chosen.append(own[:: max(1, -(-len(own) // self.searched))])
        return self.substructures(graphs.select(torch.cat(chosen).sort().values))

    # ---------------------------------------------------------------- named and compared

    def names(self, structure: Structure) -> dict[str, str | None]:
        """What a reader may call it: ``smiles``, ``fragment``, ``smarts``, ``motif``, ``words``."""
        return {"motif": motif_name(structure)}

    def canonical(self, texts: Sequence[str]) -> list[str]:
        """Texts that are equal for equal graphs."""
        return list(texts)

    def molecule(self, structure: Structure) -> Any | None:
        """As a chemist draws it, an RDKit molecule; None: as any graph is drawn."""
        return None

    def alerts(self, structure: Structure) -> list[str]:
        """Structures it holds that experts warn of."""
        return []

    def similarities(self, structures: Sequence[Structure], others: Sequence[Structure]) -> list[float]:
        """In [0, 1], for each structure how similar the most similar of the others is: here, is one isomorphic?"""
        import networkx as nx

        mine, theirs = ([as_networkx(one) for one in group] for group in (structures, others))
        same = nx.algorithms.isomorphism.categorical_node_match("kind", 0)
        return [float(any(nx.is_isomorphic(one, other, same) for other in theirs)) for one in mine]


class Sentences(PlainGraphs):
    """Two words can be a rationale, and it is called by its words."""

    smallest: ClassVar[int] = 2
    largest: ClassVar[int] = 8

    def names(self, structure: Structure) -> dict[str, str | None]:
        return {"words": " ".join(structure.names) or None}
