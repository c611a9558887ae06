"""Values of games worked by hand: Shapley's, and Hamiache and Navarro's on graphs."""

import numpy as np
import pytest

from graphfnp.explainers.gstarx import hamiache_navarro
from graphfnp.explainers.node_sets import components, connected_sets, members, neighbour_sets, subsets
from graphfnp.explainers.subgraphx import drawn_coalitions, predecessors, shapley_value

CHAIN = neighbour_sets(3, [(0, 1), (1, 2)])


def shapley_values(worth, num_players, draws=None) -> list[float]:
    """The value of every player; exact without draws."""
    everyone = (1 << num_players) - 1
    draws = range(1 << num_players) if draws is None else draws
    return [
        shapley_value(worth, 1 << player, predecessors(everyone & ~(1 << player), draws))
        for player in members(everyone)
    ]


def limit_of_associated_games(worth, num_nodes, neighbours, tau=0.01, steps=20_000) -> np.ndarray:
    """v'(S) = v(S) + tau sum_{j not in S} [v(S + j) - v(S) - v(j)], on parts: the definition, many times over."""
    everyone = (1 << num_nodes) - 1
    sets = list(subsets(everyone))[:-1]
    place = {nodes: k for k, nodes in enumerate(sets)}
    step, parts = np.eye(len(sets)), np.zeros((len(sets), len(sets)))
    for nodes in sets:
        for part in components(nodes, neighbours):
            parts[place[nodes], place[part]] = 1
        for node in members(everyone & ~nodes):
            step[place[nodes], place[nodes | 1 << node]] += tau
            step[place[nodes], place[nodes]] -= tau
            step[place[nodes], place[1 << node]] -= tau
    whole = np.linalg.matrix_power(parts @ step @ parts, steps)
    return (whole @ np.array([worth(nodes) for nodes in sets]))[[place[1 << node] for node in range(num_nodes)]]


def random_game(seed: int):
    values = np.random.default_rng(seed).random(1 << 6)
    return lambda nodes: 0.0 if not nodes else float(values[nodes])


def test_glove_game() -> None:
    """Players 0 and 1 own a left glove, 2 a right one. In 4 of 6 orders 2 is not the first, and makes the pair."""
    assert shapley_values(lambda c: float(bool(c & 0b011) and bool(c & 0b100)), 3) == pytest.approx(
        [1 / 6, 1 / 6, 4 / 6]
    )


def test_unanimity_game_pays_those_needed_alike() -> None:
    assert shapley_values(lambda c: float(c & 0b0111 == 0b0111), 4) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_airport_game_shares_each_stretch_among_those_who_need_it() -> None:
    """Runways of 1, 3, 6 and 10: 1/4; + 2/3; + 3/2; + 4."""
    needs = (1, 3, 6, 10)
    shares = [1 / 4, 1 / 4 + 2 / 3, 1 / 4 + 2 / 3 + 3 / 2, 1 / 4 + 2 / 3 + 3 / 2 + 4]
    assert shapley_values(lambda c: float(max((needs[k] for k in members(c)), default=0)), 4) == pytest.approx(shares)


def test_nodes_that_act_as_one_are_one_player() -> None:
    """In the glove game both left gloves together are a player like the right one, and share its worth equally."""
    value = shapley_value(lambda c: float(bool(c & 0b011) and bool(c & 0b100)), 0b011, predecessors(0b100, range(4)))
    assert value == pytest.approx(1 / 2)


def test_draws_come_near_the_exact_value_and_belong_to_the_seed() -> None:
    def worth(c: int) -> float:
        return (c.bit_count() / 12) ** 2 + 0.3 * float(c & 0b11 == 0b11)

    draws = drawn_coalitions(12, 2000, seed=1)
    assert draws == drawn_coalitions(12, 2000, seed=1) != drawn_coalitions(12, 2000, seed=2)
    exact = [1 / 12 + (0.15 if player < 2 else 0) for player in range(12)]
    assert shapley_values(worth, 12, draws) == pytest.approx(exact, abs=0.02)


def test_predecessors_of_few_players_are_all_with_the_weights_of_shapley() -> None:
    assert predecessors(0b11, range(4)) == pytest.approx({0b11: 1 / 3, 0b10: 1 / 6, 0b01: 1 / 6, 0: 1 / 3})


def test_drawn_coalitions_have_all_sizes_alike() -> None:
    sizes = np.bincount([c.bit_count() for c in drawn_coalitions(4, 20_000)], minlength=5) / 20_000
    assert sizes == pytest.approx([1 / 5] * 5, abs=0.01)


def test_chain_of_three() -> None:
    """The value of end 0 of the chain 0-1-2 is v(N)/4 + v(0)/2 - v(1)/4 + v(01)/4 - v(12)/4.

    A step of association adds tau times
        at 0: v01 - v0 - v1      at 1: v01 + v12 - 2 v1 - v0 - v2      at 01: vN - v01 - v2      at 12: vN - v12 - v0.
    In the expression above these cancel: v01 (1/2 - 1/4 - 1/4), v0 (-1/2 + 1/4 + 1/4), v1 (-1/2 + 2/4),
    v12 (-1/4 + 1/4), v2 (1/4 - 1/4), vN (1/4 - 1/4). So it is the same for v and for the limit; the limit is
    additive, and there it is v(0). By the same token end 2, and as all shares make v(N), the middle gets
    v(N)/2 - v(0)/2 - v(2)/2 + v(1)/2.
    """
    v = {0b001: 3.0, 0b010: 5.0, 0b100: 7.0, 0b011: 11.0, 0b110: 13.0, 0b111: 23.0}
    end = 23 / 4 + 3 / 2 - 5 / 4 + 11 / 4 - 13 / 4
    other = 23 / 4 + 7 / 2 - 5 / 4 + 13 / 4 - 11 / 4
    middle = 23 / 2 - 3 / 2 - 7 / 2 + 5 / 2
    assert hamiache_navarro(v.__getitem__, connected_sets(0b111, CHAIN), CHAIN) == pytest.approx([end, middle, other])


def test_of_what_only_the_whole_chain_earns_the_middle_gets_half() -> None:
    value = hamiache_navarro(lambda c: float(c == 0b111), connected_sets(0b111, CHAIN), CHAIN)
    assert value == pytest.approx([1 / 4, 1 / 2, 1 / 4])


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2), (2, 3), (3, 4)],
        [(0, 1), (0, 2), (0, 3), (0, 4)],
        [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5)],
    ],
    ids=["path", "star", "cycle with a tail"],
)
def test_value_is_the_limit_of_associated_games(edges: list[tuple[int, int]]) -> None:
    count = max(max(edge) for edge in edges) + 1
    neighbours, worth = neighbour_sets(count, edges), random_game(7)
    value = hamiache_navarro(worth, connected_sets((1 << count) - 1, neighbours), neighbours)
    assert value == pytest.approx(limit_of_associated_games(worth, count, neighbours), abs=1e-6)
    assert value.sum() == pytest.approx(worth((1 << count) - 1))


def test_where_all_can_talk_to_all_it_is_the_shapley_value() -> None:
    neighbours = neighbour_sets(5, [(a, b) for a in range(5) for b in range(a)])
    worth = random_game(3)
    value = hamiache_navarro(worth, connected_sets(0b11111, neighbours), neighbours)
    assert value == pytest.approx(shapley_values(worth, 5))


def test_connected_sets_of_a_chain_are_its_stretches() -> None:
    assert connected_sets(0b111, CHAIN) == [0b001, 0b010, 0b100, 0b011, 0b110, 0b111]
