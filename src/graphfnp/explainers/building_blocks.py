"""What graphs of a dataset are made of: kinds of nodes, kinds of edges, and how many edges a kind of node bears."""

from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.structure import Structure
from graphfnp.kinds.kind_of import kind_of

MOST_KINDS = 64  # of nodes; rarer ones are left out


@dataclass(frozen=True, eq=False)
class BuildingBlocks:
    """Kinds of nodes and edges seen in training graphs.

    ``room`` is the most that the edges of a node of a kind weigh in training, where a double bond weighs two: for
    molecules the valence, elsewhere the largest degree.
    """

    schema: Schema
    node_type: Tensor  # [kinds]
    rows: Tensor  # [kinds, columns]: node features
    frequency: Tensor  # [kinds]
    room: Tensor  # [kinds]
    edge_rows: Tensor  # [edge kinds, columns]: edge features, the first is the type; a single 0 without any
    order: Tensor  # [edge kinds]: what an edge weighs

    @classmethod
    def of(cls, graphs: PackedGraphs, distinct_features: bool = False) -> "BuildingBlocks":
        """A kind of node is a node type or, if asked for or if features do not follow from it, a row of features."""
        schema = graphs.schema
        if schema.is_continuous:
            raise InvalidConfig(
                f"graphs with continuous node features of width {schema.node_width}",
                "nodes of a few discrete types: this explainer builds graphs node by node",
                "choose an explainer of single graphs, e.g. gnn-explainer",
            )
        node_type = torch.zeros(len(graphs.x), dtype=torch.long) if graphs.node_type is None else graphs.node_type
        by_row = schema.needs_x or (distinct_features and schema.has_atom_features)
        keys = torch.cat([node_type.long().unsqueeze(1), graphs.x.long()], dim=1)
        keys = keys if by_row else keys[:, :1]
        distinct, kind, count = torch.unique(keys, dim=0, return_inverse=True, return_counts=True)
        first = torch.full((len(distinct),), len(kind)).scatter_reduce_(0, kind, torch.arange(len(kind)), "amin")
        common = torch.argsort(count, descending=True, stable=True)[:MOST_KINDS]
        edge_rows, order = _edge_kinds(graphs)
        room = _largest_weight(graphs, kind, len(distinct))
        useful = common[room[common] > 0]
        common = useful if len(useful) else common
        return cls(
            schema, distinct[common, 0], graphs.x[first[common]].long(), count[common] / count[common].sum(),
            room[common], edge_rows, order,
        )  # fmt: skip

    def structure(self, kinds: list[int], edges: list[tuple[int, int, int]]) -> Structure:
        """The graph of these kinds of nodes and edges (i, j, kind of edge)."""
        typed = tuple(sorted((min(i, j), max(i, j), int(self.edge_rows[kind, 0])) for i, j, kind in edges))
        x = self.rows[kinds] if self.schema.needs_x else None
        return Structure(tuple(self.node_type[kinds].tolist()), typed, x)

    def is_valid(self, structure: Structure) -> bool:
        """Could there be such a molecule? Other graphs are valid as they are."""
        return kind_of(self.schema).can_be_written(structure)


def _edge_kinds(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """[kinds, columns], [kinds]: the commonest feature row of every edge type that may be placed, and its weight."""
    kind = kind_of(graphs.schema)
    if graphs.edge_attr is None or not len(graphs.edge_attr):
        return torch.zeros(1, 1, dtype=torch.long), torch.ones(1, dtype=torch.long)
    rows, count = torch.unique(graphs.edge_attr.long(), dim=0, return_counts=True)
    kept = [k for k in rows[:, 0].unique().tolist() if kind.may_be_placed(k)]
    best = [int(torch.where(rows[:, 0] == k, count, -1).argmax()) for k in kept]
    return rows[best], torch.tensor([kind.edge_order(k) for k in kept])


def _largest_weight(graphs: PackedGraphs, kind: Tensor, kinds: int) -> Tensor:
    """[kinds]: the most that edges into one node of the kind weigh."""
    target, edges = graphs.global_edge_index[1], graphs.edge_attr
    types = torch.zeros_like(target) if edges is None else edges[:, 0].long()
    orders = [kind_of(graphs.schema).edge_order(k) for k in range(int(types.max()) + 1 if len(types) else 1)]
    total = torch.zeros(len(kind), dtype=torch.long).index_add_(0, target, torch.tensor(orders)[types])
    return torch.zeros(kinds, dtype=torch.long).scatter_reduce_(0, kind, total, "amax")
