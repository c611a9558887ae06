"""Pages of cards: a drawing, a sentence, facts and small drawings on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from graphfnp.graphs.packed import Schema
from graphfnp.report.headline import percent
from graphfnp.report.inline import inline_svg
from graphfnp.report.palette import hue
from graphfnp.report.sketch import Picture


@dataclass(frozen=True)
class Tag:
    text: str
    alert: bool = False


@dataclass(frozen=True)
class Thumb:
    drawing: Markup
    caption: str
    hue: str = ""


@dataclass(frozen=True)
class Card:
    name: str
    heading: str
    drawing: Markup
    hue: str
    sentence: str = ""
    tags: Sequence[Tag] = ()
    code: Sequence[str] = ()
    facts: Sequence[tuple[str, str]] = ()
    thumbs: Sequence[Thumb] = ()


@dataclass(frozen=True)
class Group:
    name: str
    hue: str
    cards: Sequence[Card] = field(default_factory=list)


def grouped(cards: Sequence[Card], labels: Sequence[int], schema: Schema) -> list[Group]:
    """The cards of each class that has any."""
    return [
        Group(name, hue(k), own)
        for k, name in enumerate(schema.class_names)
        if (own := [card for card, label in zip(cards, labels, strict=True) if label == k])
    ]


def drawn(picture: Picture, name: str, label: str, folder: Path | None = None) -> Markup:
    """A picture as a piece of the page and, with a folder, as a file of this name too."""
    svg = picture.svg()
    if folder is not None:
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    return inline_svg(svg, name, label)


def rendered(template: str, **values: Any) -> str:
    """A page of its own: whatever it shows is in it."""
    environment = Environment(
        loader=PackageLoader("graphfnp.report", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["percent"] = percent
    return environment.get_template(template).render(**values)


def write_cards(
    path: Path,
    title: str,
    lead: Sequence[str],
    groups: Sequence[Group],
    footer: str,
    plates: Sequence[Thumb] = (),
    width: int = 360,
    thumbs: int = 4,
    legend: Mapping[str, Sequence[Mapping[str, str]]] | None = None,
) -> Path:
    """One self-contained HTML page; ``legend`` as :func:`graphfnp.report.drawing.legend` has it."""
    page = rendered(
        "gallery.html", title=title, lead=lead, groups=groups, footer=footer, plates=plates, width=width,
        thumbs=thumbs, legend=legend or {},
    )  # fmt: skip
    path.write_text(page, encoding="utf-8", errors="replace")  # a file's name may be no UTF-8
    return path
