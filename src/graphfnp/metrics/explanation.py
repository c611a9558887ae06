"""How good explanations are: against known reasons, against the model's own answers, and against each other."""

from itertools import combinations

import torch
from torch import Tensor


def edge_roc_auc(score: Tensor, truth: Tensor) -> float:
    """ROC-AUC of edges against the known reasons, all graphs' edges together (as PGExplainer and GSAT report it)."""
    from sklearn.metrics import roc_auc_score  # a second to import, and predictions need none of it

    if bool(truth.all()) or not bool(truth.any()):
        return float("nan")
    return float(roc_auc_score(truth.numpy(), score.numpy()))


def precision_at_k(score: Tensor, truth: Tensor, graph: Tensor, k: int | None = None) -> float:
    """Share of true edges among each graph's k best, averaged over graphs; k None: as many as are true.

    Of equals as many as there is room for are taken at random: the mean over all choices, whatever their order. Graphs
    without a true edge are left out. Pass every undirected edge once.
    """
    if not bool(truth.any()):
        return float("nan")
    count = torch.bincount(graph)
    true = torch.bincount(graph[truth], minlength=len(count))
    wanted = true if k is None else count.clamp(max=k)
    owner_score, level, equals = torch.stack([graph.double(), score.double()]).unique(
        dim=1, return_inverse=True, return_counts=True
    )
    better = count.cumsum(0)[owner_score[0].long()] - equals.cumsum(0)  # of each level: edges of its graph above it
    taken = ((wanted[graph] - better[level]) / equals[level]).clamp(0, 1)
    hit = torch.bincount(graph[truth], taken[truth], minlength=len(count))
    judged = true > 0
    return float((hit[judged] / wanted[judged]).mean())


def sparsity(kept: Tensor, graph: Tensor) -> float:
    """1 - kept edges / edges, averaged over graphs that have edges; ``kept`` [edges] is bool."""
    count = torch.bincount(graph)
    share = torch.bincount(graph[kept], minlength=len(count)) / count.clamp(min=1)
    return float(1 - share[count > 0].mean())


def label_fidelity(full: Tensor, kept: Tensor, removed: Tensor) -> dict[str, float]:
    """PyG's convention, label agreement; class probabilities [graphs, classes] of graph, explanation and remainder.

    plus = 1 - P(label of the remainder is the graph's), high is good; minus = 1 - P(label of the explanation is), low
    is good.
    """
    label = full.argmax(-1)
    return {
        "plus": float((removed.argmax(-1) != label).double().mean()),
        "minus": float((kept.argmax(-1) != label).double().mean()),
    }


def probability_fidelity(full: Tensor, kept: Tensor, removed: Tensor, target: Tensor) -> dict[str, float]:
    """DIG's convention, difference of probability; of the class ``target`` [graphs] that was explained.

    plus = mean p(graph) - p(remainder), high is good; minus = mean p(graph) - p(explanation), low is good.
    """
    full, kept, removed = (p.gather(1, target.unsqueeze(1)).double() for p in (full, kept, removed))
    return {"plus": float((full - removed).mean()), "minus": float((full - kept).mean())}


def stability(kept: Tensor, graph: Tensor) -> float:
    """Mean Jaccard index of the edges that two seeds keep, over pairs of seeds and graphs; ``kept`` [seeds, edges]."""
    count = int(graph.max()) + 1 if len(graph) else 0
    indices = []
    for a, b in combinations(kept, 2):
        both, either = (torch.bincount(graph[edges], minlength=count) for edges in (a & b, a | b))
        indices.append((both / either.clamp(min=1))[either > 0])
    return float(torch.cat(indices).mean()) if indices else float("nan")
