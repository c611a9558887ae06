"""Explainers that ask a model about coalitions of nodes: from PyG's Explainer to games, and back to masks."""

import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, get_args

import torch
from torch import Tensor, nn
from torch_geometric.explain import Explanation
from torch_geometric.explain.algorithm import ExplainerAlgorithm
from torch_geometric.explain.config import MaskType, ModelConfig, ModelMode, ModelReturnType, ModelTaskLevel

from graphfnp.errors import InvalidConfig
from graphfnp.explainers.coalitions import Evaluator, Filling, Game, Search
from graphfnp.explainers.explanations import edges_of_nodes
from graphfnp.explainers.local_states import LocalEvaluator, is_local
from graphfnp.explainers.untouched import untouched

TOGETHER = 8  # graphs searched in step: enough to fill a forward pass, few enough for the memory of what is known


class CoalitionExplainer(ExplainerAlgorithm):
    """Node masks found by a search over each graph's coalitions; an edge has the smaller mask of its ends.

    All graphs of a batch are searched in step. A graph's search depends on the seed, not on the graphs beside it.
    ``filling`` says what a coalition leaves of a graph: its own subgraph (``split``), or all of it with the features of
    the others set to zero (``zero_filling``). Integers are categories, and 0 is a category like any other, so ``auto``
    is ``split`` for integers and ``zero_filling`` for numbers.
    """

    def __init__(self, filling: Filling, seed: int) -> None:
        super().__init__()
        if filling not in get_args(Filling):
            raise InvalidConfig(f"filling {filling!r}", "auto, zero_filling or split", "choose one of these")
        self.filling, self.seed = filling, seed

    @abstractmethod
    def search(self, game: Game) -> Search[Tensor]:
        """[nodes] in [0, 1]"""

    def supports(self) -> bool:
        config = self.model_config
        nodes = self.explainer_config.node_mask_type in (None, MaskType.object)
        return nodes and config.task_level == ModelTaskLevel.graph and config.mode != ModelMode.regression

    def forward(
        self, model: nn.Module, x: Tensor, edge_index: Tensor, *, target: Tensor, index: Any = None, **others: Any
    ) -> Explanation:
        given = others.pop("batch", None)
        owner = torch.zeros(len(x), dtype=torch.long, device=x.device) if given is None else given
        node_fields, edge_fields, constant = _kinds(others, len(x), edge_index.shape[1])
        probabilities = _probabilities(model, self.model_config, constant)
        with untouched(model):
            with torch.no_grad():
                whole = probabilities(x, edge_index, owner, **node_fields, **edge_fields)
            games, nodes = _games(x, edge_index, owner, target, node_fields, edge_fields)
            chosen = list(range(len(games))) if index is None else torch.as_tensor(index).flatten().tolist()
            node_mask = torch.zeros(len(x), device=x.device)
            for start in range(0, len(chosen), TOGETHER):
                some = chosen[start : start + TOGETHER]
                evaluator = self.evaluator(model, probabilities, whole.shape[1], games, constant)
                for number, mask in zip(some, evaluator.play([games[k] for k in some], self.search), strict=True):
                    node_mask[nodes[number]] = mask.to(node_mask)
        return Explanation(
            node_mask=None if self.explainer_config.node_mask_type is None else node_mask.unsqueeze(1),
            edge_mask=None if self.explainer_config.edge_mask_type is None else edges_of_nodes(node_mask, edge_index),
        )

    def evaluator(
        self, model: nn.Module, probabilities: Callable[..., Tensor], num_classes: int, games: list[Game], constant: Any
    ) -> Evaluator:
        are_categories = not games[0].x.is_floating_point()
        if are_categories and self.filling == "zero_filling":
            raise InvalidConfig(
                "zero_filling of categories (integer x), where 0 is a category too",
                "split, or features that are numbers",
                "leave filling at auto",
            )
        splits = are_categories or self.filling == "split"
        if splits and not constant and is_local(model, games):
            return LocalEvaluator(model, num_classes)  # type: ignore[arg-type]
        return Evaluator(probabilities, num_classes, splits)


def _probabilities(model: nn.Module, config: ModelConfig, constant: dict[str, Any]) -> Callable[..., Tensor]:
    """The model as a function (x, edge_index, batch, fields) -> class probabilities [graphs, classes]."""
    taken = inspect.signature(model.forward).parameters.values()
    if not any(argument.name == "batch" or argument.kind == argument.VAR_KEYWORD for argument in taken):
        raise InvalidConfig(
            f"a {type(model).__name__} whose forward takes no batch",
            "a graph classifier forward(x, edge_index, batch, ...)",
            "add that argument: the model is called on many coalitions at a time",
        )

    def probabilities(x: Tensor, edge_index: Tensor, batch: Tensor, **fields: Tensor) -> Tensor:
        output = model(x, edge_index, batch=batch, **fields, **constant)
        if config.mode == ModelMode.binary_classification:
            output = output.view(-1, 1).sigmoid() if config.return_type == ModelReturnType.raw else output.view(-1, 1)
            return torch.cat([1 - output, output], dim=1)
        if config.return_type == ModelReturnType.probs:
            return output
        return output.softmax(-1)  # of logits, or of log-probabilities, which it gives back

    return probabilities


def _kinds(others: dict[str, Any], nodes: int, edges: int) -> tuple[dict[str, Tensor], dict[str, Tensor], dict]:
    """Further arguments of the model: a row for each node, a row for each edge, or the same for every graph."""
    node_fields, edge_fields, constant = {}, {}, {}
    for name, value in others.items():
        rows = len(value) if isinstance(value, Tensor) and value.ndim else None
        if rows == edges and (name.startswith("edge_") or rows != nodes):
            edge_fields[name] = value
        elif rows == nodes:
            node_fields[name] = value
        elif value is not None:
            constant[name] = value
    return node_fields, edge_fields, constant


def _games(
    x: Tensor, edge_index: Tensor, owner: Tensor, target: Tensor, node_fields: dict, edge_fields: dict
) -> tuple[list[Game], list[Tensor]]:
    """One game for each graph of the batch, and the nodes of each; edges sorted by target, then source."""
    edges_order = torch.argsort(edge_index[1] * len(x) + edge_index[0])
    number = torch.empty_like(owner)
    games, nodes_of = [], []
    for graph, label in enumerate(target.tolist()):
        nodes = torch.where(owner == graph)[0]
        number[nodes] = torch.arange(len(nodes), device=owner.device)
        edges = edges_order[owner[edge_index[1, edges_order]] == graph]
        games.append(
            Game(
                x[nodes],
                number[edge_index[:, edges]],
                int(label),
                {name: value[nodes] for name, value in node_fields.items()},
                {name: value[edges] for name, value in edge_fields.items()},
            )
        )
        nodes_of.append(nodes)
    return games, nodes_of
