"""The report's first screen: each number with one plain sentence that says what it means."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from graphfnp import errors
from graphfnp.prediction.predictions import Predictions

Number = TypeVar("Number", float, np.ndarray)
ENOUGH = 10  # graphs needed before "when it says 90 %" is worth a sentence


@dataclass(frozen=True)
class Strip:
    """A number on a line: its interval, and the floor it should be compared with; all as shares of the line."""

    value: float
    interval: tuple[float, float] | None
    floor: float | None


@dataclass(frozen=True)
class Card:
    """One headline number."""

    name: str
    value: str
    sentence: str
    detail: str = ""
    strip: Strip | None = None


def percent(share: float, decimals: int = 1) -> str:
    """In one piece at the end of a line."""
    return errors.percent(share, decimals).replace(" ", "\N{NO-BREAK SPACE}")


def wilson(successes: Number, trials: Number, z: float = 1.96) -> tuple[Number, Number]:
    """Wilson's interval of a share, 95 % by default: honest at few trials, and at 0 and 100 %.

    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    """
    share, spread = successes / trials, z**2 / trials
    half = z * (np.maximum(share * (1 - share), 0) / trials + spread / (4 * trials)) ** 0.5
    return (share + spread / 2 - half) / (1 + spread), (share + spread / 2 + half) / (1 + spread)


def number_of(metrics: Mapping[str, object], *path: str) -> float | None:
    """metrics[path[0]][path[1]]... if it is a number."""
    found: object = metrics
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) and found == found else None


def interval_of(metrics: Mapping[str, object], key: str) -> tuple[float, float] | None:
    """metrics[key] if it is a pair of numbers."""
    found = metrics.get(key)
    return (float(found[0]), float(found[1])) if isinstance(found, list | tuple) and len(found) == 2 else None


def promise(predictions: Predictions) -> str:
    """What a stated probability is worth, in one sentence."""
    known = predictions.labelled()
    if len(known) == 0:
        return "The classes of these graphs are not known, so accuracy cannot be measured."
    right, confidence = (known.label == known.y).double(), known.confidence
    near = (confidence >= 0.85) & (confidence <= 0.95)
    if int(near.sum()) >= ENOUGH:
        often, said = percent(float(right[near].mean()), 0), f"{int(near.sum())} graphs with 85 to {percent(0.95, 0)}"
        return f"When the model says {percent(0.9, 0)}, it is right about {often} of the time ({said})."
    claimed, true = float(confidence.mean()), float(right.mean())
    return f"On average the model says {percent(claimed, 0)}, and it is right {percent(true, 0)} of the time."


def headline(metrics: Mapping[str, object], num_classes: int) -> list[Card]:
    """A card for every number that is there."""
    made = [
        _accuracy(metrics, num_classes),
        _calibration(metrics),
        _simple(
            metrics, "auroc", "AUROC", "For random pairs of graphs of two classes: how often the right one gets the"
            " higher probability. 0.5 is guessing, 1 is perfect.",
        ),
        _simple(
            metrics, "nll", "NLL", "Negative log-likelihood: the mean of -log(probability of the true class), in nats."
            " Lower is better; confident errors cost most.",
        ),
        _simple(
            metrics, "brier", "Brier score", "The mean squared distance between the probabilities and the true class."
            " 0 is perfect.",
        ),
        _rationale_f1(metrics),
    ]  # fmt: skip
    return [card for card in made if card is not None]


def _accuracy(metrics: Mapping[str, object], num_classes: int) -> Card | None:
    value, count = number_of(metrics, "accuracy"), number_of(metrics, "num_graphs")
    if value is None:
        return None
    if not count:
        return Card("Accuracy", percent(value), "The share of graphs with the right predicted class.")
    low, high = wilson(value * count, count)
    always = number_of(metrics, "accuracy_of_majority")
    guess = (
        f"Guessing among {num_classes} classes gives {percent(1 / num_classes, 0)}."
        if always is None
        else f"Always predicting the most frequent class gives {percent(always)}."
    )
    sentence = f"The share of {count:.0f} graphs with the right predicted class. {guess}"
    return Card("Accuracy", percent(value), sentence, f"95 % interval {100 * low:.1f} to {100 * high:.1f}")


def _calibration(metrics: Mapping[str, object]) -> Card | None:
    value, floor = number_of(metrics, "ece"), number_of(metrics, "ece_floor")
    if value is None:
        return None
    interval = interval_of(metrics, "ece_interval")
    sentence = f"Predicted probabilities are off by {100 * value:.1f} points on average."
    if floor is not None:
        excess = round(100 * value, 1) - round(100 * floor, 1)  # of the numbers as printed
        more = f"{excess:.1f} points are more than that" if excess > 0 else "the gap is not larger than that"
        sentence += f" A perfectly calibrated model would show {100 * floor:.1f} on these graphs by chance: {more}."
    at_mix = number_of(metrics, "ece_at_mix")
    if at_mix is not None and f"{100 * at_mix:.1f}" != f"{100 * value:.1f}":
        sentence += f" With these graphs weighted to the assumed label mix it is {100 * at_mix:.1f}."
    detail = []
    if interval is not None:
        detail.append(f"the true gap is between {100 * interval[0]:.1f} and {100 * interval[1]:.1f} (95 %)")
    positive, lowest = number_of(metrics, "ece_positive_class"), number_of(metrics, "ece_positive_class_floor")
    if positive is not None:
        own = "" if lowest is None else f" (by chance {100 * lowest:.1f})"
        classes = metrics.get("classes")
        name = classes[1] if isinstance(classes, list | tuple) and len(classes) == 2 else "the second class"
        detail.append(f"of the probability of {name} {100 * positive:.1f}{own}")
    if (adaptive := number_of(metrics, "ece_adaptive")) is not None:
        detail.append(f"equal-mass bins {100 * adaptive:.1f}")
    full = max(0.05, 1.15 * max(value, floor or 0, interval[1] if interval else 0))
    between = interval and (interval[0] / full, interval[1] / full)
    strip = Strip(value / full, between, None if floor is None else floor / full)
    return Card("Calibration error (ECE)", percent(value), sentence, " · ".join(detail), strip)


def _rationale_f1(metrics: Mapping[str, object]) -> Card | None:
    value, constant = number_of(metrics, "rationale_f1", "1"), number_of(metrics, "rationale_f1_constant")
    if value is None:
        return None
    against = "" if constant is None else f" A constant prediction would score {percent(constant)}."
    parts = [
        f"{name} {percent(found)}"
        for name, path in (
            ("3 nearest", ("rationale_f1", "3")),
            ("macro", ("rationale_f1_macro", "1")),
            ("macro, 3 nearest", ("rationale_f1_macro", "3")),
        )
        if (found := number_of(metrics, *path)) is not None
    ]
    sentence = f"How well the nearest rationale alone predicts the class.{against}"
    return Card("Rationale F1", percent(value), sentence, " · ".join(parts))


def _simple(metrics: Mapping[str, object], key: str, name: str, sentence: str) -> Card | None:
    value, area = number_of(metrics, key), number_of(metrics, "auprc") if key == "auroc" else None
    detail = "" if area is None else f"precision-recall area {area:.3f}"
    return None if value is None else Card(name, f"{value:.3f}", sentence, detail)
