"""Figures of the tables, drawn from the results alone: reliability curves, and the number of rationales."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from graphfnp.experiments.protocol import BACKBONES
from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import measures
from graphfnp.experiments.tables import TABLES
from graphfnp.files import write_atomically
from graphfnp.report.figure_style import figure_png, in_style
from graphfnp.report.palette import SOFT, hue

BINS = 15
LEAST = 0.01  # share of the graphs in a bin below which its accuracy is luck
COLUMNS = 3  # panels beside each other
PERCENT = FuncFormatter(lambda share, _: f"{100 * share:.3g} %")
CURVES = {  # label -> row of the calibration table, post-hoc scalar
    "Vanilla": ("vanilla", "raw"),
    "Vanilla, soft": ("vanilla", "soft"),
    "Deep ensemble, soft": ("deep-ensemble", "soft"),
    "GraphFNP, soft": ("graphfnp", "soft"),
}


@dataclass(frozen=True)
class Drawn:
    """A figure in its file; ``table`` is the one whose numbers it shows."""

    title: str
    file: str
    table: str
    about: str = ""

    def markdown(self, folder: str) -> str:
        told = f"{self.title}: {self.about}" if self.about else self.title
        return f"![{self.title}]({folder}/{self.file})\n\n*{told}.*"


def draw(results: Results, folder: Path) -> list[Drawn]:
    """Write every figure for which there are cells."""
    made = []
    for backbone in BACKBONES:
        if found := _reliability_records(results, backbone):
            title = f"Reliability, {backbone.upper()}, all seeds together"
            about = f"larger dots are of more graphs; bins with less than {LEAST:.0%} of them are left out"
            drawn = Drawn(title, f"reliability-{backbone}.png", "calibration", about)
            made.append((drawn, reliability(found)))
    if counts := _by_count(results):
        drawn = Drawn("Number of rationales of each class", "rationales-per-class.png", "rationales-per-class")
        made.append((drawn, rationales_per_class(counts)))
    for drawn, figure in made:
        write_atomically(folder / drawn.file, figure_png(figure))
    return [drawn for drawn, _ in made]


@in_style
def reliability(found: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]) -> Figure:
    """Accuracy over confidence for a few methods, a panel for each dataset; below the line is too sure."""
    columns, rows = min(COLUMNS, len(found)), -(-len(found) // COLUMNS)
    figure = Figure(figsize=(max(6.6, 3.3 * columns), 3.3 * rows + 0.6))  # a legend wants some room
    panels = figure.subplots(rows, columns, squeeze=False)
    for axes in panels.flat[len(found) :]:
        axes.set_axis_off()
    for axes, (column, curves) in zip(panels.flat, found.items(), strict=False):
        axes.plot([0.5, 1], [0.5, 1], color=SOFT, linewidth=1.2, linestyle=(0, (4, 3)))
        for number, (label, records) in enumerate(curves.items()):
            points = np.array(pooled(records))
            confidence, accuracy, share = points[:, points[2] >= LEAST]
            axes.plot(confidence, accuracy, color=hue(number), linewidth=1.2)
            axes.scatter(confidence, accuracy, s=160 * share, color=hue(number), label=label)
        axes.set(title=column, xlabel="confidence", xlim=(0.48, 1.02), ylim=(0.3, 1.02))
        axes.xaxis.set_major_formatter(PERCENT)
        axes.yaxis.set_major_formatter(PERCENT)
    for axes in panels[:, 0]:
        axes.set_ylabel("share that was right")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4 if len(found) > 2 else 2)
    return figure


def pooled(records: Sequence[Mapping[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidence, accuracy and share of each bin over all seeds; ``records`` are scores with their bins."""
    rows = np.array([row for record in records for row in record["bins"]])
    place = np.minimum(np.ceil(rows[:, 1] * BINS - 1e-9).astype(int) - 1, BINS - 1)
    share = np.bincount(place, weights=rows[:, 0], minlength=BINS)
    full = share > 0
    means = [np.bincount(place, rows[:, 0] * rows[:, k], BINS)[full] / share[full] for k in (1, 2)]
    return means[0], means[1], share[full] / len(records)


@in_style
def rationales_per_class(counts: Mapping[str, Mapping[int, Mapping[str, list[float]]]]) -> Figure:
    """ECE, NLL, AUROC and Rationale F1 over R_k, a line for each dataset."""
    shown = {"ece": "ECE", "nll": "NLL", "auroc": "AUROC", "rationale_f1_macro_1": "macro RF1 (K=1)"}
    figure = Figure(figsize=(11, 3.5))
    for axes, (measure, title) in zip(figure.subplots(1, len(shown)), shown.items(), strict=True):
        for number, (column, by_count) in enumerate(counts.items()):
            values = [by_count[count][measure] for count in by_count]
            means, spread = [np.mean(v) for v in values], [np.std(v) for v in values]
            axes.errorbar(list(by_count), means, spread, color=hue(number), marker="o", capsize=3, label=column)
        axes.set(title=title, xlabel="rationales of each class")
        axes.set_xticks(sorted({count for by_count in counts.values() for count in by_count}))
        if measure != "nll":
            axes.yaxis.set_major_formatter(PERCENT)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=len(counts))
    return figure


def _reliability_records(results: Results, backbone: str) -> dict[str, dict[str, list[Mapping[str, Any]]]]:
    groups = [group for group in TABLES["calibration"].groups() if group.backbone == backbone]
    rows = {(group.column.name, group.row.label): group for group in groups}
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for column in ("bbbp", "bace", "mutagenicity", "sst2", "github_egos"):
        for label, (row, scalar) in CURVES.items():
            records = rows[column, row].finished(results) if (column, row) in rows else []
            if records:
                found.setdefault(column, {})[label] = [record["test"][scalar] for record in records]
    return {column: curves for column, curves in found.items() if len(curves) == len(CURVES)}


def _by_count(results: Results) -> dict[str, dict[int, dict[str, list[float]]]]:
    found: dict[str, dict[int, dict[str, list[float]]]] = {}
    for group in TABLES["rationales-per-class"].groups():
        records = group.finished(results) if group.row.method == "graphfnp" else []
        if records:
            count = int(group.row.label.rpartition(" ")[2])
            found.setdefault(group.column.name, {})[count] = measures(records)
    return {column: by_count for column, by_count in found.items() if len(by_count) > 1}
