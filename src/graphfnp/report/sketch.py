"""Sketch: a drawing as strokes, dots and words, written as a small SVG or as a PNG."""

import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple, Protocol

from graphfnp.report.palette import PAPER

Point = tuple[float, float]


class Picture(Protocol):
    """Anything the report can show: the same drawing in two formats."""

    def svg(self) -> str: ...

    def png(self) -> bytes: ...


class Stroke(NamedTuple):
    points: Sequence[Point]
    colour: str
    width: float
    dash: str = ""  # as in SVG: "4 3"
    opacity: float = 1.0


class Dot(NamedTuple):
    at: Point
    radius: float
    colour: str


class Word(NamedTuple):
    at: Point
    text: str
    colour: str
    size: float = 11
    anchor: Literal["start", "middle", "end"] = "middle"
    bold: bool = False


@dataclass(frozen=True)
class Sketch:
    """Strokes lie below dots, dots below words; y grows downwards."""

    width: float
    height: float
    strokes: Sequence[Stroke] = ()
    dots: Sequence[Dot] = ()
    words: Sequence[Word] = ()

    def svg(self) -> str:
        # One path for all strokes of a style: a graph of hundreds of nodes stays a few kilobytes.
        paths: dict[tuple, list[str]] = defaultdict(list)
        for stroke in self.strokes:
            paths[stroke[1:]].append("M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in stroke.points))
        circles: dict[str, list[str]] = defaultdict(list)
        for (x, y), radius, colour in self.dots:
            circles[colour].append(f'<circle cx="{_short(x)}" cy="{_short(y)}" r="{_short(radius)}"/>')
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_short(self.width)} {_short(self.height)}" '
            f'width="{_short(self.width)}" height="{_short(self.height)}">',
            f'<rect width="100%" height="100%" fill="{PAPER}"/>',
        ]
        for (colour, width, dash, opacity), moves in paths.items():
            style = f' stroke-dasharray="{dash}"' * bool(dash) + f' stroke-opacity="{opacity:g}"' * (opacity < 1)
            parts.append(
                f'<path d="{"".join(moves)}" fill="none" stroke="{colour}" stroke-width="{_short(width)}"'
                f' stroke-linecap="round" stroke-linejoin="round"{style}/>'
            )
        for colour, marks in circles.items():
            parts.append(f'<g fill="{colour}" stroke="{PAPER}" stroke-width="0.8">{"".join(marks)}</g>')
        for (x, y), text, colour, size, anchor, bold in self.words:
            weight = ' font-weight="700"' if bold else ""
            parts.append(
                f'<text x="{_short(x)}" y="{_short(y)}" fill="{colour}" font-size="{_short(size)}"{weight}'
                f' text-anchor="{anchor}" dominant-baseline="central" font-family="sans-serif">{escape(text)}</text>'
            )
        return "".join([*parts, "</svg>"])

    def png(self) -> bytes:
        from matplotlib.collections import LineCollection, PatchCollection  # slow to import, and SVG comes without
        from matplotlib.colors import to_rgba
        from matplotlib.figure import Figure
        from matplotlib.patches import Circle

        figure = Figure(figsize=(self.width / 72, self.height / 72), dpi=216)
        figure.set_layout_engine("none")  # the style's own would move the axes
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, self.width), ylim=(self.height, 0))
        axes.axis("off")
        lines = [
            (0, tuple(float(length) / s.width for length in s.dash.split())) if s.dash else "-" for s in self.strokes
        ]
        axes.add_collection(LineCollection(
            [stroke.points for stroke in self.strokes],
            colors=[to_rgba(stroke.colour, stroke.opacity) for stroke in self.strokes],
            linewidths=[stroke.width for stroke in self.strokes], linestyles=lines, capstyle="round", zorder=1,
        ))  # fmt: skip
        circles = [Circle(dot.at, dot.radius) for dot in self.dots]
        colours = [dot.colour for dot in self.dots]
        axes.add_collection(PatchCollection(circles, facecolors=colours, edgecolors=PAPER, linewidths=0.8, zorder=2))
        sides: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
        for (x, y), text, colour, size, anchor, bold in self.words:
            axes.text(
                x, y, text,
                color=colour, fontsize=size * 0.9, ha=sides[anchor], va="center", parse_math=False,
                weight="bold" if bold else "normal", zorder=3,
            )  # fmt: skip
        written = io.BytesIO()
        figure.savefig(written, format="png", facecolor=PAPER, pil_kwargs={"compress_level": 4})
        return written.getvalue()


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
