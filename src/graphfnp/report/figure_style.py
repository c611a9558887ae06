"""How the report's figures look, and how they become files."""

import io
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from matplotlib import rc_context
from matplotlib.figure import Figure

from graphfnp.report.palette import FAINT, INK, PAPER, SOFT

STYLE: dict[Any, Any] = {
    "font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": SOFT, "xtick.color": SOFT, "ytick.color": SOFT,
    "xtick.labelcolor": INK, "ytick.labelcolor": INK, "axes.spines.top": False, "axes.spines.right": False,
    "axes.linewidth": 0.8, "xtick.major.width": 0.8, "ytick.major.width": 0.8, "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT, "grid.linewidth": 0.7, "legend.frameon": False, "legend.fontsize": 9, "lines.linewidth": 1.8,
    "figure.constrained_layout.use": True, "savefig.dpi": 200, "svg.fonttype": "none", "axes.facecolor": "none",
    "figure.facecolor": "none",
    "text.parse_math": False,  # names come from data: a dollar sign is a dollar sign
}  # fmt: skip

Arguments = ParamSpec("Arguments")


def in_style(make: Callable[Arguments, Figure]) -> Callable[Arguments, Figure]:
    """Make a figure under the report's style, and put the global style back."""

    @wraps(make)
    def styled(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        with rc_context(STYLE):
            figure = make(*args, **kwargs)
            layout = figure.get_layout_engine()
            if layout is not None:
                layout.execute(figure)  # once here, not again for each file format
                figure.set_layout_engine("none")
            return figure

    return styled


def figure_svg(figure: Figure, name: str) -> str:
    """The same bytes every time: no date, and identifiers that depend on the name alone."""
    written = io.StringIO()
    with rc_context({**STYLE, "svg.hashsalt": name}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None}, facecolor=PAPER)
    return written.getvalue()


def figure_png(figure: Figure) -> bytes:
    written = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(written, format="png", facecolor=PAPER, pil_kwargs={"compress_level": 4})
    return written.getvalue()


def short_name(name: str, longest: int = 20) -> str:
    """A name that leaves room for the figure itself."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
