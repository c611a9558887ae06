"""Parts of the graph decoder: its message passing layer, and the two heads that decide on nodes and on edges."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphfnp.graphs.packed import Schema
from graphfnp.methods.graphfnp.decoder.breadth_first import FAR

MAX_DEGREE = 8
MAX_OFFSET = 15
MAX_CYCLES = 8
LOG_VARIANCE_BOUND = 6.0


class NodeInput(nn.Module):
    """A node before any message: its type's vector, plus a linear map of its features where they are continuous."""

    def __init__(self, schema: Schema, width: int) -> None:
        super().__init__()
        self.kind = nn.Embedding(len(schema.node_types), width)
        self.features = nn.Linear(schema.node_width, width) if schema.is_continuous else None

    def forward(self, node_type: Tensor, x: Tensor | None) -> Tensor:
        vector = self.kind(node_type)
        return vector if self.features is None or x is None else vector + self.features(x)


class DecoderLayer(nn.Module):
    """h_v <- norm(h_v + relu(A h_v + B sum_{u ~ v} relu(W h_u + e_uv)))."""

    def __init__(self, edge_types: int, width: int) -> None:
        super().__init__()
        self.sent = nn.Linear(width, width)
        self.kind = nn.Embedding(edge_types, width)
        self.own = nn.Linear(width, width)
        self.received = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def messages(self, states: Tensor, source: Tensor, edge_type: Tensor) -> Tensor:
        """[edges, width]: what the source of each edge sends along it; W is applied once for each node."""
        return functional.relu(rows(self.sent(states), source) + self.kind(edge_type))

    def forward(self, states: Tensor, total: Tensor) -> Tensor:
        return self.norm(states + functional.relu(self.own(states) + self.received(total)))


class Context(nn.Module):
    """What every decision sees beside nodes: the partial graph and its cycles, z, nodes so far and to come."""

    def __init__(self, embedding_dim: int, width: int, max_nodes: int, size_condition: bool) -> None:
        super().__init__()
        self.partial_graph = nn.Linear(width, width, bias=False)
        self.latent = nn.Linear(embedding_dim, width)
        self.step = nn.Embedding(max_nodes + 1, width)
        self.cycles = nn.Embedding(MAX_CYCLES + 1, width)
        self.remaining = nn.Embedding(max_nodes + 1, width) if size_condition else None
        self.max_nodes = max_nodes

    def forward(
        self, partial_graph: Tensor, z: Tensor, graph: Tensor, step: Tensor, cycles: Tensor, sizes: Tensor | None
    ) -> Tensor:
        """[rows, width] from partial_graph [rows, width], z [graphs, dims], and graph, step and cycles of each row."""
        context = self.partial_graph(partial_graph) + rows(self.latent(z), graph)
        context = context + self.step(step.clamp(max=self.max_nodes)) + self.cycles(cycles.clamp(max=MAX_CYCLES))
        if self.remaining is None or sizes is None:
            return context
        return context + self.remaining((sizes[graph] - step).clamp(0, self.max_nodes))


class NodeHead(nn.Module):
    """p(type or stop) = softmax(MLP(last node, partial graph, z)), Eq. 7; a diagonal Gaussian for continuous x."""

    def __init__(self, schema: Schema, embedding_dim: int, width: int, max_nodes: int, size_condition: bool) -> None:
        super().__init__()
        self.context = Context(embedding_dim, width, max_nodes, size_condition)
        self.last = nn.Linear(width, width, bias=False)
        self.kind = nn.Linear(width, len(schema.node_types) + 1)  # the last one is "stop"
        self.features = nn.Linear(width, 2 * schema.node_width) if schema.is_continuous else None

    def hidden(self, last: Tensor, context: Tensor) -> Tensor:
        return functional.relu(self.last(last) + context)

    def gaussian(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of x_t, [rows, columns] each."""
        assert self.features is not None
        mean, log_variance = self.features(hidden).chunk(2, dim=-1)
        return mean, log_variance.clamp(-LOG_VARIANCE_BOUND, LOG_VARIANCE_BOUND)


class EdgeHead(nn.Module):
    """p(edge class) = softmax(MLP(new node so far, old node, partial graph, z)), Eq. 8.

    The first layer is a sum of maps of its inputs, so each is computed once for a node or a state and only added for a
    pair. What message passing can hardly see is given for each pair: j's degree, how far back j is, and how far j is
    from t's first neighbour, i.e. the length of the cycle an edge would close.
    """

    def __init__(self, schema: Schema, embedding_dim: int, width: int, max_nodes: int, size_condition: bool) -> None:
        super().__init__()
        self.context = Context(embedding_dim, width, max_nodes, size_condition)
        self.new = nn.Linear(width, width, bias=False)
        self.old = nn.Linear(width, width, bias=False)
        self.degree = nn.Parameter(0.1 * torch.randn(MAX_DEGREE + 1, 1, 1, width))
        self.offset = nn.Parameter(0.1 * torch.randn(MAX_OFFSET + 1, 1, width))
        self.tree_distance = nn.Parameter(0.1 * torch.randn(FAR + 1, width))
        self.kind = nn.Linear(width, len(schema.edge_types) + 1)  # the first one is "no edge"

    def pair_terms(self) -> Tensor:
        """[combinations, width]: one row for every combination of the three pair features."""
        return (self.degree + self.offset + self.tree_distance).flatten(0, 2)

    def logits(self, new: Tensor, old: Tensor, pair: Tensor) -> Tensor:
        """[pairs, classes] from the three terms of the first layer."""
        return self.kind(functional.relu(new + old + pair))


def pair_feature(degree: Tensor, offset: Tensor, tree_distance: Tensor) -> Tensor:
    """Row of :meth:`EdgeHead.pair_terms` for each pair."""
    row = degree.clamp(max=MAX_DEGREE) * (MAX_OFFSET + 1) + offset.clamp(max=MAX_OFFSET)
    return row * (FAR + 1) + tree_distance


def rows(table: Tensor, index: Tensor) -> Tensor:
    """table[index]; as an embedding, whose gradient is several times faster on a CPU."""
    return functional.embedding(index, table)
