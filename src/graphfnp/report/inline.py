"""An SVG file as a piece of a page: its own identifiers, the page's colours, a name for those who do not see it."""

import re
from html import escape

from markupsafe import Markup

from graphfnp.report.palette import THEME

VIEW_BOX = re.compile(r"""<svg\b[^>]*?viewBox=(["'])(?P<box>[^"']*)\1[^>]*>(?P<inside>.*)</svg>""", re.DOTALL)
# A style sheet inside an SVG would apply to the whole page; metadata and comments are for nobody here.
DROPPED = re.compile(
    r"<metadata>.*?</metadata>|<style\b.*?</style>|<!--.*?-->|\s(?:class|xml:space)='[^']*'", re.DOTALL
)
IDENTIFIER = re.compile(r"""(\bid=["']|\bhref=["']#|url\(#)""")
COLOUR = re.compile("|".join(THEME), re.IGNORECASE)


def inline_svg(svg: str, name: str, label: str) -> Markup:
    """The drawing as an ``<svg>`` element; its content is the group ``#name``, which ``<use>`` can repeat."""
    found = VIEW_BOX.search(svg)
    assert found is not None, "a drawing without a viewBox"
    inside = DROPPED.sub("", found["inside"])
    inside = IDENTIFIER.sub(rf"\g<1>{name}-", inside)
    inside = COLOUR.sub(lambda colour: THEME[colour[0].lower()], inside)
    opening = f'<svg viewBox="{found["box"]}" role="img" aria-label="{escape(label)}"><g id="{name}">'
    return Markup(f"{opening}{inside.strip()}</g></svg>")
