"""Rationales: what a model looks for, as embeddings with labels and as small graphs."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.structure import Structure

Source = Literal["decoder", "training part"]

UNREACHED = 0.6  # with this probability, or a higher one, that nothing is linked, a prediction leans on nothing
NOTHING = "mostly follows the label mix: most draws link no rationale"


@dataclass(frozen=True, eq=False)
class Rationales:
    """R rationales with their classes, and their structures once they are decoded."""

    embedding: Tensor  # [rationales, dims]: mean of z^R
    label: Tensor  # [rationales]: y^R
    structures: tuple[Structure | None, ...] = ()  # [rationales], or empty: not decoded
    class_probability: Tensor | None = None  # [rationales]: of its class, for the decoded graph
    similarity: Tensor | None = None  # [rationales]: kernel between the re-encoded structure and the rationale
    log_odds: Tensor | None = None  # [rationales]: of its class, for the decoded graph, before calibration
    source: tuple[Source, ...] = ()  # [rationales]: where the structure comes from, before it was pruned
    falls_back: bool = True  # where no rationale is linked the label mix answers; False: something else does

    def __post_init__(self) -> None:
        if len(self.embedding) != len(self.label) or len(self.structures) not in (0, len(self.label)):
            raise InvalidGraphs(
                f"{len(self.embedding)} embeddings, {len(self.label)} labels, {len(self.structures)} structures",
                "one of each for every rationale",
                "pass matching lists",
            )

    def __len__(self) -> int:
        return len(self.label)

    def leans_on(self, unreached: float) -> str | None:
        """What to say of a graph that no rationale reaches; None of others, and where something else answers."""
        return NOTHING if self.falls_back and unreached >= UNREACHED else None
