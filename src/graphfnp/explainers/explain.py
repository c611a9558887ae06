"""The verb ``explain``: masks over the edges and nodes of many graphs, by a named explainer, of any PyG classifier."""

import inspect
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch as PyGBatch
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, ModelConfig
from torch_geometric.explain.algorithm import ExplainerAlgorithm

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.explainers.explanations import Explanations, edges_of_nodes, nodes_of_edges, symmetric
from graphfnp.explainers.gnn_explainer import GNNExplainer
from graphfnp.explainers.gsat import GSATExplainer
from graphfnp.explainers.gstarx import GStarX
from graphfnp.explainers.pg_explainer import PGExplainer, pg_settings
from graphfnp.explainers.subgraphx import SubgraphX, subgraphx_settings
from graphfnp.explainers.untouched import untouched
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.plugins import Registry
from graphfnp.randomness import stream

Graphs = PackedGraphs | Sequence[Data]
NODE_BUDGET = 4096  # nodes explained together
LEARNING_BATCH = 8  # graphs an explainer learns on together
LEARNING_GRAPHS = 1000  # at most


@dataclass(frozen=True)
class Named:
    """How an explainer of this name is made, and what it scores."""

    make: Callable[[Schema | None, int], ExplainerAlgorithm]  # from the graphs' schema and a seed
    scored: Literal["edges", "nodes"] = "edges"


EXPLAINERS = Registry(
    "graphfnp.explainers",
    Named,
    {
        "gnn-explainer": Named(lambda schema, seed: GNNExplainer(seed=seed)),
        "pg-explainer": Named(lambda schema, seed: PGExplainer(pg_settings(schema), seed)),
        "gsat": Named(lambda schema, seed: GSATExplainer()),
        "subgraphx": Named(lambda schema, seed: SubgraphX(subgraphx_settings(schema), seed), "nodes"),
        "gstarx": Named(lambda schema, seed: GStarX(seed=seed), "nodes"),
    },
)


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the graphs side by side, as arguments of a model."""

    x: Tensor
    edge_index: Tensor
    others: dict[str, Tensor]  # batch, edge_attr: as far as the model takes them
    num_graphs: int


def explain(
    model: nn.Module,
    graphs: Graphs,
    explainer: str | ExplainerAlgorithm = "gnn-explainer",
    training: Graphs | None = None,
    target: Tensor | Sequence[int] | None = None,
    seed: int = 0,
    batch_size: int = 64,
    returns: Literal["log_probs", "probs", "raw"] = "log_probs",
    scored: Literal["edges", "nodes"] | None = None,
    watch: Callable[[int], None] | None = None,
) -> Explanations:
    """Explain many graphs, ``batch_size`` of them at a time; the same seed gives the same explanations.

    ``target`` is the class to explain, by default the one the model predicts; ``training`` are the graphs for
    explainers that must be fitted (default: those explained); ``returns`` is the output of your own model, as in PyG;
    ``watch`` gets the number of graphs done. Seconds are processor time.
    """
    target = None if target is None else torch.as_tensor(target)
    _check(graphs, target)
    schema = graphs.schema if isinstance(graphs, PackedGraphs) else None
    named = None
    if isinstance(explainer, str):
        named = _named(explainer)
        explainer = named.make(schema, seed)
    scored = scored or (named.scored if named else "edges")
    if scored == "edges" and not getattr(model, "differentiable", True):
        raise InvalidConfig(
            f"masks of edges for a {type(model).__name__}, which has no gradients",
            "an explainer that leaves nodes out: subgraphx or gstarx",
            "choose one of these",
        )
    facade = Explainer(
        model, explainer, "phenomenon", ModelConfig("multiclass_classification", "graph", returns),
        node_mask_type="object" if scored == "nodes" else None, edge_mask_type="object" if scored == "edges" else None,
    )  # fmt: skip
    started = time.process_time()
    if not getattr(explainer, "is_fitted", True):
        explainer.fit(model, _learning_batches(facade, graphs if training is None else training, seed))
    fitted = time.process_time()
    edge_masks, node_masks, targets, done = [], [], [], 0
    for part in parts(model, graphs, batch_size):
        if target is None:
            wanted = _predicted(facade, part)
        else:
            wanted = target[done : done + part.num_graphs]
            classes = _scores(facade, part).shape[-1] if schema is None else schema.num_classes
            if int(wanted.min()) < 0 or int(wanted.max()) >= classes:
                raise InvalidConfig(f"target {wanted.tolist()}", f"classes from 0 to {classes - 1}", "correct target")
        with untouched(model):
            found = facade(part.x, part.edge_index, target=wanted, **part.others)
        edge_mask, node_mask = _both_masks(found, part)
        edge_masks.append(edge_mask)
        node_masks.append(node_mask)
        targets.append(wanted.cpu())
        done += part.num_graphs
        if watch is not None:
            watch(part.num_graphs)
    return Explanations(
        torch.cat(edge_masks), torch.cat(node_masks), torch.cat(targets), scored,
        (time.process_time() - fitted) / max(done, 1), fitted - started,
    )  # fmt: skip


def parts(
    model: nn.Module, graphs: Graphs, batch_size: int, generator: torch.Generator | None = None
) -> Iterator[Part]:
    """The graphs as arguments of the model, some at a time; shuffled if a generator is given."""
    device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
    if isinstance(graphs, PackedGraphs):
        batches: Iterable[Any] = graphs.batches(batch_size, generator, NODE_BUDGET)
    else:
        order = torch.arange(len(graphs)) if generator is None else torch.randperm(len(graphs), generator=generator)
        batches = (PyGBatch.from_data_list([graphs[i] for i in some.tolist()]) for some in order.split(batch_size))
    for batch in batches:
        batch = batch.to(device)
        offered = {"batch": batch.batch, "edge_attr": batch.edge_attr}
        others = {k: v for k, v in offered.items() if v is not None and _takes(model, k)}
        if batch.num_graphs > 1 and "batch" not in others:
            raise InvalidConfig(
                f"a {type(model).__name__} whose forward takes no batch",
                "forward(x, edge_index, batch, ...)",
                "add that argument, or explain with batch_size=1",
            )
        yield Part(batch.x, batch.edge_index, others, batch.num_graphs)


def _takes(model: nn.Module, argument: str) -> bool:
    taken = inspect.signature(model.forward).parameters
    return argument in taken or any(parameter.kind == parameter.VAR_KEYWORD for parameter in taken.values())


def _named(name: str) -> Named:
    if name not in EXPLAINERS:
        raise InvalidConfig(f"explainer {name!r}", f"one of {', '.join(EXPLAINERS)}", "choose one of these")
    return EXPLAINERS[name]


def _learning_batches(facade: Explainer, graphs: Graphs, seed: int) -> list[tuple[Tensor, Tensor, Tensor, dict]]:
    size = LEARNING_BATCH if _takes(facade.model, "batch") else 1
    shuffled = parts(facade.model, graphs, size, stream(seed, "explainer batches"))
    return [
        (part.x, part.edge_index, _predicted(facade, part), part.others)
        for part in islice(shuffled, LEARNING_GRAPHS // size)
    ]


def _check(graphs: Graphs, target: Tensor | None) -> None:
    if isinstance(graphs, Data):
        raise InvalidGraphs("one Data", "a list of them, or PackedGraphs", "write [data]")
    if not len(graphs):
        raise InvalidGraphs("no graphs", "at least one", "give the graphs to explain")
    if target is not None and target.shape != (len(graphs),):
        shape = list(target.shape)
        raise InvalidConfig(f"target of shape {shape}", f"[{len(graphs)}], a class a graph", "leave it out, or fill it")


def _predicted(facade: Explainer, part: Part) -> Tensor:
    return facade.get_target(_scores(facade, part))


def _scores(facade: Explainer, part: Part) -> Tensor:
    """[graphs, classes]. With one score a graph, every graph would be of class 0, and nothing could speak for it."""
    with untouched(facade.model):
        scores = facade.get_prediction(part.x, part.edge_index, **part.others)
    if not isinstance(scores, Tensor) or scores.dim() != 2 or scores.shape[1] < 2:
        name, shape = type(facade.model).__name__, list(getattr(scores, "shape", [type(scores).__name__]))
        raise InvalidConfig(
            f"a {name} that returns {shape} for {part.num_graphs} graphs",
            "a score for each of two classes or more",
            "wrap a model of one logit z: torch.cat([torch.zeros_like(z), z], 1), returns='raw'",
        )
    return scores


def _both_masks(found: Any, part: Part) -> tuple[Tensor, Tensor]:
    """[edges], [nodes]: the mask the explainer gave, and the other that goes with it."""
    if found.get("edge_mask") is not None:
        edge_mask = symmetric(found.edge_mask.detach(), part.edge_index, len(part.x))
        return edge_mask.cpu(), nodes_of_edges(edge_mask, part.edge_index, len(part.x)).cpu()
    node_mask = found.node_mask.detach().amax(1)
    return edges_of_nodes(node_mask, part.edge_index).cpu(), node_mask.cpu()
