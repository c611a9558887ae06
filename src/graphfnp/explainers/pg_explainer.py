"""PGExplainer (Luo et al.): one network gives every edge its mask, learned over many graphs."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explanation
from torch_geometric.explain import PGExplainer as PyGPGExplainer
from torch_geometric.explain.config import ExplanationType, ModelTaskLevel

from graphfnp.explainers.explanations import symmetric
from graphfnp.explainers.untouched import check_messages, untouched
from graphfnp.graphs.packed import Schema
from graphfnp.networks.backbone import Backbone, ModuleBackbone
from graphfnp.randomness import isolated, stream

LARGEST = 8.0  # logit of a mask: sure edges would round to 0 or 1 and lose their order, so larger ones are scaled down


@dataclass(frozen=True)
class PGExplainerConfig:
    """Published settings for molecules."""

    epochs: int = 20
    learning_rate: float = 0.05
    size: float = 0.01
    entropy: float = 0.01
    first_temperature: float = 5.0
    last_temperature: float = 1.0
    start: float = 5.0  # logit of every edge at first; not published


MOTIFS = PGExplainerConfig(epochs=30, learning_rate=0.003, size=0.03, entropy=5e-4)  # published for BA2Motifs


def pg_settings(schema: Schema | None) -> PGExplainerConfig:
    """The published settings that fit: those of BA2Motifs, but for molecules and texts those of molecules."""
    return MOTIFS if schema is not None and schema.kind == "graph" else PGExplainerConfig()


class PGExplainer(PyGPGExplainer):
    """m_uv = sigmoid(MLP(h_u, h_v)); descends mean_g [ -log p(y_g | m) + size sum_e m_e + entropy mean_e H(m_e) ].

    PyG's algorithm for batches of graphs: one pass explains them all. h is what the model's backbone says of a node, or
    its last message-passing layer where the model is not of this package. Learning starts from the whole graph, which
    the model knows: started from halves of all messages, which it never saw, the masks of a class that the model takes
    for granted fall to nothing at once.
    """

    def __init__(self, config: PGExplainerConfig | None = None, seed: int = 0) -> None:
        config = config or PGExplainerConfig()
        with isolated(seed, "pg-explainer"):
            super().__init__(config.epochs, config.learning_rate)
        nn.init.constant_(self.mlp[-1].bias, config.start)
        self.seed, self.steps, self.scale = seed, 0, 1.0
        self.known_states: Tensor | None = None  # of the batch at hand, where they are known already
        # PyG's dict belongs to the class: what one instance writes there, all others read.
        temperatures = [config.first_temperature, config.last_temperature]
        self.coeffs = {
            **PyGPGExplainer.coeffs, "edge_size": config.size, "edge_ent": config.entropy, "temp": temperatures,
        }  # fmt: skip

    @property
    def is_fitted(self) -> bool:
        return self.steps > 0

    def fit(self, model: nn.Module, batches: Sequence[tuple[Tensor, Tensor, Tensor, dict[str, Any]]]) -> None:
        """Learn on batches of (x, edge_index, target, other arguments of the model), in a new order every epoch."""
        check_messages(model)
        with untouched(model):  # its node states do not change while this learns
            states = [self._get_embeddings(model, x, edge_index, **others) for x, edge_index, _, others in batches]
            for epoch in range(self.epochs):
                order = torch.randperm(len(batches), generator=stream(self.seed, "pg-explainer order", epoch))
                for number in order.tolist():
                    x, edge_index, target, others = batches[number]
                    self.known_states = states[number]
                    self.train(epoch, model, x, edge_index, target=target, **others)
            with torch.no_grad():
                logits = [
                    self.mlp(self._get_inputs(states[k], batches[k][1])).abs().amax()
                    for k in range(len(batches))
                    if batches[k][1].shape[1]
                ]
        self.known_states = None
        self.scale = max(1.0, max(map(float, logits), default=1.0) / LARGEST)

    def train(self, epoch: Any = True, *arguments: Any, **named: Any) -> Any:
        """One step of learning; ``train(True)`` and ``train(False)`` are nn.Module's, which this name hides in PyG."""
        if isinstance(epoch, bool):
            return nn.Module.train(self, epoch)
        model, x, edge_index = arguments
        batch = named.get("batch")
        self.graph_of_edge = torch.zeros_like(edge_index[0]) if batch is None else batch[edge_index[0]]
        self.num_graphs = len(named["target"])
        self._curr_epoch = epoch
        if not edge_index.shape[1]:
            return 0.0
        self.steps += 1
        with isolated(self.seed, "pg-explainer", self.steps), untouched(model), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Converting a tensor with requires_grad=True to a scalar")  # PyG's own
            return super().train(epoch, model, x, edge_index, **named)

    def forward(
        self, model: nn.Module, x: Tensor, edge_index: Tensor, *, target: Tensor, index: Any = None, **others: Any
    ) -> Explanation:
        if not edge_index.shape[1]:
            return Explanation(edge_mask=torch.zeros(0, device=x.device))
        with untouched(model), torch.no_grad():
            found = super().forward(model, x, edge_index, target=target, index=index, **others)
        found.edge_mask = symmetric(found.edge_mask, edge_index, len(x))
        return found

    def _post_process_mask(self, mask: Any, hard_mask: Any = None, apply_sigmoid: bool = True) -> Any:
        return super()._post_process_mask(mask / self.scale, hard_mask, apply_sigmoid)

    def supports(self) -> bool:
        """Also explanations of the model: then the target is the class it predicts."""
        wanted, level = self.explainer_config, self.model_config.task_level
        if wanted.explanation_type == ExplanationType.phenomenon or level != ModelTaskLevel.graph:
            return super().supports()
        return wanted.node_mask_type is None

    def _get_embeddings(self, model: nn.Module, x: Any, edge_index: Any, **others: Any) -> Any:
        if self.known_states is not None:
            return self.known_states
        backbones = [module for module in model.modules() if isinstance(module, Backbone | ModuleBackbone)]
        if not backbones:
            return super()._get_embeddings(model, x, edge_index, **others)
        seen: list[Tensor] = []
        hooks = [part.register_forward_hook(lambda _, __, states: seen.append(states)) for part in backbones]
        try:
            with torch.no_grad():
                model(x, edge_index, **others)
        finally:
            for hook in hooks:
                hook.remove()
        return seen[-1]

    def _add_mask_regularization(self, loss: Tensor, mask: Tensor) -> Tensor:
        mask, owner = mask.sigmoid(), self.graph_of_edge
        inside = 0.99 * mask + 0.005
        entropy = -inside * inside.log() - (1 - inside) * (1 - inside).log()
        entropies = (entropy / torch.bincount(owner)[owner]).sum()
        return loss + (self.coeffs["edge_size"] * mask.sum() + self.coeffs["edge_ent"] * entropies) / self.num_graphs
