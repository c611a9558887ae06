"""Undirected edges: the two directions of one."""

from typing import Any

import torch
from torch import Tensor

from graphfnp.graphs.edges import edge_pairs, neighbours_once, pair_mean


def close(given: Tensor, expected: Any, tolerance: float = 1e-5) -> None:
    expected = torch.as_tensor(expected, dtype=given.dtype)
    torch.testing.assert_close(given, expected, atol=tolerance, rtol=0)


def test_two_directions_of_an_edge_have_one_number_and_a_lone_direction_its_own() -> None:
    pair, count = edge_pairs(torch.tensor([[0, 1, 1, 2, 0], [1, 0, 2, 1, 2]]), 3)
    assert count == 3
    assert pair[0] == pair[1]
    assert pair[2] == pair[3]
    assert len(pair.unique()) == 3
    close(pair_mean(torch.tensor([1.0, 3.0, 5.0, 5.0, 9.0]), pair, count)[pair], [2, 2, 5, 5, 9])


def test_neighbours_stand_once_whichever_way_their_edge_goes_and_a_loop_is_none() -> None:
    edges = torch.tensor([[1, 0, 2, 3, 1, 3], [0, 1, 2, 1, 2, 0]])  # 0 - 1, a loop at 2, 3 -> 1, 1 -> 2, 3 -> 0
    pairs, once = neighbours_once(edges)
    assert pairs.T.tolist() == [[0, 1], [1, 3], [1, 2], [0, 3]]
    assert once.tolist() == [1, 3, 4, 5]
    assert neighbours_once(edges[:, :0])[0].shape == (2, 0)
