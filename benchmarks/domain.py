"""Does the domain score tell foreign graphs, and does it know its errors: ``python benchmarks/domain.py [--json]``.

``--fresh`` measures on splits and a dataset that had no part in choosing the score, into ``domain_fresh.json``.

Small models (GCN 3 x 128, 12 epochs) of two methods are trained on each dataset and split. Each score is judged by the
AUROC of foreign graphs against test graphs, and of errors against right predictions; the verdict by the share of graphs
beyond its edge. Foreign are molecules of other datasets, other plain graphs, and test graphs with shuffled features or
edges; "far" are the quarter of the test molecules that RDKit's Morgan fingerprints put farthest from training.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import torch
from rdkit import Chem, DataStructs, RDLogger
from rdkit.Chem import rdFingerprintGenerator
from sklearn.metrics import roc_auc_score
from torch import Tensor

from foreign_graphs import molecules_of, plain_graphs, rewired
from graphfnp.chemistry.patterns import SubstructureIndex
from graphfnp.datasets.dataset import Dataset
from graphfnp.datasets.load import load
from graphfnp.graphs.matching import matching
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import TrainedModel, collect, predict
from graphfnp.randomness import stream
from graphfnp.rationales.measures import with_permuted_features
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train

CELLS = (("bbbp", "scaffold"), ("bbbp", "random"), ("bace", "scaffold"), ("bace", "random"), ("ba2motifs", "random"))
FRESH = (("bbbp", "random", 5), ("bbbp", "random", 6), ("bace", "random", 5), ("bace", "random", 6),
         ("mutagenicity", "random", 5))  # fmt: skip
METHODS = {"vanilla": {}, "graphfnp": {"generation_weight": 0.0}}
MOLECULES, MOST = ("bbbp", "bace", "mutagenicity", "mutag"), 500
LIMITS = (0.9, 0.95, 0.975, 0.99)
ABOVE = f"share scored above {', '.join(map(str, LIMITS))}"
RESULTS = Path(__file__).parent / "results"


def foreign_graphs(dataset: Dataset) -> dict[str, PackedGraphs]:
    schema, test = dataset.graphs.schema, dataset.test
    if schema.kind == "molecule":
        found = {name: molecules_of(name, schema) for name in MOLECULES if name != dataset.name}
    else:
        found = plain_graphs(schema)
        for name in ("reddit10k", "github_egos"):
            other = load(name).graphs
            unlabelled = replace(other, y=torch.full_like(other.y, UNLABELLED))
            found[name] = matching(_some(unlabelled), schema)
    found = {name: _some(graphs) for name, graphs in found.items()}
    return {**found, "features shuffled": with_permuted_features(test), "edges rewired": rewired(test)}


def _some(graphs: PackedGraphs) -> PackedGraphs:
    return graphs.select(torch.randperm(len(graphs), generator=stream(0, "some"))[:MOST])


def far(dataset: Dataset) -> Tensor | None:
    """Which test molecules are the farthest quarter by Morgan fingerprints, radius 2."""
    if dataset.graphs.schema.kind != "molecule":
        return None
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    parts = [SubstructureIndex(graphs).molecules for graphs in (dataset.train, dataset.test)]
    bits = [[generator.GetFingerprint(Chem.Mol() if m is None else Chem.RemoveHs(m)) for m in part] for part in parts]
    near = torch.tensor([max(DataStructs.BulkTanimotoSimilarity(one, bits[0])) for one in bits[1]])
    return near <= near.quantile(0.25)


def scores(model: TrainedModel, graphs: PackedGraphs) -> dict[str, Tensor]:
    """The chosen score, its two views by themselves, the model's own distance where it has one, and its doubt."""
    domain, raw = model.domain, collect(model.classifier, graphs)
    assert domain is not None
    parts = [domain._near(*part)[0] for part in domain._chunks(graphs, raw.embedding)]
    fingerprint, embedding = torch.cat(parts, dim=-1)
    found = {
        "domain": domain.place(graphs, raw.embedding).score,
        "fingerprint": fingerprint,
        "embedding": embedding,
        "1 - confidence": 1 - raw.logits.softmax(-1).mean(0).amax(-1),
    }
    return found if raw.distance is None else {**found, "kernel": raw.distance}


def auroc(low: Tensor, high: Tensor) -> float | None:
    if not len(low) or not len(high):
        return None
    truth = torch.cat([torch.zeros(len(low)), torch.ones(len(high))])
    return round(float(roc_auc_score(truth, torch.cat([low, high]))), 3)


def cell(dataset: Dataset, foreign: dict[str, PackedGraphs], method: str, seed: int) -> dict:
    classifier = make_classifier(method, dataset.graphs.schema, {"backbone.width": 128, **METHODS[method]}, seed)
    model = train(classifier, dataset.train, dataset.validation, TrainingConfig(epochs=12), seed).model
    inside, away = scores(model, dataset.test), {name: scores(model, graphs) for name, graphs in foreign.items()}
    wrong, distant = predict(model, dataset.test).label != dataset.test.y, far(dataset)
    measured = {}
    for name, score in inside.items():
        row = {f"against {other}": auroc(score, found[name]) for other, found in away.items()}
        if distant is not None:
            row["far"] = auroc(score[~distant], score[distant])
        row["errors"] = auroc(score[~wrong], score[wrong])
        terciles = score.argsort().tensor_split(3)
        row["accuracy by tercile"] = [round(float((~wrong[part]).float().mean()), 3) for part in terciles]
        measured[name] = row
    groups = {"validation": scores(model, dataset.validation), "test": inside, **away}
    beyond = {
        name: [round(float((found["domain"] > limit).float().mean()), 3) for limit in LIMITS]
        for name, found in groups.items()
    }
    return {
        "auroc": measured,
        ABOVE: beyond,
        "accuracy": round(1 - float(wrong.float().mean()), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="also write benchmarks/results/domain.json")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fresh", action="store_true", help="what had no part in choosing the score; GraphFNP only")
    chosen = parser.parse_args()
    cells = FRESH if chosen.fresh else [(*cell, chosen.seed) for cell in CELLS]
    torch.set_num_threads(1)
    RDLogger.DisableLog("rdApp.*")
    results = {}
    for name, split, seed in cells:
        dataset = load(name, split=split, seed=seed)
        foreign = foreign_graphs(dataset)
        for method in ("graphfnp",) if chosen.fresh else METHODS:
            title = f"{name}, {split} split{f' {seed}' if chosen.fresh else ''}, {method}"
            found = results[title] = cell(dataset, foreign, method, seed)
            print(f"{title}: accuracy {found['accuracy']}", flush=True)
            for score, row in found["auroc"].items():
                print(f"  {score:12}", ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            for group, shares in found[ABOVE].items():
                print(
                    f"  {group:34} above", ", ".join(f"{limit}: {s}" for limit, s in zip(LIMITS, shares, strict=True))
                )
            if chosen.json:
                seeds = sorted({seed for *_, seed in cells})
                content = {"benchmark": "domain", "seeds": seeds, "epochs": 12, "width": 128, "cells": results}
                path = RESULTS / ("domain_fresh.json" if chosen.fresh else "domain.json")
                path.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
