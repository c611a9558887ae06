"""SubgraphX (Yuan et al. 2021): the connected subgraph of highest Shapley value, found by Monte Carlo tree search."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import comb, isnan, nan, sqrt

import numpy as np
import torch
from torch import Tensor

from graphfnp.explainers.coalition_explainer import CoalitionExplainer
from graphfnp.explainers.coalitions import Filling, Game, Search
from graphfnp.explainers.node_sets import NodeSet, components, from_rows, members, reached, subsets, to_rows
from graphfnp.graphs.packed import Schema
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


DIGITS = 6  # float noise must not choose between subgraphs that are equally good


@dataclass(frozen=True)
class SubgraphXConfig:
    """The published settings (``expand`` is 20 on BA2Motifs). Games of few players are played out exactly."""

    rollouts: int = 20
    exploration: float = 10.0  # c_puct
    min_nodes: int = 5  # a subgraph this small is not cut further
    expand: int = 12  # nodes tried for removal, those of lowest degree first
    samples: int = 100
    radius: int = 4  # players are the nodes up to radius - 1 steps away, as public code counts; the others stay
    sparsity: float = 0.5  # the share of nodes the answer must leave out
    filling: Filling = "auto"  # what a coalition leaves of the graph: see CoalitionExplainer


def subgraphx_settings(schema: Schema | None) -> SubgraphXConfig:
    """The published settings: those of BA2Motifs where degrees are the features (where all nodes are alike, 12)."""
    return SubgraphXConfig(expand=20 if schema is not None and schema.counts_degrees else 12)


class SubgraphX(CoalitionExplainer):
    """The mask is 1 on the nodes of argmax_S Shapley(S) among the connected subgraphs visited, 0 elsewhere."""

    def __init__(self, config: SubgraphXConfig | None = None, seed: int = 0) -> None:
        self.config = config or SubgraphXConfig()
        super().__init__(self.config.filling, seed)

    def search(self, game: Game) -> Search[Tensor]:
        best = yield from TreeSearch(game, self.config, self.seed).run()
        return torch.from_numpy(to_rows([best.nodes], game.num_nodes)[0]).float()


@dataclass(eq=False)
class State:
    """A connected subgraph in the tree."""

    nodes: NodeSet
    children: list["State"] | None = None  # None: not expanded
    visits: int = 0
    reward: float = 0.0  # summed over visits
    score: float = nan  # Shapley value; nan: nobody needed it yet


@dataclass(eq=False)
class TreeSearch:
    """One graph's search. Scores are computed when a choice depends on them, so that many never are."""

    game: Game
    config: SubgraphXConfig
    seed: int = 0
    states: dict[NodeSet, State] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.draws = drawn_coalitions(self.game.num_nodes, self.config.samples, self.seed)
        self.root = self.state(self.game.everyone)

    def run(self) -> Search[State]:
        for _ in range(self.config.rollouts):
            yield from self.rollout()
        limit = max(1, int((1 - self.config.sparsity) * self.game.num_nodes))
        small = [state for state in self.states.values() if state.nodes.bit_count() <= limit]
        small = small or [min(self.states.values(), key=lambda state: state.nodes.bit_count())]
        yield from self.ask_scores(small)
        return max(small, key=lambda state: (state.score, -state.nodes.bit_count()))

    def rollout(self) -> Search[None]:
        """From the whole graph to a small subgraph by a = argmax Q(a) + c R(a) sqrt(sum_b N(b)) / (1 + N(a))."""
        path = [self.root]
        while children := self.children(path[-1]):
            visits = sum(child.visits for child in children)
            if visits:
                yield from self.ask_scores(children)
                path.append(max(children, key=lambda child: self.promise(child, visits)))
            else:
                path.append(children[0])  # all promises are 0 before the first visit
        yield from self.ask_scores(path[-1:])
        for state in path[1:]:
            state.visits += 1
            state.reward += path[-1].score

    def state(self, nodes: NodeSet) -> State:
        return self.states.setdefault(nodes, State(nodes))

    def children(self, state: State) -> list[State]:
        """What is left, connected, when one node goes; a disconnected graph first falls into its parts."""
        if state.children is None:
            state.children = []
            if state.nodes.bit_count() > self.config.min_nodes:
                parts = components(state.nodes, self.game.neighbours)
                parts = parts if len(parts) > 1 else [self.without(state.nodes, node) for node in self.loose(state)]
                state.children = [self.state(nodes) for nodes in dict.fromkeys(parts)]
        return state.children

    def loose(self, state: State) -> list[int]:
        """The nodes to try for removal."""
        nodes, neighbours = state.nodes, self.game.neighbours
        return sorted(members(nodes), key=lambda node: (neighbours[node] & nodes).bit_count())[: self.config.expand]

    def without(self, nodes: NodeSet, node: int) -> NodeSet:
        return max(components(nodes & ~(1 << node), self.game.neighbours), key=int.bit_count)

    def promise(self, child: State, visits: int) -> float:
        mean = child.reward / child.visits if child.visits else 0.0
        return mean + self.config.exploration * child.score * sqrt(visits) / (1 + child.visits)

    def ask_scores(self, states: list[State]) -> Search[None]:
        """Shapley values of the states: each is one player among the nodes around it."""
        open_states = [state for state in states if isnan(state.score)]
        if not open_states:
            return
        everyone, neighbours = self.game.everyone, self.game.neighbours
        pairs = []
        for state in open_states:
            region = reached(state.nodes, neighbours, hops=self.config.radius - 1)
            pairs.append((state, everyone & ~region, predecessors(region & ~state.nodes, self.draws)))
        yield [
            coalition
            for state, always, before in pairs
            for part in before
            for coalition in (part | always, part | always | state.nodes)
        ]
        for state, always, before in pairs:
            state.score = round(shapley_value(self.game.worth.__getitem__, state.nodes, before, always), DIGITS)
