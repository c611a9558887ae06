"""Ideas for better doubt, compared where nothing of the tables is seen: ``python benchmarks/development.py [--json]``.

Development splits are made *inside the training part* of a table's split, so that validation and test are shifted as
there: whole clusters of fingerprints held out of BBBP and BACE, 15 % for test and 12 % for validation; of SST2 the
shortest 30 % of the sentences, or the 40 % with the most edges a word, for test (its validation part is like the
training part, as in the table), and scaffolds held out at random of BBBP and BACE. Sentences of five to eight words
("sst2 middle") are in no part of the table's split, so there its own training and validation part serve, and these are
the test. Every form of doubt is fitted on the inner validation part by class-weighted NLL and
judged on the inner test part. With d = 1 - max_j kappa_j, p a softmax of the logits and K classes:

    none           p
    temperature    one temperature
    robust         a temperature for the worse half of the validation graphs (conditional value at risk)
    linear         (1 - w) p + w / K with w = a d, a fitted
    fallback       the same with w = a d + (1 - a) d^10, so that a graph far from all rationales is always in doubt
    fallback 1     the same with a = 1, nothing fitted
    robust fallback    a of the linear form, fitted for the worse half
    hotter         a temperature of at least 1 and w = d^10
    gate           logits / sqrt(1 + pi/4 g d), g fitted, and w = d^10: GraphFNP's own
    gate, d^3 and gate, d^6     the same with other powers
    ..., allowed   the same with the distance that allows for the size of small graphs, as GraphFNP's own has it
    A or B         the one of lower validation loss
    vote           (1 - a) p + a v, v_k ~ sum over rationales j of class k of kappa_j: rationales as a second opinion
"""

import argparse
import json
from collections.abc import Callable
from functools import lru_cache, partial
from math import pi
from pathlib import Path
from statistics import fmean

import numpy as np
import torch
from rdkit import Chem, RDLogger
from rdkit.Chem import rdFingerprintGenerator
from sklearn.cluster import KMeans
from torch import Tensor

from graphfnp.calibration.scalars import BEND
from graphfnp.datasets.load import fetch, load
from graphfnp.datasets.scaffold import balanced_scaffold_split
from graphfnp.datasets.sentence_vectors import token_vectors
from graphfnp.datasets.split import DENSE, SPARSE
from graphfnp.datasets.sst2 import read_trees
from graphfnp.evaluation import rationale_scores
from graphfnp.experiments.protocol import COLUMNS, FIXED, RECIPE, WIDTH
from graphfnp.graphs import PackedGraphs
from graphfnp.methods import make_classifier
from graphfnp.metrics.calibration_error import expected_calibration_error
from graphfnp.metrics.scores import auroc, brier, negative_log_likelihood
from graphfnp.prediction import collect
from graphfnp.settings import with_overrides
from graphfnp.training import train
from graphfnp.training_config import TrainingConfig

RESULT = Path(__file__).parent / "results" / "development.json"
CLUSTERS, TEST, VALIDATION = 25, 0.15, 0.12
# Rows of the study: a name, a method, and what differs from its defaults.
LATE = {"start_within": 10**9}  # after 12 % of the epochs, however many graphs these are
EARLIER = {**LATE, "angle_weight": 0.0}
VARIANTS = {
    "vanilla": ("vanilla", {}),
    "graphfnp": ("graphfnp", {}),
    "graphfnp, rationales start after an epoch": ("graphfnp", {"start_after": 0.03}),
    "graphfnp, rationales start after 12 %": ("graphfnp", LATE),
    "graphfnp, no angle": ("graphfnp", {"angle_weight": 0.0}),
    "earlier graphfnp": ("graphfnp", EARLIER),
    "earlier graphfnp, parts count 1": ("graphfnp", {**EARLIER, "subgraph_weight": 1.0}),
    "earlier graphfnp, head of one layer, parts count 1": (
        "graphfnp",
        {**EARLIER, "head_layers": 1, "subgraph_weight": 1.0},
    ),
    "earlier graphfnp without parts, head of one layer": (
        "graphfnp",
        {**EARLIER, "head_layers": 1, "subgraph_weight": 0.0},
    ),
    "earlier graphfnp without z^D, head of one layer, parts count 1": (
        "graphfnp",
        {**EARLIER, "graph_embedding": "withheld", "head_layers": 1, "subgraph_weight": 1.0},
    ),
    "bbp, weights start at deviation .05": ("bbp", {"initial_std": 0.05}),
    "bbp": ("bbp", {}),
}
Part = dict[str, Tensor]  # logits, y and, with rationales, kappa, their label, distance without and with allowance


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
    nodes, edges = graphs.node_ptr.diff().double(), graphs.edge_ptr.diff().double()
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


# Of each dataset: number of seeds, and the parts of one.
SPLITS: dict[str, tuple[int, Callable[[int], tuple[PackedGraphs, PackedGraphs, PackedGraphs]]]] = {
    "bbbp": (4, lambda seed: cluster_split(load("bbbp", seed=0).train, seed)),
    "bace": (4, lambda seed: cluster_split(load("bace", seed=0).train, seed)),
    "sst2 short": (3, lambda seed: sentence_split(load("sst2", seed=0, **COLUMNS["sst2"].data).train, seed, "short")),
    "sst2 dense": (3, lambda seed: sentence_split(load("sst2", seed=0, **COLUMNS["sst2"].data).train, seed, "dense")),
    "bbbp scaffold": (6, lambda seed: inner_scaffold_split(load("bbbp", seed=0).train, seed)),
    "bace scaffold": (6, lambda seed: inner_scaffold_split(load("bace", seed=0).train, seed)),
    "sst2 middle": (3, lambda seed: middle_sentences()),
}


def trained(dataset: str, seed: int, method: str, overrides: dict) -> tuple[Part, Part, Tensor]:
    """What a model says of the inner validation and test graphs, and the class weights."""
    graphs, *held_out = SPLITS[dataset][1](seed)
    fixed = {name: value for name, value in FIXED.get(method, {}).items() if not name.startswith("training.")}
    settings = {"backbone.name": "gcn", "backbone.width": WIDTH, **fixed, **overrides}
    classifier = make_classifier(method, graphs.schema, settings, seed)
    model = train(classifier, graphs, held_out[0], with_overrides(TrainingConfig(), RECIPE), seed).model.classifier
    parts = []
    for part in held_out:
        raw = collect(model, part, seed=seed)
        found: Part = {"logits": raw.logits, "y": part.y}
        if method == "graphfnp":
            with torch.no_grad():
                kappa = torch.cat([model.correlation_probability(batch) for batch in part.batches(256)])
            found |= {"kappa": kappa, "label": model.rationale_prior.label, "distance": 1 - kappa.amax(1)}
            found["allowed"] = raw.distance
            found["rf1"] = torch.tensor(
                rationale_scores(model, part, model.rationale_prior.label, seed)["rationale_f1"]["1"]
            )
        parts.append(found)
    return parts[0], parts[1], model.class_weight


def temperature(part: Part, value: float) -> Tensor:
    return (part["logits"] / value).softmax(-1).mean(0)


def mixed(probabilities: Tensor, share: Tensor) -> Tensor:
    """A share of the draws says that all classes are equal."""
    return (1 - share[:, None]) * probabilities + share[:, None] / probabilities.shape[-1]


def linear(part: Part, value: float) -> Tensor:
    return mixed(temperature(part, 1.0), value * part["distance"])


def fallback(part: Part, value: float) -> Tensor:
    d = part["distance"]
    return mixed(temperature(part, 1.0), value * d + (1 - value) * d**BEND)


def hotter(part: Part, value: float) -> Tensor:
    return mixed(temperature(part, value), part["distance"] ** 10)


def gate(part: Part, value: float, power: int = BEND) -> Tensor:
    shrunk = part["logits"] * (1 + pi / 4 * value * part["distance"][:, None]).rsqrt()
    return mixed(shrunk.softmax(-1).mean(0), part["distance"] ** power)


def vote(part: Part, value: float) -> Tensor:
    classes = part["logits"].shape[-1]
    mass = torch.stack([part["kappa"][:, part["label"] == k].sum(1) for k in range(classes)], dim=1) + 0.1
    return (1 - value) * temperature(part, 1.0) + value * mass / mass.sum(1, keepdim=True)


def loss(probabilities: Tensor, y: Tensor, weight: Tensor, worst: float) -> float:
    """Class-weighted NLL of the worst share of graphs."""
    losses = -probabilities.gather(1, y[:, None])[:, 0].clamp(min=1e-9).log() * weight[y]
    return float(losses.topk(max(1, int(worst * len(y)))).values.mean())


def forms(validation: Part, test: Part, weight: Tensor) -> dict[str, Tensor]:
    """Test probabilities of every form of doubt, fitted on validation."""
    temperatures, hot, shares = np.geomspace(0.2, 10, 80), np.geomspace(1, 10, 40), np.linspace(0, 1, 41)
    gates, parts, losses, found = np.geomspace(0.01, 400, 60), (validation, test), {}, {"none": temperature(test, 1.0)}

    def fit(
        name: str, form: Callable[[Part, float], Tensor], values: np.ndarray, worst: float = 1.0, parts=parts
    ) -> None:
        def judged(value: float) -> float:
            return loss(form(parts[0], value), validation["y"], weight, worst)

        best = float(min(values, key=judged))
        losses[name], found[name] = judged(best), form(parts[1], best)

    fit("temperature", temperature, temperatures)
    fit("robust", temperature, temperatures, 0.5)
    if "kappa" not in test:
        return found
    fit("linear", linear, shares)
    fit("fallback 1", fallback, shares[-1:])
    fit("robust fallback", linear, shares, 0.5)
    fit("vote", vote, shares)
    allowed = tuple({**part, "distance": part["allowed"]} for part in parts)
    for suffix, these in (("", parts), (", allowed", allowed)):
        fit("fallback" + suffix, fallback, shares, parts=these)
        fit("hotter" + suffix, hotter, hot, parts=these)
        fit("gate" + suffix, gate, gates, parts=these)
        for power in (3, 6):
            fit(f"gate, d^{power}{suffix}", partial(gate, power=power), gates, parts=these)
        for first in ("hotter" + suffix, "gate" + suffix):
            better = min(first, "fallback" + suffix, key=losses.__getitem__)
            found[f"{first} or fallback"] = found[better]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--variant", action="append", choices=list(VARIANTS), help="only this one; repeatable")
    parser.add_argument("--dataset", action="append", choices=list(SPLITS), help="only this one; repeatable")
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    torch.set_num_threads(1)
    record = (
        json.loads(RESULT.read_text()) if RESULT.exists() else {"command": "python benchmarks/development.py --json"}
    )
    for name in given.variant or VARIANTS:
        method, overrides = VARIANTS[name]
        record[name] = record.get(name, {})
        for dataset in given.dataset or SPLITS:
            scores: dict[str, dict[str, list[float]]] = {}
            for seed in range(SPLITS[dataset][0]):
                validation, test, weight = trained(dataset, seed, method, overrides)
                for form, p in forms(validation, test, weight).items():
                    y, row = test["y"], scores.setdefault(form, {"nll": [], "brier": [], "ece": [], "auroc": []})
                    row["nll"].append(round(float(negative_log_likelihood(p, y)), 4))
                    row["brier"].append(round(float(brier(p, y)), 4))
                    row["ece"].append(round(float(expected_calibration_error(p, y)), 4))
                    row["auroc"].append(round(auroc(p, y) or 0.5, 4))
                    if form == "none" and "rf1" in test:  # whatever the form, the rationales are the same
                        row.setdefault("rf1", []).append(round(float(test["rf1"]), 4))
            record[name][dataset] = scores
            for form, row in scores.items():
                words = "  ".join(f"{measure} {fmean(values):.3f}" for measure, values in row.items())
                print(f"{name:36} {dataset:10} {form:28} {words}", flush=True)
            if given.json:
                RESULT.write_text(json.dumps(record, indent=1) + "\n")
    summarise(record)


def summarise(record: dict) -> None:
    """Mean NLL of each variant and form over the splits."""
    for name, datasets in record.items():
        if name == "command":
            continue
        print(f"\n{name}: mean NLL on {', '.join(datasets)}; of all, each dataset alike")
        for form in next(iter(datasets.values())):
            means = [fmean(datasets[dataset][form]["nll"]) for dataset in datasets]
            print(f"  {form:28}" + "".join(f"{mean:8.3f}" for mean in [*means, fmean(means)]))


if __name__ == "__main__":
    main()
