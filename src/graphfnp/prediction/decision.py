"""Decisions: from which probability on a class is said, so that a precision is kept or costs are least."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.prediction.conformal import TIE
from graphfnp.prediction.predictions import Predictions

ROUNDS = 1000  # of the bootstrap
INTERVAL = 0.9  # level of both intervals, of the threshold and of the precision at it
NEVER = 1.0  # the threshold of a class that is not said, however probable


@dataclass(frozen=True)
class Rule:
    """What a threshold is chosen for: a precision of the class, or the costs of both errors."""

    precision: float | None = None
    cost_fp: float | None = None
    cost_fn: float | None = None

    def __post_init__(self) -> None:
        costs = (self.cost_fp, self.cost_fn)
        by_precision = self.precision is not None and 0 < self.precision < 1 and costs == (None, None)
        by_cost = self.precision is None and all(cost is not None and cost > 0 for cost in costs)
        if not by_precision and not by_cost:
            raise InvalidConfig(
                f"--precision {self.precision}, --cost-fp {self.cost_fp}, --cost-fn {self.cost_fn}",
                "a precision between 0 and 1, or both costs above 0",
                "write --precision 0.9, or --cost-fp 1 --cost-fn 5",
            )

    def __str__(self) -> str:
        if self.precision is not None:
            return f"precision {100 * self.precision:g} %"
        return f"a false positive costs {self.cost_fp:g}, a false negative {self.cost_fn:g}"

    def threshold(self, probability: np.ndarray, positive: np.ndarray) -> float | None:
        """Of candidates midway between probabilities: the lowest that keeps the precision, or that of least cost."""
        order = np.argsort(-probability, kind="stable")
        falling, hits = probability[order], positive[order].cumsum()
        ends = np.append(falling[:-1] - falling[1:] > TIE, True)  # graphs of one probability are said together
        said, hits = np.arange(1, len(order) + 1)[ends], hits[ends]
        highest, lowest = falling[np.append(True, ends[:-1])], falling[ends]  # of each such group
        if self.precision is not None:
            enough = np.where(hits / said >= self.precision)[0]
            if not len(enough):
                return None
            last = int(enough[-1])
        else:
            cost = self.cost_fp * (said - hits) + self.cost_fn * (positive.sum() - hits)
            last = int(np.argmin(cost))
            if self.cost_fn * positive.sum() < cost[last]:
                return NEVER  # silence is cheaper
        below = highest[last + 1] if last + 1 < len(highest) else 0.0
        return float((lowest[last] + below) / 2)


@dataclass(frozen=True)
class Decision:
    """Class ``positive`` if its probability is at or above ``threshold``, else the other of two classes."""

    positive: int
    threshold: float
    interval: tuple[float, float]  # of the threshold, in 90 % of resamplings of the held-out graphs
    rule: str
    graphs: int  # held out, that it was chosen on
    share: float  # of the class among them: a precision is for such a label mix

    def says(self, probabilities: Tensor) -> Tensor:
        """[N]: the class decided on, for probabilities [N, 2]."""
        yes = (probabilities[:, self.positive] >= self.threshold) & (self.threshold < NEVER)
        return torch.where(yes, self.positive, 1 - self.positive)

    def told(self, class_names: tuple[str, ...]) -> str:
        low, high = self.interval
        from_on = "is never said" if self.threshold == NEVER else f"from p = {self.threshold:.3f}"
        return (
            f"{class_names[self.positive]} {from_on} ({low:.3f} to {high:.3f} in {INTERVAL:.0%} of resamplings), for "
            f"{self.rule}, fitted on {self.graphs} held-out graphs, {self.share:.0%} of that class"
        )

    def scores(self, predictions: Predictions) -> dict[str, Any]:
        """Precision with its interval, recall and counts among labelled graphs."""
        from scipy.stats import binomtest  # slow to import, and only this needs it

        labelled = predictions.labelled()
        said, truth = self.says(labelled.probabilities) == self.positive, labelled.y == self.positive
        hits, count, positives = int((said & truth).sum()), int(said.sum()), int(truth.sum())
        sure = binomtest(hits, count).proportion_ci(INTERVAL, "wilson") if count else None
        return {
            "said": count,
            "precision": hits / count if count else None,
            "precision_interval": None if sure is None else [float(sure.low), float(sure.high)],
            "recall": hits / positives if positives else None,
            "false_positives": count - hits,
            "false_negatives": positives - hits,
        }

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "interval": list(self.interval)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Decision":
        return cls(**{**record, "interval": tuple(record["interval"])})


def fit_decision(predictions: Predictions, rule: Rule, positive: int = 1, seed: int = 0) -> Decision:
    """The threshold for held-out predictions, and between which two it is in 90 % of resamplings of these graphs.

    That says how much of the choice is chance, and is no confidence interval: it holds the threshold of very many
    graphs less often, least where few graphs lie near the threshold (``benchmarks/intervals.py``).
    """
    labelled = predictions.labelled()
    if labelled.draws.shape[-1] != 2 or len(labelled.y.unique()) < 2:
        raise InvalidGraphs(
            f"{len(labelled)} labelled graphs, {labelled.draws.shape[-1]} classes",
            "labelled graphs of both of two classes",
            "a threshold needs two classes; leave --precision and costs out",
        )
    probability, truth = labelled.probabilities[:, positive].double().numpy(), (labelled.y == positive).numpy()
    threshold = rule.threshold(probability, truth)
    if threshold is None:
        best = truth[probability >= np.sort(probability)[-10:][0]]
        raise InvalidGraphs(
            f"{rule}",
            f"what {len(labelled)} held-out graphs can show: of the {len(best)} surest {best.mean():.0%} are right",
            "ask for less, or give more labelled graphs",
        )  # fmt: skip
    random = np.random.default_rng(seed)
    samples = (random.integers(len(truth), size=len(truth)) for _ in range(ROUNDS))
    drawn = [rule.threshold(probability[sample], truth[sample]) for sample in samples]
    thresholds = [NEVER if one is None else one for one in drawn]  # none keeps it: nothing is said
    low, high = np.quantile(thresholds, [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2])
    return Decision(positive, threshold, (float(low), float(high)), str(rule), len(labelled), float(truth.mean()))
