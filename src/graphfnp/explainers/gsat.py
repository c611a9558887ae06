"""GSAT's own explanation: the attention a GSAT classifier pays to each edge."""

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm

from graphfnp.errors import InvalidConfig
from graphfnp.explainers.untouched import untouched
from graphfnp.graphs.packed import Batch
from graphfnp.graphs.pointers import pointers


class GSATExplainer(ExplainerAlgorithm):
    """mask_uv = p_uv, for any model with ``edge_attention(batch)``; the target plays no part."""

    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        **others: Any,
    ) -> Explanation:
        attention: Any = getattr(model, "edge_attention", None)
        if attention is None:
            raise InvalidConfig(
                f"a {type(model).__name__}, which has no edge attention",
                "a trained GSAT classifier",
                "train with --method gsat, or choose another explainer",
            )
        owner = others.get("batch")
        owner = torch.zeros(len(x), dtype=torch.long, device=x.device) if owner is None else owner
        batch = Batch(
            x, edge_index, owner, pointers(torch.bincount(owner)), target, others.get("edge_attr"), undirected=False
        )
        with untouched(model), torch.no_grad():
            return Explanation(edge_mask=attention(batch))

    def supports(self) -> bool:
        return self.explainer_config.node_mask_type is None
