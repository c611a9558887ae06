"""Which structure is shown: enriched ones first, no repetition for its own sake, one for all that data cannot tell."""

from dataclasses import replace

import pytest
import torch

from graphfnp.datasets.ba2motifs import CYCLE, HOUSE, generate_ba2motifs
from graphfnp.datasets.motifs import motif_name
from graphfnp.datasets.smiles import graphs_from_smiles
from graphfnp.datasets.structures import structures_from_graphs
from graphfnp.decoding.choice import Finalists, chosen, overlap
from graphfnp.decoding.config import DecodingConfig
from graphfnp.decoding.representative import Representatives
from graphfnp.decoding.support import Support
from graphfnp.graphs import PackedGraphs
from graphfnp.rationales import Structure

TRIANGLE = ((0, 1), (1, 2), (0, 2))
SQUARE = ((0, 1), (1, 2), (2, 3), (0, 3))


def plain(*edges: tuple[int, int]) -> Structure:
    return Structure((0,) * (1 + max(map(max, edges))), tuple((min(e), max(e), 0) for e in edges))


@pytest.fixture(scope="module")
def motifs() -> Support:
    return Support.of(generate_ba2motifs(200))


@pytest.mark.parametrize(
    ("edges", "name"),
    [
        (TRIANGLE, "house"),
        (SQUARE, "house"),
        ((*TRIANGLE, (0, 3)), "house"),
        (HOUSE, "house"),
        (CYCLE, "cycle of 5 nodes"),
        ((*CYCLE, (0, 5)), "cycle of 5 nodes"),
        ((*CYCLE, (0, 5), (5, 6)), "cycle of 5 nodes"),
        (((0, 1), (1, 2)), "path of 3 nodes"),  # in all graphs: nothing is told by it
        ((*CYCLE, (0, 5), (1, 6)), "cycle of 5 nodes with 2 more"),  # in no graph
    ],
)
def test_structures_in_the_same_graphs_have_one_representative(motifs: Support, edges: tuple, name: str) -> None:
    assert motif_name(Representatives(motifs, largest=10)(plain(*edges))) == name


def test_representatives_need_enough_graphs() -> None:
    few = Support.of(generate_ba2motifs(40))
    assert motif_name(Representatives(few, largest=10)(plain(*TRIANGLE))) == "cycle of 3 nodes"


@pytest.fixture(scope="module")
def molecules() -> tuple[Support, list[Structure]]:
    smiles = ["Nc1ccccc1", "O=[N+]([O-])c1ccccc1", "CCO", "CCCO"] * 10
    graphs, _, _ = graphs_from_smiles(smiles, y=[0, 0, 1, 1] * 10)
    assert isinstance(graphs, PackedGraphs)
    return Support.of(graphs), structures_from_graphs(graphs.select([0, 1, 2, 3]))


def test_enriched_structures_win_whatever_the_model_prefers(molecules) -> None:
    support, (aniline, _, ethanol, _) = molecules
    finalists = Finalists([ethanol, aniline], torch.tensor([0, 0]), torch.tensor([0, 0]), torch.tensor([9.0, 1.0]),
                          torch.tensor([True, True]), torch.tensor([True, True]))  # fmt: skip
    assert chosen(finalists, support, DecodingConfig()) == [1]
    assert chosen(finalists, None, DecodingConfig()) == [0]
    unsound = replace(finalists, sound=torch.tensor([True, False]))
    assert chosen(unsound, support, DecodingConfig()) == [0]
    silent = replace(finalists, speaking=torch.tensor([True, False]))
    assert chosen(silent, support, DecodingConfig()) == [0]


def test_a_second_rationale_says_something_else_if_that_costs_little(molecules) -> None:
    support, (aniline, nitro, _, _) = molecules
    finalists = Finalists(
        [aniline, nitro, aniline, nitro], torch.tensor([0, 0, 1, 1]), torch.zeros(4, dtype=torch.long),
        torch.tensor([3.0, 1.0, 2.9, 1.0]), torch.ones(4, dtype=torch.bool), torch.ones(4, dtype=torch.bool),
    )  # fmt: skip
    assert chosen(finalists, support, DecodingConfig(repeat_weight=0.0)) == [0, 2]
    assert chosen(finalists, support, DecodingConfig(repeat_weight=3.0)) == [0, 3]
    assert chosen(finalists, support, DecodingConfig(repeat_weight=1.0)) == [0, 2]  # too much worse


def test_overlap_is_of_graphs_or_of_words(molecules) -> None:
    support, (aniline, nitro, ethanol, propanol) = molecules
    assert overlap(aniline, aniline, support) == 1
    assert overlap(aniline, nitro, support) == 0
    assert 0 < overlap(ethanol, propanol, support) < 1
    said = [Structure((0, 0), ((0, 1, 0),), names=names) for names in (("very", "good"), ("Good", "film"))]
    assert overlap(*said, None) == pytest.approx(1 / 3)
