"""One structure for each rationale: enriched in its class where any candidate is, and not five times the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from graphfnp.decoding.config import DecodingConfig
from graphfnp.decoding.support import Support
from graphfnp.rationales import Structure

SPEAKING = 1e4  # what a structure gains that the model takes for its class; a few dozen is what other things weigh
ENRICHED = 1e3  # what it gains if training graphs of its class hold it more often than the others, beyond chance
INVALID = 1e6  # what a structure that is no molecule loses: it is shown only where there is no other


@dataclass(frozen=True, eq=False)
class Finalists:
    """Structures to choose from, each for a rationale."""

    structures: Sequence[Structure]
    rationale: Tensor  # [structures]
    label: Tensor  # [structures]: the class of the rationale
    score: Tensor  # [structures]: by the model alone
    speaking: Tensor  # [structures]: are the model's odds for the class?
    sound: Tensor  # [structures]: is it a molecule, where it should be one?


def in_data(structure: Structure, label: int, support: Support, config: DecodingConfig) -> float:
    """What training graphs add to a structure's score; much if its enrichment in the class is beyond chance.

    Most if it is for the best of all that were looked up, half of it if it is for a single structure.
    """
    ratio = support.log_odds_ratio(structure, label, config.looked_up)
    alone = support.log_odds_ratio(structure, label)
    return config.data_weight * ratio + ENRICHED / 2 * ((ratio > 0) + (alone > 0))


def chosen(finalists: Finalists, support: Support | None, config: DecodingConfig) -> list[int]:
    """For each rationale the number of a structure: the best of all first, each next one less what it repeats."""
    score = finalists.score + SPEAKING * finalists.speaking - INVALID * ~finalists.sound
    if support is not None:
        pairs = zip(finalists.structures, finalists.label.tolist(), strict=True)
        score = score + torch.tensor([in_data(one, label, support, config) for one, label in pairs])
    best: dict[int, int] = {}
    repeated = torch.zeros_like(score)
    waiting = torch.ones_like(finalists.sound)
    while waiting.any():
        pick = int(torch.where(waiting, score - config.repeat_weight * repeated, -torch.inf).argmax())
        best[int(finalists.rationale[pick])] = pick
        waiting &= finalists.rationale != finalists.rationale[pick]
        same_class = torch.where(waiting & (finalists.label == finalists.label[pick]))[0].tolist()
        for one in same_class:
            alike = overlap(finalists.structures[one], finalists.structures[pick], support)
            repeated[one] = max(float(repeated[one]), alike)
    return [best[rationale] for rationale in sorted(best)]


def overlap(one: Structure, other: Structure, support: Support | None) -> float:
    """How far two structures say the same, in [0, 1]: by the training graphs that hold them, or by their words."""
    if support is not None:
        return support.overlap(one, other)
    words = [{word.lower() for word in structure.names} for structure in (one, other)]
    return len(words[0] & words[1]) / max(1, len(words[0] | words[1]))
