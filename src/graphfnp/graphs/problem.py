"""Problem: a row of an input that is no graph."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A row that could not become a graph: where it is, what it says, why it was refused."""

    row: int  # 0-based position among the data rows of the source
    given: str
    reason: str
