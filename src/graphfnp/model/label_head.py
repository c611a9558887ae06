"""p(y | u, z^D): class logits from the local rationale and the graph embedding (Eq. 5)."""

from typing import Literal

import torch
from torch import Tensor, nn

from graphfnp.networks.mlp import mlp


class LabelHead(nn.Module):
    """Concatenate: MLP([z, u]) as printed. Additive: MLP(relu(z)) + W u, where the noise of u does not wash out z.

    Where z is withheld (``dims`` 0) the additive form is W u + b.
    """

    def __init__(
        self,
        dims: int,
        local_dim: int,
        num_classes: int,
        form: Literal["concatenate", "additive"],
        layers: int,
        width: int,
    ) -> None:
        super().__init__()
        hidden = [width] * (layers - 1)
        self.additive = form == "additive" and dims > 0
        if self.additive:
            self.graph_part = mlp(dims, *hidden, num_classes)
            self.local_part = nn.Linear(local_dim, num_classes, bias=False) if local_dim else None
        else:
            self.layers = mlp(dims + local_dim, *(hidden if form == "concatenate" else []), num_classes)

    def forward(self, graph_embedding: Tensor | None, local_rationale: Tensor | None, spare: bool = False) -> Tensor:
        """[..., classes]; either part may be withheld, leading dimensions broadcast.

        ``spare`` says that nobody needs the graph embedding any more: as many draws, it is by far the largest tensor.
        """
        if self.additive:
            assert graph_embedding is not None
            logits = self.graph_part(graph_embedding.relu_() if spare else torch.relu(graph_embedding))
            if local_rationale is None or self.local_part is None:
                return logits
            return logits + self.local_part(local_rationale)
        parts = [part for part in (graph_embedding, local_rationale) if part is not None]
        first, rest = self.layers[0], self.layers[1:]
        # W [z, u] = W_z z + W_u u: each part is multiplied at its own, smaller, leading shape.
        out, start = first.bias, 0
        for part in parts:
            width = part.shape[-1]
            out = out + part @ first.weight[:, start : start + width].T  # type: ignore[index,operator]
            start += width
        return rest(out)
