"""Ideas for better doubt, compared where nothing of the tables is seen: ``python benchmarks/development.py [--json]``.

Development splits hold out whole clusters of fingerprints *inside the training part* of the deterministic scaffold
split of BBBP and BACE, 15 % for test and 12 % for validation, so that both are shifted from training and from each
other. Every form of doubt is fitted on the inner validation part by class-weighted NLL and judged on the inner test
part:

    none           softmax of the logits
    temperature    one temperature
    robust         a temperature for the worse half of the validation graphs (conditional value at risk)
    linear         (1 - w) p + w / K with w = a d, d = 1 - max_j kappa_j, a fitted
    fallback       the same with w = a d + (1 - a) d^3, so that a graph far from all rationales is always in doubt:
                   GraphFNP's own, unless validation prefers a temperature of at least 1
    fallback 1     the same with a = 1, nothing fitted
    robust fallback    a of the linear form, fitted for the worse half
    vote           (1 - a) p + a v, v_k ~ sum over rationales j of class k of kappa_j: rationales as a second opinion
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import torch
from rdkit import Chem, RDLogger
from rdkit.Chem import rdFingerprintGenerator
from sklearn.cluster import KMeans
from torch import Tensor

from graphfnp.datasets.load import load
from graphfnp.experiments.protocol import FIXED, RECIPE, WIDTH
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
VARIANTS = {
    "vanilla": ("vanilla", {}),
    "graphfnp": ("graphfnp", {}),
    "graphfnp without z^D": ("graphfnp", {"graph_embedding": "withheld"}),
    "graphfnp without parts": ("graphfnp", {"subgraph_weight": 0.0}),
    "bbp, weights start at deviation .05": ("bbp", {"initial_std": 0.05}),
    "bbp": ("bbp", {}),
}
Part = dict[str, Tensor]  # logits, y and, with rationales, kappa


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


def trained(dataset: str, seed: int, method: str, overrides: dict) -> tuple[Part, Part, Tensor]:
    """What a model says of the inner validation and test graphs, and the class weights."""
    graphs, *held_out = cluster_split(load(dataset, seed=0).train, seed)
    fixed = {name: value for name, value in FIXED.get(method, {}).items() if not name.startswith("training.")}
    settings = {"backbone.name": "gcn", "backbone.width": WIDTH, **fixed, **overrides}
    classifier = make_classifier(method, graphs.schema, settings, seed)
    model = train(classifier, graphs, held_out[0], with_overrides(TrainingConfig(), RECIPE), seed).model.classifier
    parts = []
    for part in held_out:
        found: Part = {"logits": collect(model, part, seed=seed).logits, "y": part.y}
        if method == "graphfnp":
            with torch.no_grad():
                kappa = [model.correlation_probability(batch) for batch in part.batches(256)]
            found |= {"kappa": torch.cat(kappa), "label": model.rationale_prior.label}
        parts.append(found)
    return parts[0], parts[1], model.class_weight


def temperature(part: Part, value: float) -> Tensor:
    return (part["logits"] / value).softmax(-1).mean(0)


def linear(part: Part, value: float) -> Tensor:
    share = value * (1 - part["kappa"].amax(1, keepdim=True))
    return (1 - share) * temperature(part, 1.0) + share / part["logits"].shape[-1]


def fallback(part: Part, value: float) -> Tensor:
    distance = 1 - part["kappa"].amax(1, keepdim=True)
    share = distance * (value + (1 - value) * distance**2)
    return (1 - share) * temperature(part, 1.0) + share / part["logits"].shape[-1]


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
    temperatures, shares = np.geomspace(0.2, 10, 80), np.linspace(0, 1, 41)

    def fitted(form: Callable[[Part, float], Tensor], values: np.ndarray, worst: float = 1.0) -> Tensor:
        best = min(values, key=lambda value: loss(form(validation, value), validation["y"], weight, worst))
        return form(test, float(best))

    found = {
        "none": temperature(test, 1.0),
        "temperature": fitted(temperature, temperatures),
        "robust": fitted(temperature, temperatures, 0.5),
    }
    if "kappa" in test:
        found |= {
            "linear": fitted(linear, shares),
            "fallback": fitted(fallback, shares),
            "fallback 1": fallback(test, 1.0),
            "robust fallback": fitted(linear, shares, 0.5),
            "vote": fitted(vote, shares),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--variant", action="append", choices=list(VARIANTS), help="only this one; repeatable")
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    torch.set_num_threads(1)
    record = (
        json.loads(RESULT.read_text()) if RESULT.exists() else {"command": "python benchmarks/development.py --json"}
    )
    for name in given.variant or VARIANTS:
        method, overrides = VARIANTS[name]
        scores: dict[str, dict[str, list[float]]] = {}
        for dataset in ("bbbp", "bace"):
            for seed in range(given.seeds):
                validation, test, weight = trained(dataset, seed, method, overrides)
                for form, p in forms(validation, test, weight).items():
                    y, row = test["y"], scores.setdefault(form, {"nll": [], "brier": [], "ece": [], "auroc": []})
                    row["nll"].append(float(negative_log_likelihood(p, y)))
                    row["brier"].append(float(brier(p, y)))
                    row["ece"].append(float(expected_calibration_error(p, y)))
                    row["auroc"].append(auroc(p, y) or 0.5)
        record[name] = {
            form: {measure: [round(value, 4) for value in values] for measure, values in row.items()}
            for form, row in scores.items()
        }
        for form, row in scores.items():
            words = "  ".join(
                f"{measure} {fmean(v):.3f} ± {stdev(v) / len(v) ** 0.5:.3f}" for measure, v in row.items()
            )
            print(f"{name:36} {form:16} {words}", flush=True)
        if given.json:
            RESULT.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
