"""The peer: a graph classifier and a training loop as one writes them with PyG's own layers and DataLoader."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv, global_mean_pool

from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pyg import to_data_list


class PlainGCN(nn.Module):
    """Three GCNConv layers of 256 with batch norm, mean pooling and a three-layer head: GraphFNP's encoder in PyG."""

    def __init__(self, schema: Schema, width: int = 256, layers: int = 3) -> None:
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(size, width) for size in schema.node_sizes)
        self.linear = nn.Linear(schema.node_width, width) if schema.is_continuous else None
        self.layers = nn.ModuleList(GCNConv(width, width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(layers))
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, schema.num_classes)
        )

    def forward(self, batch: Batch) -> Tensor:
        if self.linear is not None:
            h = self.linear(batch.x)
        else:
            h = sum(embedding(batch.x[:, column]) for column, embedding in enumerate(self.embeddings))
        for position, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            h = norm(layer(torch.relu(h) if position else h, batch.edge_index))
        return self.head(torch.relu(global_mean_pool(h, batch.batch, batch.num_graphs)))


def plain_data(graphs: PackedGraphs) -> list[Data]:
    """What this network reads, and nothing else: PyG collates every field a graph carries."""
    return [
        Data(x=item.x.float() if graphs.schema.is_continuous else item.x.long(), edge_index=item.edge_index, y=item.y)
        for item in to_data_list(graphs)
    ]


def train_epoch(model: PlainGCN, optimizer: torch.optim.Optimizer, train: object, validation: object) -> float:
    """One pass over the training loader, then the validation loss."""
    model.train()
    for batch in train:  # type: ignore[attr-defined]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(batch), batch.y).backward()
        optimizer.step()
    model.eval()
    total, count = 0.0, 0
    with torch.no_grad():
        for batch in validation:  # type: ignore[attr-defined]
            total += float(nn.functional.cross_entropy(model(batch), batch.y, reduction="sum"))
            count += batch.num_graphs
    return total / count
