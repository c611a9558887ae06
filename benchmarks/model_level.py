"""Model-level explainers, on splits inside the training parts: ``python benchmarks/model_level.py [--json]``.

Of five graphs for each class: Rationale F1 on the inner test graphs, the probability of the class by the model that is
explained and by another of a different seed (a graph that convinces only its own model is an accident of it), how many
can be molecules, how many differ, and processor seconds. Beside them k-means centroids of embeddings, and the
prototypes of a ProtGNN (without separation) on the same split.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import fmean

import torch
from rdkit import RDLogger

from development import SPLITS
from graphfnp.chemistry.structures import graphs_from_structures
from graphfnp.experiments.protocol import RECIPE, WIDTH
from graphfnp.explainers.scores import SOURCES, subset
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.methods.contract import GraphClassifier
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.rationale_f1 import rationale_f1
from graphfnp.prediction.predict import collect
from graphfnp.rationales.candidates import refined_hash
from graphfnp.settings import with_overrides
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train

RESULT = Path(__file__).parent / "results" / "model_level.json"
LIMIT = 400  # training graphs that explainers see, as in the table
SETTINGS = {"vanilla": {}, "protgnn": {"separation_weight": 0.0}}


def trained(method: str, graphs: PackedGraphs, validation: PackedGraphs, seed: int) -> GraphClassifier:
    settings = {"backbone.name": "gcn", "backbone.width": WIDTH, **SETTINGS[method]}
    classifier = make_classifier(method, graphs.schema, settings, seed)
    return train(classifier, graphs, validation, with_overrides(TrainingConfig(), RECIPE), seed).model.classifier


def measured(
    name: str, model: GraphClassifier, other: GraphClassifier, graphs: PackedGraphs, test: PackedGraphs, seed: int
) -> dict[str, float]:
    started = time.process_time()
    found = SOURCES[name](model, graphs, seed=seed)
    seconds = time.process_time() - started
    score = rationale_f1(collect(model, test).embedding[None], found.embedding[None], found.label, test.y, 1)
    numbers = {"f1": float(score.f1), "macro_f1": float(score.macro_f1), "seconds": seconds}
    drawn = [
        (one, label) for one, label in zip(found.structures, found.label.tolist(), strict=False) if one is not None
    ]
    if drawn:
        structures, label = [one for one, _ in drawn], torch.tensor([label for _, label in drawn])
        shown, kind = graphs_from_structures(structures, graphs.schema), kind_of(graphs.schema)
        for by, judge in (("own", model), ("other", other)):
            said = collect(judge, shown).logits.softmax(-1).mean(0)
            numbers[f"probability_{by}"] = float(said.gather(1, label[:, None]).mean())
        numbers["valid"] = fmean(kind.can_be_written(one) for one in structures)
        numbers["distinct"] = len({refined_hash(one) for one in structures}) / len(structures)
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--dataset", action="append", choices=list(SPLITS), help="repeatable")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    torch.set_num_threads(1)
    record = {"command": "python benchmarks/model_level.py --json"}
    record = json.loads(RESULT.read_text()) if RESULT.exists() else record
    for dataset in given.dataset or ["bbbp scaffold"]:
        rows: dict[str, dict[str, list[float]]] = {}
        for seed in range(given.seeds):
            graphs, validation, test = SPLITS[dataset][1](seed)
            model, other = (trained("vanilla", graphs, validation, s) for s in (seed, seed + 100))
            prototypes = trained("protgnn", graphs, validation, seed)
            for name in SOURCES:
                seen = graphs if name == "protgnn" else subset(graphs, LIMIT, seed)
                numbers = measured(name, prototypes if name == "protgnn" else model, other, seen, test, seed)
                for measure, value in numbers.items():
                    rows.setdefault(name, {}).setdefault(measure, []).append(round(value, 4))
        record[dataset] = rows
        for name, row in rows.items():
            words = "  ".join(f"{measure} {fmean(values):.3f}" for measure, values in row.items())
            print(f"{dataset:14} {name:16} {words}", flush=True)
        if given.json:
            RESULT.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
