"""Why GNNExplainer points away from NO2 and NH2: ``python benchmarks/gnn_explainer_on_mutagenicity.py [--json]``.

Is it the explainer or the model? Edges are also scored by what the model itself does: the fall of log p(class) when the
messages of one edge are cut, and the weight of each edge in a linear fit of log p(class) over random halves of the
edges. And nodes: the fall when an atom is taken out of the graph, an edge having the mean of its two. All on a split
inside the training part, as in ``development.py``.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from development import random_split
from graphfnp.datasets.load import load
from graphfnp.experiments.protocol import RECIPE, WIDTH
from graphfnp.explainers.explain import explain
from graphfnp.explainers.scores import each_edge_once, masked_probabilities, subset, with_known_reasons
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.graphs.subgraphs import induced_subgraphs
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.explanation import edge_roc_auc
from graphfnp.settings import with_overrides
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train

RESULT = Path(__file__).parent / "results" / "gnn_explainer_on_mutagenicity.json"
GRAPHS, HALVES = 60, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    given = parser.parse_args()
    torch.set_num_threads(1)
    record = {"command": "python benchmarks/gnn_explainer_on_mutagenicity.py --json", "graphs": GRAPHS}
    for backbone in ("gcn", "gin"):
        record[backbone] = measured(backbone, seed=0)
        print(backbone, record[backbone], flush=True)
    if given.json:
        RESULT.write_text(json.dumps(record, indent=1) + "\n")


def measured(backbone: str, seed: int) -> dict[str, float]:
    """Edge ROC-AUC of each way to score edges, and how far GNNExplainer agrees with the linear fit."""
    graphs, validation, test = random_split(load("mutagenicity", seed=seed).train, seed)
    settings = {"backbone.name": backbone, "backbone.width": WIDTH}
    classifier = make_classifier("vanilla", graphs.schema, settings, seed)
    model = train(classifier, graphs, validation, with_overrides(TrainingConfig(), RECIPE), seed).model.classifier
    reasons = subset(with_known_reasons(test, "mutagenicity"), GRAPHS, seed)
    mask = explain(model, reasons, "gnn-explainer", seed=seed).edge_mask
    scores = {"gnn-explainer": mask, "one edge cut": cut(model, reasons), "random halves": halves(model, reasons)}
    ends, once = reasons.global_edge_index, each_edge_once(reasons)
    scores["one atom out"] = atom_out(model, reasons)[ends].mean(0)
    aucs = {name: round(edge_roc_auc(score[once], reasons.edge_truth[once]), 3) for name, score in scores.items()}
    agreement = spearmanr(mask[once], scores["random halves"][once]).statistic
    return {**aucs, "rank correlation of gnn-explainer and random halves": round(float(agreement), 3)}


def log_p(model: GraphClassifier, graphs: PackedGraphs, edge_mask: torch.Tensor) -> torch.Tensor:
    """[graphs]: of the first class, mutagens."""
    return masked_probabilities(model, graphs, edge_mask)[:, 0].clamp(min=1e-9).log()


def partner(graphs: PackedGraphs) -> torch.Tensor:
    """[edges]: the number of the undirected edge, counted in each graph."""
    ends, owner = graphs.global_edge_index, graphs.node_owner
    low, high = ends.amin(0), ends.amax(0)
    _, pair = torch.stack([low, high]).unique(dim=1, return_inverse=True)
    graph = owner[ends[0]]
    first = torch.full((len(graphs),), len(pair)).scatter_reduce_(0, graph, pair, "amin")
    return pair - first[graph]


def cut(model: GraphClassifier, graphs: PackedGraphs) -> torch.Tensor:
    """[edges]: fall of log p(class) when both directions of an edge are cut, one edge of every graph at a time."""
    number, graph = partner(graphs), graphs.node_owner[graphs.global_edge_index[0]]
    whole, fall = log_p(model, graphs, torch.ones(len(number))), torch.zeros(len(number))
    for k in range(int(number.max()) + 1):
        gone = number == k
        fall[gone] = (whole - log_p(model, graphs, (~gone).float()))[graph[gone]]
    return fall


def halves(model: GraphClassifier, graphs: PackedGraphs) -> torch.Tensor:
    """[edges]: weight of each edge in a ridge fit of log p(class) over random halves of the edges."""
    number, graph = partner(graphs), graphs.node_owner[graphs.global_edge_index[0]]
    generator, most = torch.Generator().manual_seed(0), int(number.max()) + 1
    present, answers = [], []
    for _ in range(HALVES):
        kept = torch.rand(len(graphs), most, generator=generator) < 0.5
        present.append(kept)
        answers.append(log_p(model, graphs, kept[graph, number].float()))
    weights = torch.zeros(len(number))
    for one in range(len(graphs)):
        mine = graph == one
        count = int(number[mine].max()) + 1
        design = torch.stack([kept[one, :count] for kept in present]).double().numpy()
        design -= design.mean(0)
        answer = np.array([float(said[one]) for said in answers])
        fit = np.linalg.solve(design.T @ design + np.eye(count), design.T @ (answer - answer.mean()))
        weights[mine] = torch.from_numpy(fit).float()[number[mine]]
    return weights


@torch.no_grad()
def atom_out(model: GraphClassifier, graphs: PackedGraphs) -> torch.Tensor:
    """[nodes]: fall of log p(class) when the atom is taken out of the graph."""
    falls = []
    for one in range(len(graphs)):
        count = int(graphs.node_ptr[one + 1] - graphs.node_ptr[one])
        copies = graphs.batch(torch.full((count,), one))
        kept = torch.ones(copies.num_nodes, dtype=torch.bool)
        kept[torch.arange(count) * (count + 1)] = False
        rest = induced_subgraphs(copies, torch.where(kept)[0])
        whole = model.draw_logits(model.encode(graphs.batch(torch.tensor([one]))), 1).log_softmax(-1)[0, :, 0]
        falls.append(whole - model.draw_logits(model.encode(rest), 1).log_softmax(-1)[0, :, 0])
    return torch.cat(falls)


if __name__ == "__main__":
    main()
