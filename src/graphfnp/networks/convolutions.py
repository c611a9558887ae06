"""Message-passing layers, one class each: ``Layer.edges(batch, ...)`` once a batch, then ``layer(h, edges)``."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from graphfnp.graphs.packed import Batch
from graphfnp.networks.attention import AttentionEdges, attend
from graphfnp.networks.features import CategoryEmbedding
from graphfnp.networks.mlp import mlp
from graphfnp.networks.neighbourhood import Neighbourhood, NeighbourSum, inverse_degree

UNSCALED = torch.ones(())


@dataclass(frozen=True, eq=False)
class Edges:
    """What the layers of one kind share for one batch."""

    neighbours: Neighbourhood
    scale: Tensor = UNSCALED  # [nodes, 1], meaning given by the layer
    attention: AttentionEdges | None = None


def plain_edges(batch: Batch, edge_sizes: tuple[int, ...], edge_weight: Tensor | None) -> Neighbourhood:
    weight = (
        batch.edge_index.new_ones(batch.edge_index.shape[1], dtype=torch.float) if edge_weight is None else edge_weight
    )
    return Neighbourhood.of(batch, weight, edge_sizes, symmetric=edge_weight is None)


class GCNLayer(nn.Module):
    """h_i' = W sum_{j in N(i) + i} h_j / sqrt(d_i d_j) (Kipf and Welling), plus edge embeddings."""

    def __init__(self, width: int, edge_sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.sum = NeighbourSum(edge_sizes, width)

    @staticmethod
    def edges(batch: Batch, edge_sizes: tuple[int, ...], edge_weight: Tensor | None) -> Edges:
        root = inverse_degree(batch, 0.5, self_loops=True)
        weight = root[batch.edge_index[0]] * root[batch.edge_index[1]]
        weight = weight if edge_weight is None else weight * edge_weight
        return Edges(
            Neighbourhood.of(batch, weight, edge_sizes, symmetric=edge_weight is None), root.square().unsqueeze(1)
        )

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return self.spread(self.linear(h), edges)

    def spread(self, h: Tensor, edges: Edges) -> Tensor:
        """For h W^T + b."""
        return self.sum(h, edges.neighbours).addcmul_(h, edges.scale)


class SAGELayer(nn.Module):
    """h_i' = W_1 h_i + W_2 mean_{j in N(i)} h_j (Hamilton et al.), plus edge embeddings."""

    def __init__(self, width: int, edge_sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.own = nn.Linear(width, width)
        self.neighbour = nn.Linear(width, width, bias=False)
        self.sum = NeighbourSum(edge_sizes, width)

    @staticmethod
    def edges(batch: Batch, edge_sizes: tuple[int, ...], edge_weight: Tensor | None) -> Edges:
        scale = inverse_degree(batch, 1.0, self_loops=False).unsqueeze(1)
        return Edges(plain_edges(batch, edge_sizes, edge_weight), scale)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return self.own(h) + self.neighbour(self.sum(h, edges.neighbours) * edges.scale)


class GINLayer(nn.Module):
    """h_i' = MLP((1 + eps) h_i + sum_{j in N(i)} h_j) (Xu et al.), plus edge embeddings."""

    def __init__(self, width: int, edge_sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.update = mlp(width, width, width)
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.sum = NeighbourSum(edge_sizes, width)

    @staticmethod
    def edges(batch: Batch, edge_sizes: tuple[int, ...], edge_weight: Tensor | None) -> Edges:
        return Edges(plain_edges(batch, edge_sizes, edge_weight))

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return self.update((1 + self.epsilon) * h + self.sum(h, edges.neighbours))


class GatedLayer(nn.Module):
    """h_i' = GRU(sum_{j in N(i)} W h_j, h_i) (Li et al.), plus edge embeddings."""

    def __init__(self, width: int, edge_sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.sum = NeighbourSum(edge_sizes, width)
        self.update = nn.GRUCell(width, width)

    edges = staticmethod(GINLayer.edges)

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        return self.update(self.sum(self.linear(h), edges.neighbours), h)


class GATLayer(nn.Module):
    """PyG's GATConv (Velickovic et al.) with four heads; edge features take part in the attention.

    Where edges go both ways its sums are sparse products, unless an explainer has set masks: those act inside PyG.
    """

    heads = 4

    def __init__(self, width: int, edge_sizes: tuple[int, ...]) -> None:
        from graphfnp.networks.pyg_layers import WeightedGATConv  # imports PyG: for those who ask for it

        super().__init__()
        self.edge_embedding = CategoryEmbedding(edge_sizes, width // self.heads) if edge_sizes else None
        edge_dim = width // self.heads if edge_sizes else None
        self.convolution: nn.Module = WeightedGATConv(width, width // self.heads, heads=self.heads, edge_dim=edge_dim)

    @staticmethod
    def edges(batch: Batch, edge_sizes: tuple[int, ...], edge_weight: Tensor | None) -> Edges:
        plain = PNALayer.edges(batch, edge_sizes, edge_weight)
        if not batch.undirected or (batch.edge_index[0] == batch.edge_index[1]).any():
            return plain
        return replace(plain, attention=AttentionEdges.of(batch, GATLayer.heads, edge_sizes, edge_weight))

    def forward(self, h: Tensor, edges: Edges) -> Tensor:
        if edges.attention is not None and not self.convolution.explain:
            table = None if self.edge_embedding is None else self.edge_embedding.table
            return attend(self.convolution, h, edges.attention, table)
        return self.convolution(h, edges.neighbours.edge_index, self._edge(edges), edges.neighbours.weight)

    def _edge(self, edges: Edges) -> Tensor | None:
        attr = edges.neighbours.edge_attr
        return None if self.edge_embedding is None or attr is None else self.edge_embedding(attr)


class PNALayer(GATLayer):
    """PyG's PNAConv (Corso et al.): mean, min, max and deviation, scaled by degree; the degree scale is learned."""

    def __init__(self, width: int, edge_sizes: tuple[int, ...]) -> None:
        from graphfnp.networks.pyg_layers import WeightedPNAConv

        super().__init__(width, edge_sizes)
        self.convolution = WeightedPNAConv(
            width,
            width,
            aggregators=["mean", "min", "max", "std"],
            scalers=["identity", "amplification", "attenuation"],
            deg=torch.tensor([0, 1, 2, 1]),  # only a start: train_norm learns the mean degree
            edge_dim=width // self.heads if edge_sizes else None,
            towers=self.heads,
            divide_input=True,
            train_norm=True,
        )

    @staticmethod
    def edges(batch: Batch, edge_sizes: tuple[int, ...], edge_weight: Tensor | None) -> Edges:
        return Edges(Neighbourhood(batch.edge_index, edge_weight, batch.edge_attr, batch.num_nodes, None, None))


LAYERS: dict[str, type[nn.Module]] = {
    "gcn": GCNLayer,
    "gat": GATLayer,
    "gin": GINLayer,
    "sage": SAGELayer,
    "ggnn": GatedLayer,
    "pna": PNALayer,
}
