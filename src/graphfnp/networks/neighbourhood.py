"""Sums over neighbours: a sparse product where edges go both ways, gather and scatter elsewhere."""

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import Batch
from graphfnp.graphs.pointers import pointers
from graphfnp.networks.features import CategoryEmbedding


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The edges of a batch with a weight each, made once and shared by all layers.

    ``matrix`` is the weighted adjacency in CSR form when it is symmetric, so that its backward pass is the same
    product; ``edge_sum[v]`` holds, for every edge-feature value, the summed weight of v's edges that have it.
    """

    edge_index: Tensor  # [2, edges]
    weight: Tensor | None  # [edges]; None, where a layer allows it: all 1
    edge_attr: Tensor | None
    num_nodes: int
    matrix: Tensor | None
    edge_sum: Tensor | None  # [nodes, edge-feature values]

    @classmethod
    def of(cls, batch: Batch, weight: Tensor, edge_sizes: tuple[int, ...], symmetric: bool) -> "Neighbourhood":
        """``symmetric`` says that the weight of an edge is the same in both directions."""
        source, target = batch.edge_index
        nodes = batch.num_nodes
        if not (symmetric and batch.undirected) or weight.requires_grad:
            return cls(batch.edge_index, weight, batch.edge_attr, nodes, None, None)
        row_ptr = pointers(torch.bincount(target, minlength=nodes))
        matrix = square_matrix(row_ptr, source, weight)
        edge_sum = None
        if batch.edge_attr is not None and edge_sizes:
            offsets = torch.tensor([0, *edge_sizes[:-1]], device=source.device).cumsum(0)
            slots = (target * sum(edge_sizes)).unsqueeze(1) + batch.edge_attr + offsets
            flat = weight.new_zeros(nodes * sum(edge_sizes))
            flat.index_add_(0, slots.flatten(), weight.unsqueeze(1).expand_as(slots).flatten())
            edge_sum = flat.view(nodes, -1)
        return cls(batch.edge_index, weight, batch.edge_attr, nodes, matrix, edge_sum)


def square_matrix(row_ptr: Tensor, column: Tensor, values: Tensor) -> Tensor:
    """[rows, rows], sparse by rows (CSR)."""
    rows = len(row_ptr) - 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(row_ptr, column, values, size=(rows, rows), check_invariants=False)


class _SymmetricProduct(torch.autograd.Function):
    """A @ x for symmetric A: the gradient is A @ grad, without a transpose."""

    @staticmethod
    def forward(ctx, matrix: Tensor, x: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix @ x

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[None, Tensor]:
        return None, ctx.matrix @ grad.contiguous()


class NeighbourSum(nn.Module):
    """out_i = sum_j a_ij (x_j + e_ij), with e_ij an embedding of the edge's features.

    The sum over e_ij is ``edge_sum @ table``, so edge types cost one small product. While an explainer has set masks,
    messages go edge by edge through PyG, where the masks are applied.
    """

    def __init__(self, edge_sizes: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.edge_embedding = CategoryEmbedding(edge_sizes, width, std=0.1) if edge_sizes else None

    @property
    def masked(self) -> bool:
        """Has an explainer of PyG set masks?"""
        return bool(getattr(self, "explain", None))

    def forward(self, x: Tensor, edges: Neighbourhood) -> Tensor:
        if edges.matrix is None or self.masked:
            edge = None
            if self.edge_embedding is not None and edges.edge_attr is not None:
                edge = self.edge_embedding(edges.edge_attr)
            assert edges.weight is not None
            return self.summed(x, edges.edge_index, edges.weight, edge)
        out = _SymmetricProduct.apply(edges.matrix, x)
        if self.edge_embedding is not None and edges.edge_sum is not None:
            out.addmm_(edges.edge_sum, self.edge_embedding.table)
        return out

    def summed(self, x: Tensor, edge_index: Tensor, weight: Tensor, edge: Tensor | None) -> Tensor:
        """The same sum edge by edge."""
        message = self.message(x.index_select(0, edge_index[0]), weight, edge)
        return message.new_zeros(x.shape).scatter_add_(0, edge_index[1].unsqueeze(1).expand_as(message), message)

    def message(self, x_j: Tensor, weight: Tensor, edge: Tensor | None) -> Tensor:
        return weight.unsqueeze(1) * (x_j if edge is None else x_j + edge)

    def named_modules(self, *arguments: Any, **options: Any) -> Iterator[tuple[str, nn.Module]]:
        """PyG's explainers look through ``modules()`` for layers of PyG: where it is imported, this becomes one."""
        if "torch_geometric.nn" in sys.modules:  # seconds to import, and predictions need nothing of it
            from graphfnp.networks.pyg_layers import become_pyg_layer

            become_pyg_layer(self)
        return super().named_modules(*arguments, **options)


def inverse_degree(batch: Batch, power: float, self_loops: bool) -> Tensor:
    """[nodes]: (degree + self loop) ** -power, 0 for a node without edges."""
    degree = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes).float() + float(self_loops)
    return torch.where(degree > 0, degree.clamp(min=1).pow(-power), torch.zeros_like(degree))


def mean_pool(states: Tensor, batch: Batch) -> Tensor:
    """Mean of node states over each graph, [nodes, width] -> [graphs, width]."""
    pooled = states.new_zeros(batch.num_graphs, states.shape[1]).index_add_(0, batch.batch, states)
    return pooled / batch.sizes.clamp(min=1).unsqueeze(1)
