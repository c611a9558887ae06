"""Does it pay to test what the model picks: ``python benchmarks/picking.py [--json]``.

Rounds are simulated on BBBP: a model learns from 100 molecules at random, 100 of the rest are picked and their labels
told, and a model learns from 200, up to 400. Measured are the AUROC on molecules that are never picked, and how many of
the rarer class (non-permeable) the picks have found. Small networks (GCN 3 x 64, no decoder), random splits.
"""

import json
from collections.abc import Callable
from math import ceil
from pathlib import Path
from statistics import fmean, stdev

import torch
from torch import Tensor

from development import wants_json
from graphfnp.datasets.load import load
from graphfnp.graphs.packed import PackedGraphs
from graphfnp.methods.registry import make_classifier
from graphfnp.metrics.scores import auroc
from graphfnp.prediction.pick import pick
from graphfnp.prediction.predict import predict
from graphfnp.prediction.predictions import Predictions
from graphfnp.randomness import stream
from graphfnp.training.config import TrainingConfig
from graphfnp.training.train import train

SEEDS, STEP, ROUNDS, RARE = range(3), 100, 4, 0
STEPS = 300  # of training in each round
RESULT = Path(__file__).parent / "results" / "picking.json"
Pick = Callable[[Predictions, PackedGraphs, int], Tensor]


def at_random(predictions: Predictions, pool: PackedGraphs, seed: int) -> Tensor:
    return torch.randperm(len(pool), generator=stream(seed, "random picks", len(pool)))[:STEP]


PICKS: dict[str, Pick] = {
    "random": at_random,
    "pick, to learn": lambda predictions, pool, seed: pick(predictions, pool, STEP),
    "pick, to find the class": lambda predictions, pool, seed: pick(predictions, pool, STEP, RARE),
}


def simulated(picks: Pick, seed: int) -> tuple[list[float], list[int]]:
    """AUROC after each round, and graphs of the class found by then."""
    dataset = load("bbbp", split="random", seed=seed)
    graphs, test = dataset.train, dataset.graphs.select(torch.cat([dataset.split.validation, dataset.split.test]))
    order = torch.randperm(len(graphs), generator=stream(seed, "start"))
    known, rest = order[:STEP], order[STEP:]
    measured, found = [], []
    for round_ in range(ROUNDS):
        held_out = torch.arange(len(known)) % 5 == 0
        own = {"backbone.width": 64, "generation_weight": 0.0}
        classifier = make_classifier("graphfnp", graphs.schema, own, seed)
        parts = graphs.select(known[~held_out]), graphs.select(known[held_out])
        model = train(
            classifier,
            *parts,
            TrainingConfig(epochs=ceil(STEPS / ceil(len(parts[0]) / TrainingConfig.batch_size))),
            seed,
        ).model
        measured.append(round(float(auroc(predict(model, test).probabilities, test.y) or 0.5), 4))
        found.append(int((graphs.y[known] == RARE).sum()))
        pool = graphs.select(rest)
        chosen = picks(predict(model, pool), pool, seed + round_)
        taken = torch.zeros(len(rest), dtype=torch.bool)
        taken[chosen] = True
        known, rest = torch.cat([known, rest[chosen]]), rest[~taken]
    return measured, found


def main() -> None:
    writes = wants_json(__doc__, RESULT)
    record: dict = {"command": "python benchmarks/picking.py --json", "tested": [STEP * (r + 1) for r in range(ROUNDS)]}
    for name, picks in PICKS.items():
        runs = [simulated(picks, seed) for seed in SEEDS]
        record[name] = {"auroc": [one for one, _ in runs], "found": [one for _, one in runs]}
        for measure, rows in record[name].items():
            told = "  ".join(f"{fmean(some):.3f} +- {stdev(some):.3f}" for some in zip(*rows, strict=True))
            print(f"{name:28} {measure:6} {told}", flush=True)
    if writes:
        RESULT.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
