"""From raw node and edge features to vectors: embeddings for categories, a linear map for numbers."""

from itertools import accumulate
from math import prod

import torch
from torch import Tensor, nn

from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.packed import Schema


class CategoryEmbedding(nn.Module):
    """Sum over columns of one embedding per value: one table, columns side by side."""

    offsets: Tensor

    def __init__(self, sizes: tuple[int, ...], width: int, std: float = 1.0) -> None:
        super().__init__()
        self.register_buffer("offsets", torch.tensor([*accumulate((0, *sizes[:-1]))]), persistent=False)
        self.sizes = sizes
        self.table = nn.Parameter(torch.randn(sum(sizes), width) * std / len(sizes) ** 0.5)

    def forward(self, values: Tensor) -> Tensor:
        return self._looked_up(values.long(), self.table)  # explainers hand categories back as floats

    def through(self, values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """``linear(self(values), weight, bias)``: products for values, not for rows, and sums for distinct rows."""
        table = self.table @ weight.t()
        if bias is not None:
            table = table + bias / len(self.sizes)  # a row is a sum of as many
        if values.shape[1] == 1 or prod(self.sizes) >= 2**62:
            return self._looked_up(values, table)
        sizes = torch.tensor(self.sizes, device=values.device)
        strides = sizes.cumprod(0) // sizes
        kinds, kind = (values * strides).sum(1).unique(return_inverse=True)
        return self._looked_up(kinds.unsqueeze(1) // strides % sizes, table).index_select(0, kind)

    def _looked_up(self, values: Tensor, table: Tensor) -> Tensor:
        if values.shape[1] == 1:
            return table.index_select(0, values[:, 0])
        return nn.functional.embedding_bag(values + self.offsets, table, mode="sum")


class NodeInput(nn.Module):
    """x [nodes, columns] -> [nodes, width], whatever the schema says x is."""

    def __init__(self, schema: Schema, width: int) -> None:
        super().__init__()
        self.schema = schema
        self.embedding: nn.Module = (
            nn.Linear(schema.node_width, width) if schema.is_continuous else CategoryEmbedding(schema.node_sizes, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim != 2 or x.shape[1] != self.schema.num_columns:
            raise InvalidGraphs(
                f"node features of shape {tuple(x.shape)}",
                f"[nodes, {self.schema.num_columns}], as the model was trained on",
                "featurise the graphs as the training graphs were",
            )
        return self.embedding(x)
