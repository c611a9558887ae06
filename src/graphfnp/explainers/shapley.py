"""Shapley values: exact while all coalitions are few, over drawn coalitions otherwise."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import comb

import numpy as np

from graphfnp.explainers.node_sets import NodeSet, from_rows, subsets
from graphfnp.randomness import derive_seed


def drawn_coalitions(num_players: int, num_draws: int, seed: int = 0) -> list[NodeSet]:
    """Those who come before a newcomer when everyone arrives at a uniformly random time.

    That is a random order of the players, cut where the newcomer stands. The newcomer's times are spread evenly over
    the draws, so that coalitions of all sizes are equally frequent. Cut down to fewer players, the sets are random
    arrivals among those: the same draws serve every newcomer, so that newcomers are compared on the same coalitions.
    """
    random = np.random.default_rng(derive_seed(seed, "coalitions"))
    times = (np.arange(num_draws) + random.random(num_draws)) / max(num_draws, 1)
    return from_rows(random.random((num_draws, num_players)) < times[:, None])


def predecessors(others: NodeSet, draws: Sequence[NodeSet]) -> dict[NodeSet, float]:
    """Coalitions of ``others`` that a newcomer may join, with probabilities |T|! (n - |T|)! / (n + 1)!.

    All of them while they are no more than the draws, else the draws.
    """
    count = others.bit_count()
    if 1 << count <= len(draws):
        return {part: 1 / ((count + 1) * comb(count, part.bit_count())) for part in subsets(others)}
    return {part: times / len(draws) for part, times in Counter(map(others.__and__, draws)).items()}


def shapley_value(
    worth: Callable[[NodeSet], float], player: NodeSet, before: dict[NodeSet, float], always: NodeSet = 0
) -> float:
    """sum_T p(T) [v(T + player) - v(T)]; ``player`` may be many nodes that act as one, ``always`` are never absent."""
    return sum(weight * (worth(part | player | always) - worth(part | always)) for part, weight in before.items())
