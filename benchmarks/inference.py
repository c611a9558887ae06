"""What a prediction costs with each method: ``python benchmarks/inference.py [--json]``.

All methods predict the same graphs of BBBP (GCN, the tables' width), ready in memory, batching and calibration
included; they take turns, and the number is the median over turns of a method's time over Vanilla's in the same turn.
With ``--json`` the ratios go to results/inference.json, where the tables take their column *cost* from.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median

import torch

from graphfnp.datasets.load import load
from graphfnp.experiments.protocol import METHODS, WIDTH
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import NUM_DRAWS, TrainedModel, predict
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train

TARGET = Path(__file__).parent.parent / "results" / "inference.json"


def models(dataset) -> dict[str, TrainedModel]:
    """One short training each: time does not depend on how good the weights are."""
    found = {}
    for method in METHODS:
        overrides = {"backbone.width": WIDTH}
        overrides |= {"generation_weight": 0.0} if method in ("graphfnp", "paper", "no-rationales") else {}
        classifier = make_classifier(method, dataset.graphs.schema, overrides)
        graphs = dataset.train.select(torch.arange(0, len(dataset.train), 8))
        found[method] = train(classifier, graphs, dataset.validation, TrainingConfig(epochs=8)).model
    return found


def seconds(model: TrainedModel, graphs) -> float:
    started = time.perf_counter()
    predict(model, graphs)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dataset = load("bbbp")
    known = models(dataset)
    turns = [{name: seconds(model, dataset.graphs) for name, model in known.items()} for _ in range(options.rounds + 1)]
    ratio = {name: round(median(turn[name] / turn["vanilla"] for turn in turns[1:]), 3) for name in known}
    for name, value in ratio.items():
        print(f"{name:14s} {value:6.2f}")
    if options.json:
        record = {
            "command": "python benchmarks/inference.py --json", "draws": NUM_DRAWS, "graphs": len(dataset.graphs),
            "rounds": options.rounds, "threads": 1, "ratio": ratio,
        }  # fmt: skip
        TARGET.parent.mkdir(exist_ok=True)
        TARGET.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
