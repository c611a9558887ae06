"""Sketch: a drawing as strokes, dots and words, written as a small SVG."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, NamedTuple, Protocol

from graphfnp.report.palette import PAPER

Point = tuple[float, float]


class Picture(Protocol):
    """Anything the report can show."""

    def svg(self) -> str: ...


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


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
