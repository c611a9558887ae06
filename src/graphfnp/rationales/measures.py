"""Measures of rationales on test graphs: per rationale and per model, ready for JSON."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.subgraphs import induced_subgraphs, random_connected_nodes
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.rationales import Rationales
from graphfnp.metrics.links import link_scores
from graphfnp.prediction.predict import TrainedModel, collect
from graphfnp.randomness import stream
from graphfnp.rationales.kernels import graph_kernels

HOLDERS = 5  # graphs that hold a structure, and that do not, below which nothing is said of it


@torch.no_grad()
def rationale_measures(
    model: TrainedModel, rationales: Rationales, graphs: PackedGraphs, seed: int = 0
) -> tuple[list[dict[str, float | None]], dict[str, float]]:
    """Of each rationale ``link_precision``, ``holder_auc`` and ``deletion``; of the model all that is not of one."""
    from sklearn.metrics import roc_auc_score  # a second to import, and stored rationales come without

    kappa = graph_kernels(model, graphs)
    scores = link_scores(kappa, graphs.y, rationales.label)
    substructures = kind_of(graphs.schema).substructures(graphs)
    each = []
    for j, label in enumerate(rationales.label.tolist()):
        structure = rationales.structures[j] if rationales.structures else None
        record: dict[str, float | None] = {"link_precision": float(scores.precision[j])}
        own = torch.where(graphs.y == label)[0]
        if structure is None or substructures is None:
            each.append({**record, "holder_auc": None, "deletion": None})
            continue
        places = substructures.all_places(structure, own.tolist())
        holds = torch.tensor([bool(nodes) for nodes in places], dtype=torch.bool)
        auc = None
        if min(int(holds.sum()), int((~holds).sum())) >= HOLDERS:
            auc = float(roc_auc_score(holds.numpy(), kappa[own, j].numpy()))
        fall = deletion(model, graphs, own[holds], [nodes for nodes in places if nodes], j, seed)
        each.append({**record, "holder_auc": auc, "deletion": fall})
    raw = collect(model.classifier, graphs, seed=seed)
    shuffled = collect(model.classifier, with_permuted_features(graphs, seed), seed=seed)
    accuracy = float((raw.logits.softmax(-1).mean(0).argmax(-1) == graphs.y).double().mean())
    whole = {
        "link_precision_mean": float(scores.precision.mean()),
        "link_precision_worst": float(scores.precision.min()),
        "kappa_own": scores.own,
        "kappa_other": scores.other,
        "nearest_rationale_accuracy": scores.nearest_accuracy,
        "accuracy": accuracy,
        "redundancy": scores.redundancy,
        **foreign_scores(raw, shuffled, "shuffled"),
    }
    return each, whole


def foreign_scores(own: Any, foreign: Any, name: str) -> dict[str, float]:
    """How well distance alone tells foreign graphs from a model's own test graphs, and how sure it is of them."""
    from sklearn.metrics import roc_auc_score

    truth = [0] * len(own.distance) + [1] * len(foreign.distance)
    return {
        f"{name}_auroc": float(roc_auc_score(truth, torch.cat([own.distance, foreign.distance]).numpy())),
        f"{name}_confidence": float(foreign.logits.softmax(-1).mean(0).amax(-1).mean()),
    }


def with_permuted_features(graphs: PackedGraphs, seed: int = 0) -> PackedGraphs:
    """The same structures, their nodes' features shuffled within each graph."""
    noise = torch.rand(len(graphs.x), generator=stream(seed, "permuted"), dtype=torch.double)
    return replace(graphs, x=graphs.x[torch.argsort(graphs.node_owner + noise)])


def deletion(
    model: TrainedModel,
    graphs: PackedGraphs,
    holders: Tensor,
    places: list[tuple[int, ...]],
    rationale: int,
    seed: int = 0,
) -> float | None:
    """Fall of kappa when the structure's nodes are taken out, less that for a random connected part as large.

    The mean over graphs that hold it and are more than it.
    """
    sizes = graphs.sizes[holders]
    larger = [k for k, nodes in enumerate(places) if int(sizes[k]) > len(nodes)]
    if not larger:
        return None
    index = holders[larger]
    batch = graphs.batch(index)
    count = torch.tensor([len(places[k]) for k in larger])
    inside = torch.zeros(batch.num_nodes, dtype=torch.bool)
    for row, k in enumerate(larger):
        inside[batch.ptr[row] + torch.tensor(places[k])] = True
    part = torch.zeros_like(inside)
    part[random_connected_nodes(batch, count, stream(seed, "deletion"))] = True
    kernel, classifier = [], with_rationales(model.classifier)
    for left_out in (inside, part):
        rest = induced_subgraphs(batch, torch.where(~left_out)[0])
        rest = replace(rest, x=graphs.schema.refeaturised(rest.x, rest.edge_index))
        kernel.append(classifier.correlation_probability(classifier.encode(rest))[:, rationale])
    return float((kernel[1] - kernel[0]).mean())
