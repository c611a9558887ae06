"""Descriptors of graphs beside the states of their nodes."""

import torch
from torch import Tensor, nn

from graphfnp.graphs.descriptors import width_of
from graphfnp.graphs.packed import Batch, PackedGraphs, Schema

DROPPED = 0.2  # of the descriptors, while it learns
FIRST = 0.1  # standard deviation of first weights, by the root of the columns
FARTHEST = 5.0  # standard deviations: what lies beyond counts as that far


class DescriptorScaler(nn.Module):
    """(d - m) / s, [graphs, columns]; m and s are those of the training graphs."""

    mean: Tensor
    scale: Tensor  # 1 / s; 0 where s is 0

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("scale", torch.zeros(columns))

    def fit(self, descriptors: Tensor) -> None:
        deviation = descriptors.double().std(0, correction=0).float()
        self.mean.copy_(descriptors.double().mean(0).float())
        self.scale.copy_(torch.where(deviation > 1e-6 * self.mean.abs().clamp(min=1), 1 / deviation, 0.0))

    def forward(self, batch: Batch) -> Tensor:
        """A graph without descriptors, such as the structure of a rationale, stands at m."""
        if batch.descriptors is None:
            return self.mean.new_zeros(batch.num_graphs, len(self.mean))
        return ((batch.descriptors - self.mean) * self.scale).clamp(-FARTHEST, FARTHEST)


class DescriptorInput(DescriptorScaler):
    """W drop((d - m) / s), [graphs, width]."""

    def __init__(self, columns: int, width: int) -> None:
        super().__init__(columns)
        self.linear = nn.Linear(columns, width, bias=False)
        # Small at first: the structure is heard before, and links between structures and classes stay as precise.
        nn.init.normal_(self.linear.weight, std=FIRST / columns**0.5)

    def forward(self, batch: Batch) -> Tensor:
        return self.linear(nn.functional.dropout(super().forward(batch), DROPPED, self.training))


def descriptor_scaler(schema: Schema) -> DescriptorScaler | None:
    return DescriptorScaler(width_of(schema.descriptors)) if schema.descriptors else None


def descriptor_input(schema: Schema, width: int) -> DescriptorInput | None:
    return DescriptorInput(width_of(schema.descriptors), width) if schema.descriptors else None


def beside_nodes(h: Tensor, batch: Batch, descriptors: DescriptorInput | None) -> Tensor:
    """States of nodes, each with what is known of its graph; so their mean over a graph has it too."""
    return h if descriptors is None else h + descriptors(batch)[batch.batch]


def beside_graphs(h: Tensor, batch: Batch, descriptors: DescriptorInput | None) -> Tensor:
    """The same for mean states of graphs."""
    return h if descriptors is None else h + descriptors(batch)


def beside_columns(features: Tensor, batch: Batch, descriptors: DescriptorScaler | None) -> Tensor:
    """[graphs, columns]: features of graphs, and the scaled descriptors as further columns."""
    return features if descriptors is None else torch.cat([features, descriptors(batch)], dim=1)


def fit_descriptors(network: nn.Module, graphs: PackedGraphs) -> None:
    """Scale the descriptors that a network reads by its training graphs."""
    for part in network.modules():
        if isinstance(part, DescriptorScaler) and graphs.descriptors is not None:
            part.fit(graphs.descriptors.to(part.mean.device))
