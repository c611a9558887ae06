"""GNNExplainer (Ying et al.): a mask for every edge, learned for each graph; here for many graphs at once."""

from math import sqrt
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explanation
from torch_geometric.explain import GNNExplainer as PyGGNNExplainer
from torch_geometric.explain.config import MaskType

from graphfnp.errors import InvalidConfig
from graphfnp.explainers.explanations import symmetric
from graphfnp.explainers.untouched import check_messages, untouched
from graphfnp.randomness import isolated, stream

EPOCHS, LEARNING_RATE = 100, 0.01
RELU_GAIN = sqrt(2.0)


class GNNExplainer(PyGGNNExplainer):
    """min sum_g [ -log p(y_g | G_g with edges weighted by m) + size sum_e m_e + entropy mean_e H(m_e) ] over masks m.

    PyG's algorithm, with a loss that is a sum over the graphs of the batch: Adam works on each mask by itself, so a
    graph's explanation is the one it would get alone. Starts belong to the seed; directions of an edge are averaged.
    """

    def __init__(self, epochs: int = EPOCHS, lr: float = LEARNING_RATE, seed: int = 0, **coefficients: Any) -> None:
        super().__init__(epochs, lr, **coefficients)
        self.seed = seed

    def forward(
        self, model: nn.Module, x: Tensor, edge_index: Tensor, *, target: Tensor, index: Any = None, **others: Any
    ) -> Explanation:
        batch = others.get("batch")
        owner = torch.zeros(len(x), dtype=torch.long, device=x.device) if batch is None else batch
        self.owners = {"node": owner, "edge": owner[edge_index[0]]}
        first = torch.searchsorted(owner, owner)  # of each node: the first node of its graph
        local = (edge_index - first[edge_index[0]]).cpu()
        self.names = [
            crc32(local[:, (self.owners["edge"] == graph).cpu()].numpy().tobytes())
            for graph in range(int(owner.max()) + 1)
        ]
        if self.explainer_config.node_mask_type == MaskType.common_attributes and int(owner.max()) > 0:
            raise InvalidConfig(
                "a mask of features shared by several graphs", "one graph, or masks of nodes", "explain one at a time"
            )
        if not edge_index.shape[1] and self.explainer_config.node_mask_type is None:
            return Explanation(edge_mask=torch.zeros(0, device=x.device))  # nothing to learn
        if self.explainer_config.edge_mask_type is not None:
            check_messages(model)
        with untouched(model), isolated(self.seed):
            found = super().forward(model, x, edge_index, target=target, index=index, **others)
        if "edge_mask" in found:
            found.edge_mask = symmetric(found.edge_mask, edge_index, len(x))
        return found

    def _initialize_homogeneous_masks(self, node_mask_type, edge_mask_type, N, F, E, device) -> None:
        super()._initialize_homogeneous_masks(node_mask_type, edge_mask_type, N, F, E, device)
        # A graph's noise belongs to its edges, whatever stands beside it. One noise for all graphs would rank edges at
        # the same place in each, as those of a motif may be, by chance, and for all graphs alike.
        with torch.no_grad():
            for kind, mask in (("node", self.node_mask), ("edge", self.edge_mask)):
                if mask is None or not len(mask) or len(mask) != len(self.owners[kind]):
                    continue
                sizes = torch.bincount(self.owners[kind], minlength=len(self.names)).tolist()
                uniform = torch.cat(
                    [
                        torch.rand(size, *mask.shape[1:], generator=stream(self.seed, kind, name))
                        for size, name in zip(sizes, self.names, strict=True)
                    ]
                )
                noise = torch.special.ndtri(uniform.clamp(1e-6, 1 - 1e-6)).to(device)
                noise = noise[torch.argsort(torch.argsort(self.owners[kind], stable=True))]
                nodes = torch.bincount(self.owners["node"])[self.owners[kind]]
                mask.copy_(noise * 0.1 if kind == "node" else noise * RELU_GAIN * nodes.rsqrt())

    def _calculate_base_loss(self, y_hat: Tensor, y: Tensor) -> Tensor:
        return super()._calculate_base_loss(y_hat, y) * len(y)  # the sum over graphs

    def _add_mask_regularization(self, loss, mask, hard_mask, size_coeff, reduction_name, ent_coeff):
        """size reduce_e(m_e) + entropy mean_e H(m_e) of every graph, over the entries that reach the prediction."""
        owner = self.owners["edge" if mask is self.edge_mask else "node"]
        owner = owner if len(owner) == len(mask) else owner.new_zeros(len(mask))
        owner = owner.view(-1, *[1] * (mask.dim() - 1)).expand_as(mask)[hard_mask]
        m = mask[hard_mask].sigmoid()
        count = torch.bincount(owner).clamp(min=1)[owner]
        tiny = self.coeffs["EPS"]
        entropy = -m * torch.log(m + tiny) - (1 - m) * torch.log(1 - m + tiny)
        size = m if reduction_name == "sum" else m / count
        return loss + size_coeff * size.sum() + ent_coeff * (entropy / count).sum()
