"""p(G | z): a graph written down node by node in breadth-first order, each with edges to earlier nodes (Eq. 7, 8)."""

import math
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import Schema
from graphfnp.methods.graphfnp.decoder.breadth_first import DecisionBatch
from graphfnp.methods.graphfnp.decoder.layers import DecoderLayer, EdgeHead, NodeHead, NodeInput, pair_feature, rows
from graphfnp.methods.graphfnp.decoder.states import DecisionPoints, DecoderStates, Inputs, causal_states, prefix_states

STATES = {"causal": causal_states, "prefix": prefix_states}


@dataclass(frozen=True)
class GraphDecoderConfig:
    """``form``: messages only to later nodes ("causal"), or the decoder GNN over every partial graph ("prefix")."""

    width: int = 128
    layers: int = 3
    form: Literal["causal", "prefix"] = "causal"
    size_condition: bool = True  # p(G | z, n) with n known, else p(G | z) with a stop decision
    max_nodes: int = 40  # larger graphs are cut before they are decoded; counts above are not told apart

    def __post_init__(self) -> None:
        if self.form not in STATES:
            raise InvalidConfig(f"decoder form {self.form!r}", " or ".join(map(repr, STATES)), "choose one of them")


class GraphDecoder(nn.Module):
    """log p(G | z) = sum_t [log p(v_t | G_t, z) + sum_j log p(e_tj | G_t, v_t, e_t<j, z)] for one breadth-first order.

    decisions = breadth_first_decisions(batch, generator)
    decoder.log_likelihood(decisions, z)     # [graphs]
    """

    def __init__(self, schema: Schema, embedding_dim: int, config: GraphDecoderConfig | None = None) -> None:
        super().__init__()
        self.schema, self.config = schema, config or GraphDecoderConfig()
        width, sized = self.config.width, self.config.size_condition
        self.node_input = NodeInput(schema, width)
        self.layers = nn.ModuleList(DecoderLayer(len(schema.edge_types), width) for _ in range(self.config.layers))
        self.node_head = NodeHead(schema, embedding_dim, width, self.config.max_nodes, sized)
        self.edge_head = EdgeHead(schema, embedding_dim, width, self.config.max_nodes, sized)

    @property
    def message_layers(self) -> list[DecoderLayer]:
        return cast(list[DecoderLayer], list(self.layers))

    def log_likelihood(self, decisions: DecisionBatch, z: Tensor) -> Tensor:
        """[graphs]: log p(G | z, n) if conditioned on size, else log p(G | z); z is [graphs, dims]."""
        points = DecisionPoints.of(decisions, with_stop=not self.config.size_condition)
        inputs = self._inputs(decisions)
        states = STATES[self.config.form](self.message_layers, inputs, decisions, points)
        nodes = self._node_log_probability(decisions, points, states, z)
        edges = self._edge_log_probability(decisions, points, states, z)
        total = torch.zeros(decisions.num_graphs, dtype=nodes.dtype, device=nodes.device)
        return total.index_add(0, points.graph, nodes).index_add(0, decisions.graph[decisions.new], edges)

    def _inputs(self, decisions: DecisionBatch) -> Inputs:
        if decisions.x is None:
            return Inputs(self.node_input.kind.weight, decisions.node_type)
        every = torch.arange(decisions.num_nodes, device=decisions.ptr.device)
        return Inputs(self.node_input(decisions.node_type, decisions.x), every)

    def _node_log_probability(
        self, decisions: DecisionBatch, points: DecisionPoints, states: DecoderStates, z: Tensor
    ) -> Tensor:
        """[points]: log p(type or stop) and, for continuous features, log N(x_t)."""
        head = self.node_head
        context = head.context(states.partial_graph, z, points.graph, points.step, points.cycles, decisions.sizes)
        hidden = head.hidden(states.last, context)
        logits = self.mask_stop(head.kind(hidden), points.step)
        stop = decisions.node_type.new_full((len(hidden) - decisions.num_nodes,), len(self.schema.node_types))
        result = -functional.cross_entropy(logits, torch.cat([decisions.node_type, stop]), reduction="none")
        if decisions.x is not None:
            mean, log_variance = head.gaussian(hidden[: decisions.num_nodes])
            features = gaussian_log_density(decisions.x, mean, log_variance)
            result = result + functional.pad(features, (0, len(stop)))
        return result

    def _edge_log_probability(
        self, decisions: DecisionBatch, points: DecisionPoints, states: DecoderStates, z: Tensor
    ) -> Tensor:
        """[pairs]: log p(edge class)."""
        head, nodes = self.edge_head, decisions.num_nodes
        graph, step, cycles = points.graph[:nodes], points.step[:nodes], points.cycles[:nodes]
        context = head.context(states.partial_graph[:nodes], z, graph, step, cycles, decisions.sizes)
        new = rows(head.new(states.new), states.new_row) + rows(context, states.owner)
        feature = pair_feature(decisions.degree, decisions.new - decisions.old, decisions.tree_distance)
        logits = head.logits(
            rows(new, states.pair_new), rows(head.old(states.old), states.pair_old), rows(head.pair_terms(), feature)
        )
        return -functional.cross_entropy(logits, decisions.edge_class, reduction="none")

    def mask_stop(self, logits: Tensor, step: Tensor) -> Tensor:
        """Without "stop" where the size is known, as it then is no decision; else only without the empty graph."""
        if self.config.size_condition:
            return logits[:, :-1]
        return torch.cat([logits[:, :-1], logits[:, -1:].masked_fill((step == 0).unsqueeze(1), -torch.inf)], dim=1)


def gaussian_log_density(x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """[rows]: log N(x; mean, diag(exp(log_variance)))."""
    squared = (x - mean).square() * torch.exp(-log_variance)
    return -0.5 * (squared + log_variance + math.log(2 * math.pi)).sum(-1)
