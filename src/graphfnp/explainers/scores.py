"""What explainers are worth on a dataset: Rationale F1 of what they find, and scores of their explanations."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.explain.algorithm.utils import set_masks

from graphfnp.datasets.dataset import Dataset
from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.explainers.centroids import centroid_rationales, embedding_centroids
from graphfnp.explainers.explain import EXPLAINERS, explain, parts
from graphfnp.explainers.explanations import Explanations, kept_edges
from graphfnp.explainers.gnn_interpreter import interpreter_rationales
from graphfnp.explainers.mage import mage_rationales
from graphfnp.explainers.protgnn import prototype_rationales
from graphfnp.explainers.untouched import untouched
from graphfnp.explainers.xgnn import xgnn_rationales
from graphfnp.graphs.edges import edge_pairs
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.rationales import Rationales
from graphfnp.metrics.explanation import (
    edge_roc_auc,
    label_fidelity,
    precision_at_k,
    probability_fidelity,
    sparsity,
    stability,
)
from graphfnp.metrics.rationale_f1 import rationale_f1
from graphfnp.prediction.predict import BATCH_SIZE, collect
from graphfnp.randomness import stream

# Model-level: they look for graphs of their own, not for parts of given ones.
GENERATORS: dict[str, Callable[..., Rationales]] = {
    "xgnn": xgnn_rationales, "gnn-interpreter": interpreter_rationales, "mage": mage_rationales,
    "protgnn": prototype_rationales,
}  # fmt: skip
SOURCES = {**GENERATORS, "centroids": embedding_centroids}  # the control has embeddings, but no graph to show
TRUE_CLASSES = {"mutagenicity": 0}  # NH2 and NO2 are reasons for this class only; elsewhere truth belongs to all


def explainer_rationales(
    classifier: GraphClassifier, graphs: PackedGraphs, name: str, seed: int = 0
) -> tuple[Rationales, float | None]:
    """What the model looks for, as the named explainer sees it; and its seconds a graph, if it explains any."""
    if name in SOURCES:
        return SOURCES[name](classifier, graphs, seed=seed), None
    if name not in EXPLAINERS:
        raise InvalidConfig(f"explainer {name!r}", f"one of {', '.join((*EXPLAINERS, *SOURCES))}", "choose one")
    explanations = explain(classifier, graphs, name, seed=seed)
    return centroid_rationales(classifier, graphs, explanations, seed=seed), explanations.seconds


def explainer_rationale_f1(
    classifier: GraphClassifier,
    dataset: Dataset,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    largest: int | None = None,
) -> dict[str, Any]:
    """Rationale F1 on the test part, of rationales found in the training part (in :func:`subset` of it, if given)."""
    graphs = subset(dataset.train, limit, seed, largest)
    rationales, seconds = explainer_rationales(classifier, graphs, name, seed)
    test = dataset.test
    embedding = collect(classifier, test).embedding
    scores = {
        k: rationale_f1(embedding[None], rationales.embedding[None], rationales.label, test.y, k)
        for k in (1, 3)
        if k <= len(rationales)
    }
    return {
        "explainer": name,
        "rationale_f1": {str(k): score.f1 for k, score in scores.items()},
        "rationale_f1_macro": {str(k): score.macro_f1 for k, score in scores.items()},
        "rationale_f1_constant": scores[1].constant_f1,
        "num_rationales": len(rationales),
        "num_training_graphs": len(graphs),
        "seconds_per_graph": seconds,
    }


def explanation_scores(
    classifier: GraphClassifier,
    dataset: Dataset,
    name: str,
    seed: int = 0,
    limit: int | None = None,
    repeats: int = 1,
) -> dict[str, Any]:
    """Ground truth, fidelity, sparsity and seconds of an explainer on the test part; stability with ``repeats`` > 1.

    Only graphs whose reasons are known are explained, if the dataset knows any. An explainer that learns does so on the
    training part.
    """
    graphs = subset(with_known_reasons(dataset.test, dataset.name), limit, seed)
    of_seeds = [explain(classifier, graphs, name, training=dataset.train, seed=seed + k) for k in range(repeats)]
    return {"explainer": name, **judged(classifier, graphs, of_seeds)}


def judged(classifier: GraphClassifier, graphs: PackedGraphs, of_seeds: Sequence[Explanations]) -> dict[str, Any]:
    """All measures of explanations of these graphs, of one seed or of several: the first is judged."""
    first, edges, owner = of_seeds[0], graphs.global_edge_index, graphs.node_owner
    once, graph = each_edge_once(graphs), owner[edges[0]]
    kept = torch.stack([kept_edges(graphs, one) for one in of_seeds])
    everything = torch.ones(edges.shape[1])
    full, only, without = (
        masked_probabilities(classifier, graphs, mask) for mask in (everything, kept[0].float(), 1 - kept[0].float())
    )
    scores: dict[str, Any] = {
        "num_graphs": len(graphs),
        "fidelity_label": label_fidelity(full, only, without),
        "fidelity_probability": probability_fidelity(full, only, without, first.target),
        "sparsity": sparsity(kept[0][once], graph[once]),
        "seconds_per_graph": first.seconds,
        "fitting_seconds": first.fitting_seconds,
    }
    if graphs.edge_truth is not None:
        mask, truth = first.edge_mask[once], graphs.edge_truth[once]
        scores["edge_roc_auc"] = edge_roc_auc(mask, truth)
        scores["precision_at_5"] = precision_at_k(mask, truth, graph[once], 5)
        scores["precision_at_truth"] = precision_at_k(mask, truth, graph[once])
    if len(of_seeds) > 1:
        scores["stability"] = stability(kept[:, once], graph[once])
    return scores


def with_known_reasons(graphs: PackedGraphs, dataset: str) -> PackedGraphs:
    """The graphs that have true edges, of the class these are reasons for; all graphs where no truth is known."""
    if graphs.edge_truth is None:
        return graphs
    known = torch.bincount(graphs.edge_owner[graphs.edge_truth], minlength=len(graphs)) > 0
    if dataset in TRUE_CLASSES:
        known &= graphs.y == TRUE_CLASSES[dataset]
    if not bool(known.any()):
        raise InvalidGraphs(f"{len(graphs)} graphs without a known reason", "at least one", "take more graphs")
    return graphs.select(torch.where(known)[0])


def subset(graphs: PackedGraphs, limit: int | None, seed: int, largest: int | None = None) -> PackedGraphs:
    """A random choice of at most ``limit`` graphs (of at most ``largest`` nodes) that belongs to the seed, in order."""
    if largest is not None:
        graphs = graphs.select(torch.where(graphs.sizes <= largest)[0])
    if limit is None or limit >= len(graphs):
        return graphs
    chosen = torch.randperm(len(graphs), generator=stream(seed, "explained graphs"))[:limit]
    return graphs.select(chosen.sort().values)


@torch.no_grad()
def masked_probabilities(classifier: GraphClassifier, graphs: PackedGraphs, edge_mask: Tensor) -> Tensor:
    """[graphs, classes]: what the classifier says when messages along edges are weighted by the mask [edges]."""
    probabilities, done = [], 0
    for part in parts(classifier, graphs, BATCH_SIZE):
        here = edge_mask[done : done + part.edge_index.shape[1]]
        with untouched(classifier), torch.no_grad():
            set_masks(classifier, here, part.edge_index, apply_sigmoid=False)
            probabilities.append(classifier(part.x, part.edge_index, **part.others).exp())
        done += part.edge_index.shape[1]
    return torch.cat(probabilities)


def each_edge_once(graphs: PackedGraphs) -> Tensor:
    """Numbers of the edges that stand for both directions."""
    pair, count = edge_pairs(graphs.global_edge_index, len(graphs.x))
    numbers = torch.arange(len(pair))
    return torch.full((count,), len(pair)).scatter_reduce_(0, pair, numbers, "amin")
