"""Sentences: trees of words."""

from typing import ClassVar

from graphfnp.graphs.structure import Structure
from graphfnp.kinds.plain import PlainGraphs


class Sentences(PlainGraphs):
    """Two words can be a rationale, and it is called by its words."""

    smallest: ClassVar[int] = 2
    largest: ClassVar[int] = 8

    def names(self, structure: Structure) -> dict[str, str | None]:
        return {"words": " ".join(structure.names) or None}
