"""The mean node state of each graph, and for a GCN that only predicts the same mean with a third of the products."""

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import Batch
from graphfnp.networks.backbone import Backbone, ModuleBackbone
from graphfnp.networks.convolutions import Edges, GCNLayer
from graphfnp.networks.descriptors import beside_graphs
from graphfnp.networks.features import CategoryEmbedding
from graphfnp.networks.neighbourhood import NeighbourSum, mean_pool


def mean_state(backbone: Backbone | ModuleBackbone, batch: Batch) -> Tensor:
    """[graphs, width]: mean_v of backbone(batch)_v.

    All of a GCN but its relu is linear, so that without gradients three things can be had for less: the first layer's
    weights act on the few rows of the embedding table instead of on every node, the last layer's on the mean of each
    graph, and a norm's scale and shift are a part of the weights before it. The sums differ in their last digits.
    """
    if torch.is_grad_enabled() or not isinstance(backbone, Backbone) or not _is_plain(backbone):
        return mean_pool(backbone(batch), batch)
    edges = GCNLayer.edges(batch, backbone.edge_sizes, None)
    matrix = edges.neighbours.matrix
    if matrix is None:
        return mean_pool(backbone(batch), batch)
    layers = [_Folded(layer, norm, matrix, edges) for layer, norm in zip(backbone.layers, backbone.norms, strict=True)]  # type: ignore[arg-type]
    embedding: CategoryEmbedding = backbone.input.embedding  # type: ignore[assignment]
    h = layers[0].spread(embedding.through(batch.x, layers[0].weight))
    for layer in layers[1:-1]:
        h = layer.spread(h.relu_() @ layer.weight.t())
    return beside_graphs(layers[-1].pooled(h.relu_(), batch), batch, backbone.descriptors)


def _is_plain(backbone: Backbone) -> bool:
    """GCN layers, at least two, on categories, nothing that training would change, watched by nobody."""
    parts, dropout = list(backbone.modules()), backbone.dropout
    return (
        len(backbone.layers) > 1
        and all(type(layer) is GCNLayer for layer in backbone.layers)
        and all(isinstance(norm, nn.BatchNorm1d | nn.Identity) for norm in backbone.norms)
        and type(backbone.input.embedding) is CategoryEmbedding
        and type(dropout) is nn.Dropout  # not one that also drops in predictions
        and not (dropout.training and dropout.p)
        and not (backbone.descriptors is not None and backbone.descriptors.training)
        and not any(norm.training for norm in backbone.norms if isinstance(norm, nn.BatchNorm1d))
        and not any(part._forward_hooks or part._forward_pre_hooks for part in parts)
        and not any(part.masked for part in parts if isinstance(part, NeighbourSum))
    )


class _Folded:
    """norm(layer(h)) = S (h W^T + b) + E T + shift, with S = A + diag(1 / d) and E the sums of edge features."""

    def __init__(self, layer: GCNLayer, norm: nn.Module, matrix: Tensor, edges: Edges) -> None:
        self.matrix, self.loops, self.carried = matrix, edges.scale, edges.neighbours.edge_sum
        scale, self.shift = _affine(norm, layer.linear.bias)
        self.weight = layer.linear.weight * scale.unsqueeze(1)
        self.bias = layer.linear.bias * scale
        embedding = layer.sum.edge_embedding
        self.table = None if embedding is None else embedding.table * scale

    def spread(self, h: Tensor) -> Tensor:
        """For h W^T."""
        h += self.bias
        if self.table is None or self.carried is None:
            out = self.shift.expand_as(h).clone()
        else:
            out = torch.addmm(self.shift, self.carried, self.table)
        return out.addmm_(self.matrix, h).addcmul_(h, self.loops)

    def pooled(self, h: Tensor, batch: Batch) -> Tensor:
        """The mean over each graph, for h itself: 1^T S h W^T, and S is symmetric."""
        share = self.matrix.sum(1, keepdim=True).to_dense() + self.loops
        out = mean_pool(h * share, batch) @ self.weight.t() + mean_pool(share, batch) * self.bias + self.shift
        if self.table is not None and self.carried is not None:
            out.addmm_(mean_pool(self.carried, batch), self.table)
        return out


def _affine(norm: nn.Module, like: Tensor) -> tuple[Tensor, Tensor]:
    """Scale and shift of each channel."""
    if not isinstance(norm, nn.BatchNorm1d):
        return torch.ones_like(like), torch.zeros_like(like)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
    return scale, norm.bias - norm.running_mean * scale
