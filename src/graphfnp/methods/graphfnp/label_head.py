"""p(y | u, z^D): class logits from the local rationale and the graph embedding (Eq. 6)."""

import torch
from torch import Tensor, nn

from graphfnp.networks.mlp import mlp

HIDDEN = 64  # one layer alone cannot answer for graphs and for their parts, which lie at the rim of the same space


class AdditiveHead(nn.Module):
    """MLP(relu(z)) + W u: the noise of u does not wash out z, and what the rationales say can be read off.

    ``local_dim`` 0 leaves u out, ``dims`` 0 leaves z out (ablations).
    """

    def __init__(self, dims: int, local_dim: int, num_classes: int) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.graph_part = mlp(dims, HIDDEN, num_classes) if dims else None
        self.local_part = nn.Linear(local_dim, num_classes, bias=False) if local_dim else None

    def forward(self, graph_embedding: Tensor, local_rationale: Tensor | None, inplace: bool = False) -> Tensor:
        """[..., classes]; leading dimensions broadcast.

        ``inplace`` says that nobody needs the graph embedding any more: as many draws, it is by far the largest tensor.
        """
        said = None if local_rationale is None or self.local_part is None else self.local_part(local_rationale)
        if self.graph_part is None:
            return graph_embedding.new_zeros(*graph_embedding.shape[:-1], self.num_classes) if said is None else said
        logits = self.graph_part(graph_embedding.relu_() if inplace else torch.relu(graph_embedding))
        return logits if said is None else logits + said


class ConcatenatedHead(nn.Module):
    """MLP([z, u]) of three layers, as printed; ``local_dim`` 0 leaves u out, ``dims`` 0 leaves z out (ablations)."""

    def __init__(self, dims: int, local_dim: int, num_classes: int, width: int) -> None:
        super().__init__()
        self.reads_graph, self.reads_rationale = dims > 0, local_dim > 0
        self.layers = mlp(dims + local_dim, width, width, num_classes)

    def forward(self, graph_embedding: Tensor, local_rationale: Tensor | None) -> Tensor:
        """[..., classes]; leading dimensions broadcast."""
        parts = [graph_embedding] if self.reads_graph else []
        parts += [local_rationale] if self.reads_rationale and local_rationale is not None else []
        leading = torch.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return self.layers(torch.cat([part.expand(*leading, -1) for part in parts], dim=-1))
