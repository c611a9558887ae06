"""What reading rows gave: graphs, and for every row that is none a Problem."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from graphfnp.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class Problem:
    """A row that could not become a graph: where it is, what it says, why it was refused."""

    row: int  # 0-based position among the data rows of the source
    given: str
    reason: str


class Read(NamedTuple):
    """The graphs (None: no row is one), the row of each, and the rows that are none."""

    graphs: "PackedGraphs | None"
    rows: "Tensor"  # [graphs]
    problems: tuple[Problem, ...] = ()
