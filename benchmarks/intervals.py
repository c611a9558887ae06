"""How often two printed intervals hold the true value: ``python benchmarks/intervals.py [--json]``.

Graphs are simulated: the network says p = sigmoid(l), l ~ N(0, spread^2), and the class is drawn from sigmoid(l / T).
So T = 1 is calibrated and T > 1 too sure. The true ECE, and the true threshold, are those of 400,000 graphs. "ece": the
95 % interval of the ECE. "threshold": the range of a threshold in 90 % of resamplings, of calibrated networks.
"""

import json
from pathlib import Path

import torch
from torch import Tensor

from development import wants_json
from graphfnp.errors import InvalidGraphs
from graphfnp.metrics.calibration_error import calibrated_errors, ece_interval, expected_calibration_error
from graphfnp.prediction.decision import Rule, fit_decision
from graphfnp.prediction.predictions import Predictions

RESULT = Path(__file__).parent / "results" / "intervals.json"
MANY, TIMES, ECE_TIMES = 400_000, 100, 200
RULES = {
    "precision .9": Rule(precision=0.9),
    "costs 1 to 1": Rule(cost_fp=1, cost_fn=1),
    "costs 1 to 5": Rule(cost_fp=1, cost_fn=5),
}


def simulated(count: int, spread: float, temperature: float, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logit = spread * torch.randn(count, generator=generator)
    y = (torch.rand(count, generator=generator) < torch.sigmoid(logit / temperature)).long()
    p = torch.sigmoid(logit)
    return torch.stack([1 - p, p], dim=1), y


def ece_holds(count: int, spread: float, temperature: float) -> dict[str, float]:
    truth, held = float(expected_calibration_error(*simulated(MANY, spread, temperature, 0))), 0
    for seed in range(1, ECE_TIMES + 1):
        probabilities, y = simulated(count, spread, temperature, seed)
        low, high = ece_interval(probabilities, y, calibrated_errors(probabilities))
        held += low <= truth <= high
    return {"graphs": count, "spread": spread, "T": temperature, "ece": round(truth, 4), "held": held / ECE_TIMES}


def threshold_holds(count: int, spread: float, rule: str) -> dict[str, float | str | int]:
    p, y = simulated(MANY, spread, 1.0, 0)
    truth, held, fitted = RULES[rule].threshold(p[:, 1].double().numpy(), (y == 1).numpy()), 0, 0
    for seed in range(1, TIMES + 1):
        p, y = simulated(count, spread, 1.0, seed)
        try:
            low, high = fit_decision(Predictions(p[None], y), RULES[rule]).interval
        except InvalidGraphs:  # so few graphs cannot show that precision
            continue
        fitted, held = fitted + 1, held + (low <= truth <= high)
    return {
        "graphs": count,
        "spread": spread,
        "rule": rule,
        "threshold": truth,
        "fitted": fitted,
        "held": held / fitted,
    }


def main() -> None:
    writes = wants_json(__doc__, RESULT)
    found = {
        "ece": [ece_holds(n, s, t) for n in (102, 204, 1300) for s in (1.0, 2.5) for t in (1.0, 1.3, 2.0)],
        "threshold": [threshold_holds(n, s, rule) for n in (200, 1000) for s in (1.0, 2.5) for rule in RULES],
    }
    for kind, rows in found.items():
        for row in rows:
            print(kind, *(f"{name} {value}" for name, value in row.items()))
    if writes:
        RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
