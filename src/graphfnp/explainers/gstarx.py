"""GStarX (Zhang et al. 2022): nodes scored by the Hamiache-Navarro value, which knows who can talk to whom."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from torch import Tensor

from graphfnp.explainers.coalition_explainer import CoalitionExplainer
from graphfnp.explainers.coalitions import Filling, Game, Search
from graphfnp.explainers.node_sets import NodeSet, components, connected_sets, members, neighbours_of
from graphfnp.randomness import derive_seed


@dataclass(frozen=True)
class GStarXConfig:
    """The published settings, but for three things.

    tau (.01) is not among them, because the limit of the associated games is exact here. A probability is less that of
    no node, where ``norm_prob`` takes off the mean over test graphs. Games are connected sets, where the public code
    draws nodes anywhere in the graph.
    """

    max_sample_size: int = 10  # nodes of one game; a larger graph is covered by one game around each node
    sparsity: float = 0.5  # the share of nodes the answer must leave out
    filling: Filling = "split"


class GStarX(CoalitionExplainer):
    """Masks are values over the highest value, for the best nodes with a positive value; 0 for the others.

    The worth of a coalition is its probability minus that of no node.
    """

    def __init__(self, config: GStarXConfig | None = None, seed: int = 0) -> None:
        self.config = config or GStarXConfig()
        super().__init__(self.config.filling, seed)

    def search(self, game: Game) -> Search[Tensor]:
        scores = yield from node_scores(game, self.config, self.seed)
        return best_nodes(torch.tensor(scores), self.config.sparsity)


def node_scores(game: Game, config: GStarXConfig, seed: int = 0) -> Search[list[float]]:
    """The value of every node, averaged over the games it takes part in."""
    samples = sampled_nodes(game, config, seed)
    parts = [part for nodes in samples for part in components(nodes, game.neighbours)]
    sets = {part: connected_sets(part, game.neighbours) for part in parts}
    yield [0, *dict.fromkeys(nodes for some in sets.values() for nodes in some)]
    total, count = np.zeros(game.num_nodes), np.zeros(game.num_nodes)
    values = {
        part: hamiache_navarro(lambda nodes: game.worth[nodes] - game.worth[0], some, game.neighbours)
        for part, some in sets.items()
    }
    for part in parts:
        inside = list(members(part))
        total[inside] += values[part]
        count[inside] += 1
    return (total / count).tolist()


def hamiache_navarro(
    worth: Callable[[NodeSet], float], sets: Sequence[NodeSet], neighbours: Sequence[NodeSet]
) -> np.ndarray:
    """The value [nodes of N, ascending] of a game on a connected graph N; ``sets`` are its connected sets, N the last.

    It is the limit of v'(S) = v(S) + tau sum_{j beside S} [v(S + j) - v(S) - v(j)] at the single nodes (Hamiache and
    Navarro 2020), for any small tau. The limit is additive and linear in v, so it is read off the linear functions of v
    that no step changes: v(N), and differences of g_i = E sum_t v(S_t) / |beside S_t|, where S_0 = {i} grows by one
    uniformly random neighbour at a time until it is N. Those that give every additive game back are the value.
    """
    everyone = sets[-1]
    place = {node: k for k, node in enumerate(members(everyone))}
    reach = {nodes: np.zeros(len(place)) for nodes in sets}  # probability to grow through the set, from each start
    for node, k in place.items():
        reach[1 << node][k] = 1.0
    grown, additive = np.zeros(len(place)), np.zeros((len(place), len(place)))  # g of the game, and of [m in S]
    for nodes in sets[:-1]:
        beside = list(members(neighbours_of(nodes, neighbours) & everyone))
        step = reach[nodes] / len(beside)
        for node in beside:
            reach[nodes | 1 << node] += step
        grown += step * worth(nodes)
        additive[[place[node] for node in members(nodes)]] += step
    # Column k of the unknown: weights of all g, which sum to 0, and of v(N), that give the game [m in S] the value
    # [m = k].
    size = len(place)
    equations = np.zeros((size + 1, size + 1))
    equations[:size, :size], equations[:size, size], equations[size, :size] = additive, 1.0, 1.0
    weights = np.linalg.solve(equations, np.eye(size + 1, size))
    return weights.T @ np.append(grown, worth(everyone))


def sampled_nodes(game: Game, config: GStarXConfig, seed: int) -> list[NodeSet]:
    """The nodes of each game: all if they are few, else one connected set grown around every node."""
    count, size = game.num_nodes, config.max_sample_size
    if count <= size:
        return [game.everyone]
    random = Random(derive_seed(seed, "gstarx"))
    return [_grown(1 << node, size, game.neighbours, random) for node in range(count)]


def _grown(nodes: NodeSet, size: int, neighbours: Sequence[NodeSet], random: Random) -> NodeSet:
    """The set with random neighbours until it has the size, or there are none."""
    while nodes.bit_count() < size and (beside := list(members(neighbours_of(nodes, neighbours)))):
        nodes |= 1 << random.choice(beside)
    return nodes


def best_nodes(scores: Tensor, sparsity: float) -> Tensor:
    """[nodes] in [0, 1]: scores over the best, where they are positive and among the share that is kept."""
    scores = scores.round(decimals=6)  # what is nothing but the rounding of a computer is nothing
    kept = min(int((1 - sparsity) * len(scores)), int((scores > 0).sum()))
    if kept == 0:
        return torch.zeros_like(scores).index_fill(
            0, scores.argmax(), 1.0
        )  # nothing speaks for the class: the least bad
    best = scores.argsort(descending=True, stable=True)[:kept]
    return torch.zeros_like(scores).index_copy(0, best, scores[best] / scores.max())
