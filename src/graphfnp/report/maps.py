"""Figures of the space in which the model compares graphs with rationales."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from sklearn.decomposition import PCA
from torch import Tensor

from graphfnp.errors import percent
from graphfnp.methods.rationales import Rationales
from graphfnp.prediction.predictions import Predictions
from graphfnp.report.figure_style import in_style, short_name
from graphfnp.report.palette import FAINT, INK, ON_DARK, PAPER, SOFT, hue

WRITTEN = 24  # columns up to which the matrix shows its numbers
LETTER = 0.095  # inches that a letter of a name takes
SHARP = 1500  # points up to which a scatter stays vector graphics


@in_style
def embedding_map(
    embedding: Tensor,
    predictions: Predictions,
    class_names: Sequence[str],
    rationales: Rationales | None = None,
) -> Figure:
    """Graphs and rationales in one plane: colour is the class, a cross is a wrong prediction, a star a rationale."""
    stars = rationales is not None and rationales.embedding.shape[1] == embedding.shape[1]
    anchors = rationales.embedding if rationales is not None and stars else embedding[:0]
    points, names = project(torch.cat([embedding, anchors]).double().numpy())
    graphs, centres = points[: len(embedding)], points[len(embedding) :]
    y, label = predictions.y.numpy(), predictions.label.numpy()
    figure = Figure(figsize=(5.6, 4.8))
    axes = figure.subplots()
    wrong = (y != label) & (y >= 0)
    for chosen, marker, size, alpha, edge in ((~wrong, "o", 18, 0.75, PAPER), (wrong, "X", 42, 1.0, INK)):
        axes.scatter(
            graphs[chosen, 0], graphs[chosen, 1], s=size, c=[hue(k) if k >= 0 else SOFT for k in y[chosen]],
            marker=marker, alpha=alpha, edgecolors=edge, linewidths=0.5, rasterized=len(y) > SHARP, zorder=2,
        )  # fmt: skip
    if rationales is not None and stars:
        colours = [hue(k) for k in rationales.label.tolist()]
        axes.scatter(
            centres[:, 0], centres[:, 1], s=190, c=colours, marker="*", edgecolors=INK, linewidths=0.9, zorder=4
        )
        for number, (x, y_at) in enumerate(centres, start=1):
            axes.annotate(
                f"R{number}", (x, y_at), (6, 5), textcoords="offset points", fontsize=8, weight="bold", zorder=5
            )
    axes.set(xlabel=names[0], ylabel=names[1], title=f"Map of graphs{' and rationales' * stars}")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.08)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=hue(k), label=short_name(name))
        for k, name in enumerate(class_names)
    ]
    if (y < 0).any():
        handles.append(Line2D([], [], marker="o", linestyle="", color=SOFT, label="class unknown"))
    if wrong.any():
        handles.append(
            Line2D([], [], marker="X", linestyle="", color=SOFT, markeredgecolor=INK, label="predicted wrongly")
        )
    if stars:
        handles.append(
            Line2D([], [], marker="*", linestyle="", color=SOFT, markeredgecolor=INK, markersize=12, label="rationale")
        )
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(4 if len(class_names) < 4 else 3, len(handles))
    )
    return figure


@in_style
def correlation_matrix(
    correlation: Tensor,
    rationales: Rationales,
    predictions: Predictions,
    class_names: Sequence[str],
    chosen: Mapping[int, str],
) -> Figure:
    """How often each chosen graph was linked to each rationale, over the draws; the colour is the rationale's class.

    ``chosen`` are graphs and their names.
    """
    order = rationales.label.argsort(stable=True)
    value = correlation[list(chosen)][:, order].double().numpy()
    label = rationales.label[order]
    rows, columns = value.shape
    names = [short_name(name) for name in class_names]
    lines = [_row_name(predictions, names, graph, called) for graph, called in chosen.items()]
    column = 0.42 if columns <= WRITTEN else 0.24  # inches
    above = _fits(label, names, column)
    room = 0.5 + LETTER * max(map(len, lines))
    figure = Figure(figsize=(room + max(2.8, column * columns), 1.5 + 0.33 * rows + (0 if above else 0.6)))
    axes = figure.subplots()
    shades = np.array(
        [
            [(*to_rgb(hue(int(k))), float(np.clip(v, 0, 1)) ** 0.8) for k, v in zip(label, row, strict=True)]
            for row in value
        ]
    )
    corners = [[(j, i), (j + 1, i), (j + 1, i + 1), (j, i + 1)] for i, j in np.ndindex(rows, columns)]
    axes.add_collection(PolyCollection(corners, facecolors=shades.reshape(-1, 4), edgecolors=FAINT, linewidths=0.8))
    if columns <= WRITTEN:
        for (i, j), one in np.ndenumerate(value):
            number = f"{one:.2f}".removeprefix("0")
            colour = ON_DARK if _is_dark(shades[i, j]) else INK
            axes.text(j + 0.5, i + 0.52, number, ha="center", va="center", fontsize=7.5, color=colour, in_layout=False)
    _class_brackets(axes, label, names if above else [""] * len(names))
    if not above:
        bars = [Line2D([], [], color=hue(k), linewidth=5, label=names[k]) for k in label.unique().tolist()]
        figure.legend(handles=bars, loc="outside lower right", ncols=min(3, len(bars)))
    axes.set(xlim=(0, columns), ylim=(rows, -0.75 if above else -0.3), title="Links between graphs and rationales")
    axes.set_xticks(np.arange(columns) + 0.5, [f"R{int(k) + 1}" for k in order], fontsize=9)
    if columns > WRITTEN:
        axes.tick_params(axis="x", rotation=90)
    axes.set_yticks(np.arange(rows) + 0.5, lines)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    return figure


def _is_dark(shade: np.ndarray) -> bool:
    """Is a colour (red, green, blue, opacity) on white paper too dark for dark text?"""
    on_paper = shade[3] * shade[:3] + 1 - shade[3]
    return bool(on_paper @ (0.2126, 0.7152, 0.0722) < 0.5)


def project(points: np.ndarray) -> tuple[np.ndarray, tuple[str, str]]:
    """[points, 2] by PCA, and the names of the axes; dimensions that are missing are zero."""
    flat, share = np.zeros((len(points), 2)), np.zeros(2)
    if len(np.unique(points, axis=0)) > 1:
        found = PCA(min(2, *points.shape), random_state=0)
        reduced = found.fit_transform(points)
        flat[:, : reduced.shape[1]], share[: reduced.shape[1]] = reduced, found.explained_variance_ratio_
    return flat, (
        f"principal component 1 ({percent(share[0])} of variance)",
        f"principal component 2 ({percent(share[1])})",
    )


def _class_brackets(axes: Axes, label: Tensor, class_names: Sequence[str]) -> None:
    """A bar and the class's name above its group of columns."""
    for k in label.unique().tolist():
        columns = torch.where(label == k)[0]
        left, right = int(columns[0]), int(columns[-1]) + 1
        axes.plot([left + 0.08, right - 0.08], [-0.14, -0.14], color=hue(k), linewidth=3, solid_capstyle="butt")
        axes.text((left + right) / 2, -0.28, class_names[k], ha="center", va="bottom", fontsize=9, weight="bold")


def _fits(label: Tensor, class_names: Sequence[str], column: float) -> bool:
    """Does every class's name fit above its group of columns, each so many inches wide?"""
    return all(LETTER * len(class_names[k]) < column * int((label == k).sum()) for k in label.unique().tolist())


def _row_name(predictions: Predictions, class_names: Sequence[str], graph: int, called: str) -> str:
    said, true = int(predictions.label[graph]), int(predictions.y[graph])
    verdict = "" if true in (-1, said) else f" (is {class_names[true]})"
    return f"{short_name(called)}: {class_names[said]} {percent(float(predictions.confidence[graph]))}{verdict}"
