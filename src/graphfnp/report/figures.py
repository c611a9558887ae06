"""The report's figures, one function each; every function returns a matplotlib Figure and leaves no global state."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from graphfnp.errors import percent
from graphfnp.metrics.calibration_error import reliability_bins
from graphfnp.metrics.scores import risk_coverage
from graphfnp.prediction.predictions import Predictions
from graphfnp.report.figure_style import in_style, short_name
from graphfnp.report.headline import interval_of, number_of, wilson
from graphfnp.report.palette import ALERT, INK, SOFT, hue

BINS = 15
PERCENT = FuncFormatter(lambda share, _: f"{round(100 * share, 6):g} %")


@in_style
def reliability_diagram(predictions: Predictions, metrics: Mapping[str, object]) -> Figure:
    """Accuracy of each bin of confidence, its gap to the confidence claimed, and how many graphs lie in it."""
    known = predictions.labelled()
    bins = reliability_bins(known.probabilities, known.y, BINS)
    full = torch.where(bins.share > 0)[0]
    claimed, right = bins.confidence[full].numpy(), bins.accuracy[full].numpy()
    count = (bins.share[full] * len(known)).round().numpy()
    middle, width = (full.numpy() + 0.5) / BINS, 0.92 / BINS
    figure = Figure(figsize=(4.8, 6.3))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(5, 1))
    lower, gap = np.minimum(right, claimed), np.abs(right - claimed)
    above.bar(middle, lower, width, color=hue(0), zorder=2)
    for chosen, colour, name in (
        (claimed > right, ALERT, "overconfident"),
        (claimed <= right, hue(4), "underconfident"),
    ):
        if not chosen.any():  # the legend would show another colour
            continue
        above.bar(
            middle[chosen], gap[chosen], width, bottom=lower[chosen],
            facecolor=(*to_rgb(colour), 0.3), edgecolor=colour, linewidth=0.9, label=name, zorder=2,
        )  # fmt: skip
    low, high = wilson(right * count, count)
    above.errorbar(
        middle, right, np.abs([right - low, high - right]),
        fmt="_", markersize=7, color=INK, elinewidth=0.9, label="accuracy, 95 % interval", zorder=4,
    )  # fmt: skip
    above.plot([0, 1], [0, 1], color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)), label="perfectly calibrated", zorder=3)
    above.set(ylabel="share that was right", ylim=(0, 1.02), title="Reliability")
    above.set_title(_calibration_words(metrics), loc="right", fontsize=9, weight="normal", color=SOFT)
    above.yaxis.set_major_formatter(PERCENT)
    figure.legend(loc="outside lower left", ncols=1)
    below.bar(middle, count, width, color=SOFT)
    # Confidence is at least one over the number of classes; the empty rest of the axis would only cost room.
    left = min(np.floor(BINS / predictions.draws.shape[-1]), full.min().item() if len(full) else 0) / BINS
    below.set(xlabel="confidence: probability of the predicted class", ylabel="graphs", xlim=(left, 1))
    below.xaxis.set_major_formatter(PERCENT)
    below.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    below.grid(axis="x", visible=False)
    return figure


@in_style
def confidence_histogram(predictions: Predictions) -> Figure:
    """How often each confidence is claimed, right and wrong apart."""
    known = predictions.labelled()
    confidence, right = known.confidence.numpy(), (known.label == known.y).numpy()
    left = np.floor(20 / predictions.draws.shape[-1]) / 20
    edges = np.linspace(left, 1, 21)
    figure = Figure(figsize=(4.8, 3.4))
    axes = figure.subplots()
    axes.hist(
        [confidence[right], confidence[~right]], bins=edges.tolist(), stacked=True, rwidth=0.92, color=[hue(0), ALERT],
        label=[f"right ({right.sum()})", f"wrong ({(~right).sum()})"],
    )  # fmt: skip
    for values, colour, name in ((confidence, INK, "mean confidence"), (right.astype(float), hue(0), "accuracy")):
        if len(values):
            axes.axvline(
                values.mean(),
                color=colour,
                linewidth=1.4,
                linestyle=(0, (4, 2)),
                label=f"{name} {percent(values.mean(), 1)}",
            )
    axes.set(
        xlabel="confidence: probability of the predicted class", ylabel="graphs", xlim=(left, 1), title="Confidence"
    )
    axes.xaxis.set_major_formatter(PERCENT)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x", visible=False)
    figure.legend(loc="outside lower left", ncols=2)  # there is no room among bars
    return figure


@in_style
def risk_coverage_curve(predictions: Predictions) -> Figure:
    """Accuracy on the graphs the model is most certain of, as the share it answers grows."""
    known = predictions.labelled()
    error = (known.label != known.y).double()
    curve = risk_coverage(known.total_uncertainty, error)
    coverage, right = curve.coverage.numpy(), 1 - curve.risk.numpy()
    kept = np.arange(1, len(right) + 1)
    low, high = wilson(right * kept, kept)
    figure = Figure(figsize=(4.8, 2.9))
    axes = figure.subplots()
    axes.fill_between(coverage, low, high, color=hue(0), alpha=0.16, linewidth=0, label="95 % interval")
    axes.plot(coverage, right, color=hue(0), label="the most certain graphs")
    axes.axhline(
        right[-1], color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)), label=f"all graphs: {percent(right[-1], 1)}"
    )
    axes.set(
        xlabel="share of graphs answered, most certain first", ylabel="share that was right", xlim=(0, 1),
        ylim=(max(0, min(right.min(), right[-1]) - 0.15), 1.01), title="If the model may decline",
    )  # fmt: skip
    axes.xaxis.set_major_formatter(PERCENT)
    axes.yaxis.set_major_formatter(PERCENT)
    axes.legend(loc="lower left")
    return figure


@in_style
def training_history(history: Sequence[Mapping[str, float]], best_by: str = "validation_nll") -> Figure:
    """The loss terms of each phase (``phase/term``) and the validation NLL by epoch, its lowest point marked."""
    epochs = [record.get("epoch", position) for position, record in enumerate(history)]
    keys = list(dict.fromkeys(key for record in history for key in record))
    panels: dict[str, list[str]] = {}
    for key in keys:
        if "/" in key:
            panels.setdefault(f"Loss terms: {short_name(key.split('/')[0])}", []).append(key)
    if best_by in keys:
        panels["Validation NLL"] = [best_by]
    figure = Figure(figsize=(9.6, 3.2))
    for axes, (title, shown) in zip(
        figure.subplots(1, max(1, len(panels)), squeeze=False)[0], panels.items(), strict=False
    ):
        for number, key in enumerate(shown):
            name = None if key == best_by else short_name(key.split("/", 1)[1].replace("_", " "))
            axes.plot(epochs, [record.get(key, np.nan) for record in history], color=hue(number), label=name)
        axes.set(xlabel="epoch", title=title)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.margins(y=0.12)
        if shown == [best_by]:
            best = min(range(len(history)), key=lambda position: history[position].get(best_by, np.inf))
            label = f"lowest: {history[best][best_by]:.3f} at epoch {epochs[best]:g}"
            axes.plot(epochs[best], history[best][best_by], "o", color=ALERT, label=label)
        axes.legend()
    return figure


def _calibration_words(metrics: Mapping[str, object]) -> str:
    ece, floor, interval = (
        number_of(metrics, "ece"),
        number_of(metrics, "ece_floor"),
        interval_of(metrics, "ece_interval"),
    )
    if ece is None:
        return ""
    between = "" if interval is None else f" ({100 * interval[0]:.1f} to {100 * interval[1]:.1f})"
    return f"ECE {percent(ece, 1)}{between}" + ("" if floor is None else f", floor {percent(floor, 1)}")
