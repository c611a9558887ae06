"""Graph attention of several heads as sparse products: the function of PyG's GATConv, without a tensor per message."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphfnp.graphs.packed import Batch
from graphfnp.graphs.pointers import pointers
from graphfnp.networks.neighbourhood import square_matrix

if TYPE_CHECKING:
    from torch_geometric.nn import GATConv


@dataclass(frozen=True, eq=False)
class AttentionEdges:
    """Edges and a loop at every node, once for each head: node v of head h is row ``v * heads + h`` of one matrix.

    Entries (edge, head) are in CSR order. Edges go both ways, so the transposed matrix has the same pattern, and
    ``mirror`` says which entry stands where.
    """

    source: Tensor  # [entries]
    target: Tensor  # [entries], ascending
    ptr: Tensor  # [rows + 1]
    mirror: Tensor  # [entries]
    number: Tensor  # [entries]: edge * heads + head, with loops after the edges
    weight: Tensor | None  # [entries]; None: all 1
    features: Tensor | None  # [edges + nodes, edge-feature values]: 1 for those an edge has; a loop has its node's mean

    @classmethod
    def of(cls, batch: Batch, heads: int, edge_sizes: tuple[int, ...], edge_weight: Tensor | None) -> "AttentionEdges":
        """For a batch whose edges go both ways, without loops."""
        (source, target), nodes = batch.edge_index, torch.arange(batch.num_nodes, device=batch.x.device)
        edges, head = torch.arange(len(source), device=source.device), torch.arange(heads, device=source.device)
        degree = torch.bincount(target, minlength=len(nodes))
        first = degree.cumsum(0) - degree  # each node's first edge
        # Sorted by source, then target, the k-th edge is the mirror image of the k-th of the given order.
        mirror = torch.cat([torch.argsort(source, stable=True), len(source) + nodes])
        inside = torch.cat([edges - first[target], degree])  # place among the node's own: the loop comes last
        source, target = torch.cat([source, nodes]), torch.cat([target, nodes])
        place = (heads * (first + nodes)[target] + inside).unsqueeze(1) + head * (degree + 1)[target].unsqueeze(1)

        def in_order(values: Tensor) -> Tensor:
            return torch.empty_like(place).view(-1).index_copy_(0, place.view(-1), values.reshape(-1))

        number = in_order(torch.arange(place.numel(), device=source.device).view_as(place))
        weight = features = None
        if edge_weight is not None:
            weight = torch.cat([edge_weight, edge_weight.new_ones(len(nodes))])[number // heads]
        if edge_sizes and batch.edge_attr is not None:
            features = _features(batch, batch.edge_attr, edge_sizes, degree)
        return cls(
            in_order(source.unsqueeze(1) * heads + head),
            in_order(target.unsqueeze(1) * heads + head),
            pointers((degree + 1).repeat_interleave(heads)),
            in_order(place[mirror]),
            number,
            weight,
            features,
        )

    def matrix(self, entries: Tensor) -> Tensor:
        return square_matrix(self.ptr, self.source, entries)


def _features(batch: Batch, edge_attr: Tensor, edge_sizes: tuple[int, ...], degree: Tensor) -> Tensor:
    values = edge_attr + torch.tensor([0, *edge_sizes[:-1]], device=degree.device).cumsum(0)
    edges = torch.zeros(len(values), sum(edge_sizes), device=degree.device).scatter_(1, values, 1.0)
    loops = edges.new_zeros(batch.num_nodes, edges.shape[1]).index_add_(0, batch.edge_index[1], edges)
    return torch.cat([edges, loops / degree.clamp(min=1).unsqueeze(1)])


class _SoftmaxSum(torch.autograd.Function):
    """out_i = sum_j a_ij x_j with a_ij = w_ij exp(s_ij) / sum_k w_ik exp(s_ik), one product each way.

    da_ij = <dout_i, x_j>, and with c_ij = da_ij - <dout_i, out_i>: ds = a c, dw = (a / w) c, dx = a^T dout.
    """

    @staticmethod
    def forward(ctx, score: Tensor, weight: Tensor | None, x: Tensor, edges: AttentionEdges) -> Tensor:
        peak = torch.segment_reduce(score, "max", offsets=edges.ptr)
        power = (score - peak.index_select(0, edges.target)).exp_()
        weighted = power if weight is None else power * weight
        total = score.new_zeros(len(x)).scatter_add_(0, edges.target, weighted).clamp_(min=1e-16)
        total = total.index_select(0, edges.target)
        attention = weighted / total
        out = edges.matrix(attention) @ x
        ctx.save_for_backward(attention, None if weight is None else power / total, x, out)
        ctx.edges = edges
        return out

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor | None, Tensor, None]:
        attention, unweighted, x, out = ctx.saved_tensors
        edges, grad = ctx.edges, grad.contiguous()
        products = torch.sparse.sampled_addmm(edges.matrix(attention), grad, x.t(), beta=0.0).values()
        centred = products - (grad * out).sum(-1).index_select(0, edges.target)
        grad_x = edges.matrix(attention.index_select(0, edges.mirror)) @ grad
        return attention * centred, None if unweighted is None else unweighted * centred, grad_x, None


def attend(layer: "GATConv", x: Tensor, edges: AttentionEdges, table: Tensor | None) -> Tensor:
    """``layer(x)`` over these edges; ``table`` [edge-feature values, edge_dim] embeds what edges carry."""
    heads, width = layer.heads, layer.out_channels

    def scoring(vectors: Tensor, weight: Tensor) -> Tensor:
        """[heads, inputs]: from inputs straight to each head's <vector, weight @ input>."""
        return (vectors.view(heads, 1, width) @ weight.view(heads, width, -1)).squeeze(1)

    weight = layer.lin.weight
    rows = torch.cat([weight, scoring(layer.att_src, weight), scoring(layer.att_dst, weight)])
    h, source, target = torch.nn.functional.linear(x, rows).split([heads * width, heads, heads], dim=1)
    score = source.flatten().index_select(0, edges.source) + target.flatten().index_select(0, edges.target)
    if edges.features is not None and table is not None:
        carried = edges.features @ (table @ scoring(layer.att_edge, layer.lin_edge.weight).t())
        score = score + carried.view(-1).index_select(0, edges.number)
    score = torch.nn.functional.leaky_relu(score, layer.negative_slope)
    out = _SoftmaxSum.apply(score, edges.weight, h.reshape(-1, width), edges)
    return out.view(len(x), -1) + layer.bias
