"""Conformal sets: the classes that cannot be ruled out, so that each class is missed no more often than promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

import torch
from torch import Tensor

from graphfnp.errors import InvalidConfig, listed

LEVEL = 0.9  # of the sets given with predictions
ROUNDING = 1e-9  # (n + 1) level should be 9, not just above it, where it is 9
TIE = 1e-6  # equal probabilities of single precision differ by less after a change of label mix and back


@dataclass(frozen=True)
class Conformal:
    """Class-conditional (Mondrian) split conformal sets: P(y in set | y = k) >= level for every class k.

    The scores 1 - p[y] of n held-out graphs of class k have the ceil((n + 1) level)-th smallest as threshold; class k
    is in the set of a graph with 1 - p[k] at or below it. Graphs of one class have to be exchangeable with the held-out
    ones of that class; the label mix may change freely.
    """

    scores: tuple[tuple[float, ...], ...]  # of each class, rising
    held_back: bool = False  # from everything else; if not, the guarantee is approximate
    embedding: Tensor | None = field(default=None, compare=False)  # [graphs, dims] of the scores, class after class

    def thresholds(self, level: float = LEVEL) -> Tensor:
        """[K], infinite for a class with too few held-out graphs, n < level / (1 - level): it is in every set."""
        if not 0 < level < 1:
            raise InvalidConfig(f"level {level:g}", "a level between 0 and 1", "write 0.9 for 90 %")
        ranks = [ceil((len(scores) + 1) * level - ROUNDING) for scores in self.scores]
        found = [
            scores[rank - 1] if rank <= len(scores) else inf for scores, rank in zip(self.scores, ranks, strict=True)
        ]
        return torch.tensor(found, dtype=torch.double)

    def density_ratio(self, embedding: Tensor) -> Tensor | None:
        """[N]: how often such graphs occur where the sets are for, against held-out graphs; None: alike."""
        return None

    def sets(self, probabilities: Tensor, level: float = LEVEL, density_ratio: Tensor | None = None) -> Tensor:
        """bool [N, K]: the classes of each graph's set, for probabilities [N, K]."""
        return 1 - probabilities.double() <= self.thresholds(level) + TIE

    @property
    def guarantee(self) -> str:
        if self.held_back:
            return "holds for every class: fitted on graphs used for nothing else"
        return "approximate: fitted on graphs that the calibration was fitted on too"

    def facts(self, level: float = LEVEL) -> dict[str, Any]:
        """Facts about the sets: how many graphs they were fitted on, and the classes that no set can rule out."""
        always = self.thresholds(level).isinf()
        return {
            "held_out_graphs": [len(scores) for scores in self.scores],
            "classes_in_every_set": torch.where(always)[0].tolist(),
            "guarantee": self.guarantee,
        }

    def notes(self, class_names: Sequence[str], level: float = LEVEL) -> list[str]:
        """A sentence on the classes that are in every set because they have too few held-out graphs."""
        always = self.facts(level)["classes_in_every_set"]
        if not always:
            return []
        needed = ceil(level / (1 - level) - ROUNDING)
        few = listed([f"{class_names[k]!r} has {len(self.scores[k])}" for k in always])
        return [f"every {100 * level:g} % set contains classes with fewer than {needed} held-out graphs: {few}"]

    def to_json(self) -> dict:
        return {"scores": [list(scores) for scores in self.scores], "held_back": self.held_back}

    @classmethod
    def from_json(cls, record: Mapping, embedding: Tensor | None = None) -> "Conformal":
        return cls(tuple(tuple(scores) for scores in record["scores"]), record["held_back"], embedding)


def fit_conformal(
    probabilities: Tensor, y: Tensor, held_back: bool = False, embedding: Tensor | None = None
) -> Conformal:
    """The scores of probabilities [N, K] of graphs with labels [N]; unlabelled ones (-1) are left out."""
    scores, members = 1 - probabilities.double(), [torch.where(y == k)[0] for k in range(probabilities.shape[-1])]
    order = [of_class[scores[of_class, k].argsort(stable=True)] for k, of_class in enumerate(members)]
    rising = tuple(tuple(scores[of_class, k].tolist()) for k, of_class in enumerate(order))
    return Conformal(rising, held_back, None if embedding is None else embedding[torch.cat(order)].float())
