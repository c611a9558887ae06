"""Layers of PyG: GATConv and PNAConv with a weight for every edge, NeighbourSum with messages that can be masked."""

from typing import Optional

import torch
from torch import Tensor
from torch_geometric.nn import GATConv, MessagePassing, PNAConv
from torch_geometric.utils import add_self_loops

from graphfnp.networks.neighbourhood import NeighbourSum


class WeightedGATConv(GATConv):
    """h_i' = sum_j a_ij W h_j with a_ij = w_ij exp(e_ij) / sum_k w_ik exp(e_ik); a node's own weight is 1.

    The weights are inside the softmax: there a silent neighbour takes no attention from the others.
    """

    # Once somebody has made a GATConv, PyG has compiled its propagate for it, which knows no masks, and we inherit it.
    propagate = MessagePassing.propagate

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        if edge_weight is None:
            return super().forward(x, edge_index, edge_attr=edge_attr)
        between = edge_index[0] != edge_index[1]
        edge_index, edge_attr = add_self_loops(
            edge_index[:, between], None if edge_attr is None else edge_attr[between], self.fill_value, len(x)
        )
        weight = torch.cat([edge_weight[between], edge_weight.new_ones(len(x))]).unsqueeze(1)
        h = self.lin(x).view(-1, self.heads, self.out_channels)
        score = ((h * self.att_src).sum(-1), (h * self.att_dst).sum(-1))
        alpha = self.edge_updater(edge_index, alpha=score, edge_attr=edge_attr, size=None) * weight
        total = alpha.new_zeros(len(x), self.heads).index_add_(0, edge_index[1], alpha)
        alpha = alpha / total.clamp(min=1e-16)[edge_index[1]]
        return self.propagate(edge_index, x=(h, h), alpha=alpha, size=None).flatten(1) + self.bias


class WeightedPNAConv(PNAConv):
    """Messages m_ij of PNA become w_ij m_ij before mean, min, max and deviation are taken."""

    propagate = MessagePassing.propagate

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        x = x.view(-1, self.towers, self.F_in)
        # PyG reads this line:
        # propagate_type: (x: Tensor, edge_attr: OptTensor, edge_weight: OptTensor)
        out = self.propagate(edge_index, x=x, edge_attr=edge_attr, edge_weight=edge_weight)
        out = torch.cat([x, out], dim=-1)
        return self.lin(torch.cat([tower(out[:, i]) for i, tower in enumerate(self.post_nns)], dim=1))

    # PyG reads this signature by itself and does not know "Tensor | None".
    def message(
        self,
        x_i: Tensor,
        x_j: Tensor,
        edge_attr: Optional[Tensor],  # noqa: UP045
        edge_weight: Optional[Tensor],  # noqa: UP045
    ) -> Tensor:
        messages = super().message(x_i, x_j, edge_attr)
        return messages if edge_weight is None else edge_weight.view(-1, 1, 1) * messages


class ExplainedSum(NeighbourSum, MessagePassing):
    """The same sum, its messages passed by PyG."""

    def summed(self, x: Tensor, edge_index: Tensor, weight: Tensor, edge: Tensor | None) -> Tensor:
        return self.propagate(edge_index, x=x, weight=weight, edge=edge, size=(len(x), len(x)))  # type: ignore[operator]

    # PyG reads this signature by itself and does not know "Tensor | None".
    def message(self, x_j: Tensor, weight: Tensor, edge: Optional[Tensor]) -> Tensor:  # noqa: UP045
        return NeighbourSum.message(self, x_j, weight, edge)


def become_pyg_layer(layer: NeighbourSum) -> None:
    """In place, as PyTorch's lazy modules do it: weights, their names, hooks and mode stay."""
    if isinstance(layer, MessagePassing):
        return
    fresh = ExplainedSum.__new__(ExplainedSum)
    MessagePassing.__init__(fresh, aggr="add")
    fresh.train(layer.training)  # also the parts that PyG has made
    own = vars(layer).copy()
    vars(layer).update({**vars(fresh), **own, "_modules": {**fresh._modules, **own["_modules"]}})
    layer.__class__ = ExplainedSum
