"""Ideas, compared where nothing of the tables is seen: ``python benchmarks/development.py [--json]``.

Development splits are made *inside the training part* of a table's split, so that validation and test are shifted as
there: whole clusters of fingerprints held out of BBBP and BACE, 15 % for test and 12 % for validation; of SST2 the
shortest 30 % of the sentences, or the 40 % with the most edges a word, for test (its validation part is like the
training part, as in the table), and scaffolds held out at random of BBBP and BACE. Sentences of five to eight words
("sst2 middle") are in no part of the table's split, so there its own training and validation part serve, and these are
the test. Mutagenicity and BA2Motifs are split at random. Methods are scored raw, soft and free, as in the tables; of
rationales the links are measured, and with which reading of them edges of known reasons are told.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from rdkit import Chem, RDLogger
from rdkit.Chem import rdFingerprintGenerator
from sklearn.cluster import KMeans

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.datasets.load import fetch, load
from graphfnp.datasets.sentence_vectors import token_vectors
from graphfnp.datasets.split import DENSE, SPARSE, balanced_scaffold_split
from graphfnp.datasets.sst2 import read_trees
from graphfnp.experiments.measure import SCALARS, scores
from graphfnp.experiments.protocol import COLUMNS, FIXED, MOTIFS, RECIPE, WIDTH
from graphfnp.explainers.scores import each_edge_once, with_known_reasons
from graphfnp.graphs.descriptors import descriptor_list
from graphfnp.graphs.packed import Batch, PackedGraphs
from graphfnp.graphs.subgraphs import induced_subgraphs
from graphfnp.methods.contract import with_rationales
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.explanation import edge_roc_auc
from graphfnp.metrics.links import link_scores
from graphfnp.prediction.calibration import fit_calibration
from graphfnp.prediction.predict import TrainedModel, collect
from graphfnp.rationales.kernels import graph_kernels
from graphfnp.rationales.neighbourhoods import node_readings
from graphfnp.settings import TRAINING, with_overrides
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train

RESULT = Path(__file__).parent / "results" / "development.json"
CLUSTERS, TEST, VALIDATION = 25, 0.15, 0.12
# Rows of the study: a name, a method, and what differs from its defaults.
VARIANTS: dict[str, tuple[str, dict]] = {
    "vanilla": ("vanilla", {}),
    "protgnn": ("protgnn", {}),
    "protgnn without separation": ("protgnn", {"separation_weight": 0.0}),
    "no-rationales": ("no-rationales", {}),
    "graphfnp": ("graphfnp", {}),
    "forest": ("forest", {}),
    "graphfnp-forest": ("graphfnp-forest", {"generation_weight": 0.0}),
    "forest, rdkit": ("forest", {"data.features": "rdkit"}),
    "graphfnp, rdkit": ("graphfnp", {"data.features": "rdkit"}),
    "graphfnp-forest, rdkit": ("graphfnp-forest", {"generation_weight": 0.0, "data.features": "rdkit"}),
}


def wants_json(description: str | None, result: Path) -> bool:
    """The one question to a benchmark, should it write its result; on one thread, and without RDKit's remarks."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help=f"also write benchmarks/results/{result.name}")
    torch.set_num_threads(1)
    RDLogger.DisableLog("rdApp.*")
    return parser.parse_args().json


def cluster_split(graphs: PackedGraphs, seed: int) -> tuple[PackedGraphs, PackedGraphs, PackedGraphs]:
    """Train, validation and test part: clusters in random order until a part is large and has both classes."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    bits = np.stack([generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in graphs.text or ()])
    cluster = KMeans(CLUSTERS, n_init=1, random_state=seed).fit_predict(bits.astype(float))
    random, y, free = np.random.default_rng(seed), graphs.y.numpy(), np.ones(len(graphs), dtype=bool)
    parts = []
    for share in (TEST, VALIDATION):
        part = np.zeros(len(graphs), dtype=bool)
        for number in random.permutation(CLUSTERS):
            larger = part | ((cluster == number) & free)
            if larger.sum() > 1.35 * share * len(graphs):
                continue
            part = larger
            if part.sum() >= 0.9 * share * len(graphs) and 0.1 < y[part].mean() < 0.9:
                break
        free &= ~part
        parts.append(part)
    test, validation = parts
    train_part, validation_part, test_part = (
        graphs.select(torch.from_numpy(np.where(part)[0])) for part in (free, validation, test)
    )
    return train_part, validation_part, test_part


def sentence_split(graphs: PackedGraphs, seed: int, by: str) -> tuple[PackedGraphs, PackedGraphs, PackedGraphs]:
    """Train, validation (15 % of the rest) and test part: the shortest 30 %, or the 40 % with most edges a word."""
    nodes, edges = graphs.sizes.double(), graphs.edge_ptr.diff().double()
    random = torch.Generator().manual_seed(seed)
    rank = (-nodes if by == "short" else edges / nodes) + 1e-6 * torch.rand(len(graphs), generator=random)
    order, kept = rank.argsort(), int((0.7 if by == "short" else 0.6) * len(graphs))
    shuffled, held_out = order[torch.randperm(kept, generator=random)], int(0.15 * kept)
    parts = shuffled[held_out:], shuffled[:held_out], order[kept:]
    train_part, validation_part, test_part = (graphs.select(part.sort().values) for part in parts)
    return train_part, validation_part, test_part


def inner_scaffold_split(graphs: PackedGraphs, seed: int) -> tuple[PackedGraphs, PackedGraphs, PackedGraphs]:
    """Scaffolds in random order: 12 % for validation and 18 % for test."""
    split = balanced_scaffold_split(graphs.text or (), seed, (0.7, 0.12, 0.18), graphs.y)
    return graphs.select(split.train), graphs.select(split.validation), graphs.select(split.test)


@lru_cache(maxsize=1)
def middle_sentences() -> tuple[PackedGraphs, PackedGraphs, PackedGraphs]:
    """The table's training and validation part, and the first sentences that its split leaves out for their length."""
    dataset, place = load("sst2", seed=0, **COLUMNS["sst2"].data), fetch("sst2")
    assert place is not None
    trees, sentences = read_trees(place)
    edges = trees.edge_ptr.diff()
    density = edges / trees.node_ptr.diff()
    rows = torch.where((edges > 2) & (density > SPARSE) & (density < DENSE))[0][: COLUMNS["sst2"].data["limit"]]
    left = trees.select(rows)
    vectors = token_vectors([sentences[row] for row in rows.tolist()])
    test = PackedGraphs.build(vectors, left.edge_index, left.node_ptr, left.edge_ptr, left.y, dataset.train.schema)
    return dataset.train, dataset.validation, test


def random_split(graphs: PackedGraphs, seed: int) -> tuple[PackedGraphs, PackedGraphs, PackedGraphs]:
    """80, 10 and 10 % of the graphs."""
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(100 + seed))
    ends = int(0.8 * len(graphs)), int(0.9 * len(graphs))
    train_part, validation_part, test_part = (graphs.select(part.sort().values) for part in order.tensor_split(ends))
    return train_part, validation_part, test_part


# Of each dataset: number of seeds, and the parts of one.
SPLITS: dict[str, tuple[int, Callable[[int], tuple[PackedGraphs, PackedGraphs, PackedGraphs]]]] = {
    "bbbp": (4, lambda seed: cluster_split(load("bbbp", seed=0).train, seed)),
    "bace": (4, lambda seed: cluster_split(load("bace", seed=0).train, seed)),
    "sst2 short": (3, lambda seed: sentence_split(load("sst2", seed=0, **COLUMNS["sst2"].data).train, seed, "short")),
    "sst2 dense": (3, lambda seed: sentence_split(load("sst2", seed=0, **COLUMNS["sst2"].data).train, seed, "dense")),
    "bbbp scaffold": (6, lambda seed: inner_scaffold_split(load("bbbp", seed=0).train, seed)),
    "bace scaffold": (6, lambda seed: inner_scaffold_split(load("bace", seed=0).train, seed)),
    "sst2 middle": (3, lambda seed: middle_sentences()),
    **{
        name: (count, lambda seed, name=name: random_split(load(name, seed=seed).train, seed))
        for name, count in (("mutagenicity", 4), ("ba2motifs", 3), ("ba2motifs_plain", 3))
    },
}


def trained(dataset: str, seed: int, method: str, overrides: dict, backbone: str) -> dict[str, dict[str, float]]:
    """Scores of a model on the inner test graphs, in each of the three ways, and of its links where it has any."""
    graphs, validation, test = SPLITS[dataset][1](seed)
    if features := overrides.get("data.features"):
        graphs, validation, test = (described(part, features) for part in (graphs, validation, test))
    overrides = {k: v for k, v in overrides.items() if not k.startswith("data.")}
    overrides = dict(MOTIFS.get(method, {})) | overrides if "motifs" in dataset else overrides
    recipe = RECIPE | {k.removeprefix(TRAINING): v for k, v in overrides.items() if k.startswith(TRAINING)}
    settings = {"backbone.name": backbone, "backbone.width": WIDTH, **FIXED.get(method, {})}
    settings |= {k: v for k, v in overrides.items() if not k.startswith(TRAINING)}
    classifier = make_classifier(method, graphs.schema, settings, seed)
    model = train(classifier, graphs, validation, with_overrides(TrainingConfig(), recipe), seed).model
    known, raw = (collect(model.classifier, part, seed=seed) for part in (validation, test))
    measured = {}
    for way, kind in SCALARS.items():
        calibration = fit_calibration(kind, known.logits, validation.y, model.classifier.class_weight)
        all_scores = scores(calibration, raw, test.y)
        measured[way] = {name: float(all_scores[name] or 0.5) for name in ("nll", "brier", "ece", "auroc")}
    if model.classifier.rationale_model is not None:
        label = model.classifier.rationale_model.rationales().label
        links = link_scores(graph_kernels(model, test), test.y, label)
        measured["links"] = {
            "precision": float(links.precision.mean()), "worst": float(links.precision.min()),
            "nearest": links.nearest_accuracy, "redundancy": links.redundancy,
        } | ({} if test.edge_truth is None else edge_aucs(model, test, dataset))  # fmt: skip
    return measured


def described(graphs: PackedGraphs, features: str) -> PackedGraphs:
    """The same molecules, with descriptors beside them."""
    schema = replace(graphs.schema, descriptors=descriptor_list(features))
    found, _, problems = graphs_from_smiles(graphs.text or (), graphs.y, schema)
    assert found is not None
    assert not problems
    return found


def edge_aucs(model: TrainedModel, test: PackedGraphs, dataset: str) -> dict[str, float]:
    """Two judgements of a node's state, of its neighbourhoods alone, and of both, which explanations take.

    "edges": ROC-AUC of the edges of known reasons. "kept" and "cut": P(some link of its class) of what is left of a
    graph, encoded by itself, if only the quarter of its nodes that scores highest is kept, or if that quarter is cut.
    """
    reasons = with_known_reasons(test, dataset)
    target = collect(model.classifier, reasons).logits.softmax(-1).mean(0).argmax(-1)
    ends, once = reasons.global_edge_index, each_edge_once(reasons)
    whole = test.batch(torch.arange(len(test)))
    state, alone = node_readings(model, reasons, target)
    state_of_all, alone_of_all = node_readings(model, test, test.y)
    measured = {"kept all": linked(model, whole)}
    for name, node, score in (
        ("state", state, state_of_all),
        ("alone", alone, alone_of_all),
        ("both", (state + alone) / 2, (state_of_all + alone_of_all) / 2),
    ):
        top = highest_quarter(score, whole)
        measured |= {
            f"edges {name}": edge_roc_auc(node[ends].amin(0)[once], reasons.edge_truth[once]),
            f"kept {name}": linked(model, left_of(whole, top, test)),
            f"cut {name}": linked(model, left_of(whole, ~top, test)),
        }
    return measured


def highest_quarter(score: torch.Tensor, batch: Batch) -> torch.Tensor:
    """[nodes]: is a node among the quarter of its graph that scores highest?"""
    order = torch.argsort(score, descending=True)
    order = order[torch.argsort(batch.batch[order], stable=True)]
    top = torch.zeros(batch.num_nodes, dtype=torch.bool)
    top[order] = torch.arange(batch.num_nodes) - batch.ptr[batch.batch] < (batch.sizes / 4)[batch.batch]
    return top


def left_of(batch: Batch, kept: torch.Tensor, graphs: PackedGraphs) -> Batch:
    part = induced_subgraphs(batch, torch.where(kept)[0])
    return replace(part, x=graphs.schema.refeaturised(part.x, part.edge_index))


@torch.no_grad()
def linked(model: TrainedModel, batch: Batch) -> float:
    """Mean P(some link of the graph's class)."""
    classifier = with_rationales(model.classifier)
    of_class = batch.y.unsqueeze(-1) == classifier.rationales().label
    kappa = classifier.correlation_probability(classifier.encode(batch))
    return float((1 - torch.where(of_class, 1 - kappa, 1.0).prod(-1)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--variant", action="append", choices=list(VARIANTS), help="only this one; repeatable")
    parser.add_argument("--dataset", action="append", choices=list(SPLITS), help="only this one; repeatable")
    parser.add_argument("--backbone", default="gcn")
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    torch.set_num_threads(1)
    record = (
        json.loads(RESULT.read_text()) if RESULT.exists() else {"command": "python benchmarks/development.py --json"}
    )
    for name in given.variant or VARIANTS:
        method, overrides = VARIANTS[name]
        name = name if given.backbone == "gcn" else f"{name} {given.backbone}"
        record[name] = record.get(name, {})
        for dataset in given.dataset or SPLITS:
            found: dict[str, dict[str, list[float]]] = {}
            for seed in range(SPLITS[dataset][0]):
                for way, measured in trained(dataset, seed, method, overrides, given.backbone).items():
                    row = found.setdefault(way, {})
                    for measure, value in measured.items():
                        row.setdefault(measure, []).append(round(value, 4))
            record[name][dataset] = found
            for way, row in found.items():
                words = "  ".join(f"{measure} {fmean(values):.3f}" for measure, values in row.items())
                print(f"{name:36} {dataset:10} {way:6} {words}", flush=True)
            if given.json:
                RESULT.write_text(json.dumps(record, indent=1) + "\n")
    summarise(record)


def summarise(record: dict) -> None:
    """Mean NLL of each variant, in each way, over the splits."""
    for name, datasets in record.items():
        if name == "command":
            continue
        print(f"\n{name}: mean NLL on {', '.join(datasets)}; of all, each dataset alike")
        for way in SCALARS:
            means = [fmean(datasets[dataset][way]["nll"]) for dataset in datasets]
            print(f"  {way:6}" + "".join(f"{mean:8.3f}" for mean in [*means, fmean(means)]))


if __name__ == "__main__":
    main()
