"""Splits: published sizes and balances, stratification, duplicates."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from rdkit import rdBase

from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.datasets.dataset import PARTS, Split
from graphfnp.datasets.split import (
    balanced_scaffold_split,
    column_split,
    degree_shift_split,
    duplicate_groups,
    duplicate_notes,
    random_split,
    scaffold_of,
    scaffold_split,
)
from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.packed import PackedGraphs, Schema


def data_file(*parts: str) -> Path:
    path = Path(os.environ.get("GRAPHFNP_DATA", "")).joinpath(*parts)
    if not path.is_file():
        pytest.skip(f"{'/'.join(parts)} is not in the data folder (GRAPHFNP_DATA)")
    return path


def molecules(path: Path, smiles: str, label: str) -> PackedGraphs:
    frame = pd.read_csv(path)
    return graphs_from_smiles(frame[smiles].tolist(), frame[label].tolist())[0]


@pytest.fixture(scope="module")
def bbbp() -> PackedGraphs:
    return molecules(data_file("BBBP", "BBBP.csv"), "smiles", "p_np")


def sizes(split: Split) -> list[int]:
    return [len(getattr(split, part)) for part in PARTS]


def positives(split: Split, y: torch.Tensor) -> list[float]:
    return [round(100 * y[getattr(split, part)].float().mean().item()) for part in PARTS]


# ------------------------------------------------------------------------ random


def test_random_split_keeps_the_balance_of_many_classes_in_every_part():
    y = torch.tensor([0] * 700 + [1] * 250 + [2] * 50)
    split = random_split(y, seed=3)
    assert sizes(split) == [800, 100, 100]
    for part, expected in zip(PARTS, ([560, 200, 40], [70, 25, 5], [70, 25, 5]), strict=True):
        counts = torch.bincount(y[getattr(split, part)], minlength=3)
        assert (counts - torch.tensor(expected)).abs().max() <= 1


def test_random_split_belongs_to_its_seed():
    y = torch.arange(200) % 2
    assert torch.equal(random_split(y, seed=1).test, random_split(y, seed=1).test)
    assert not torch.equal(random_split(y, seed=1).test, random_split(y, seed=2).test)
    assert "seed 1" in random_split(y, seed=1).how


def test_unlabelled_graphs_are_in_no_part():
    y = torch.tensor([0, 1, -1] * 40)
    split = random_split(y)
    assert sum(sizes(split)) == 80
    assert all((y[getattr(split, part)] >= 0).all() for part in PARTS)


def test_groups_are_never_torn_apart():
    groups = torch.arange(300) // 3
    split = random_split(torch.arange(300) % 2, groups=groups, seed=5)
    parts = [set(groups[getattr(split, part)].tolist()) for part in PARTS]
    assert sum(map(len, parts)) == len(set().union(*parts))
    assert sum(sizes(split)) == 300
    assert abs(sizes(split)[0] - 240) <= 3


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 9])
def test_few_graphs_split_without_an_empty_part_where_there_are_three(count):
    split = random_split(torch.zeros(count, dtype=torch.long))
    assert sum(sizes(split)) == count
    assert count < 3 or min(sizes(split)) >= 1


def test_fractions_that_do_not_sum_to_one_are_refused():
    with pytest.raises(InvalidConfig, match="sum 1"):
        random_split(torch.zeros(10, dtype=torch.long), fractions=(0.8, 0.1, 0.2))


# ------------------------------------------------------------------------ scaffold


def test_bbbp_scaffold_split_is_the_published_one(bbbp):
    split = scaffold_split(bbbp.text)
    assert sizes(split) == [1631, 204, 204]
    assert positives(split, bbbp.y) == [84, 41, 53]


def test_bace_scaffold_split_is_the_published_one():
    graphs = molecules(data_file("BACE", "bace.csv.gz"), "mol", "Class")
    split = scaffold_split(graphs.text)
    assert sizes(split) == [1210, 151, 152]
    assert positives(split, graphs.y) == [40, 86, 53]


def test_scaffolds_do_not_cross_parts_and_large_ones_train(bbbp):
    some = bbbp.text[:400]
    for split in (scaffold_split(some), balanced_scaffold_split(some, seed=1)):
        parts = [{scaffold_of(some[i]) for i in getattr(split, part).tolist()} for part in PARTS]
        assert sum(map(len, parts)) == len(set().union(*parts))
        assert "" in parts[0]  # molecules without rings are one large group


def test_balanced_scaffold_split_belongs_to_its_seed():
    rings = [f"C1{'C' * size}C1{'O' * tail}" for size in range(1, 31) for tail in range(1, 3)]
    assert torch.equal(balanced_scaffold_split(rings, 1).test, balanced_scaffold_split(rings, 1).test)
    assert not torch.equal(balanced_scaffold_split(rings, 1).test, balanced_scaffold_split(rings, 2).test)


# ------------------------------------------------------------------------ column and degree shift


def test_column_split_reads_the_usual_names():
    split = column_split(["Train", "valid", "TEST", "val", "validation", "", None, float("nan"), "train "])
    assert [getattr(split, part).tolist() for part in PARTS] == [[0, 8], [1, 3, 4], [2]]


def test_column_split_leaves_unlabelled_rows_out_and_names_unknown_values():
    split = column_split(["train", "train", "valid", "test"], y=torch.tensor([0, -1, 1, 1]))
    assert split.train.tolist() == [0]
    with pytest.raises(InvalidConfig, match="holdout"):
        column_split(["train", "holdout"])
    with pytest.raises(InvalidConfig, match="no training rows"):
        column_split(["test", "test"])


def test_column_without_validation_holds_out_training_rows():
    split = column_split(["train"] * 50 + ["test"] * 10, y=torch.arange(60) % 2)
    assert sizes(split) == [45, 5, 10]
    assert "held out" in split.notes[0]


def trees(node_counts: np.ndarray) -> PackedGraphs:
    """Paths with these numbers of nodes."""
    nodes, edges = torch.as_tensor(node_counts), 2 * (torch.as_tensor(node_counts) - 1)
    steps = [torch.arange(n - 1) for n in nodes.tolist()]
    one_way = torch.cat([torch.stack([step, step + 1]) for step in steps], dim=1)
    both = torch.stack([one_way, one_way.flip(0)], dim=-1).view(2, -1)
    start = torch.zeros(1, dtype=torch.long)
    return PackedGraphs(
        x=torch.zeros(int(nodes.sum()), 1),
        edge_index=both,
        node_ptr=torch.cat([start, nodes.cumsum(0)]),
        edge_ptr=torch.cat([start, edges.cumsum(0)]),
        y=torch.zeros(len(nodes), dtype=torch.long),
        schema=Schema(class_names=("0", "1"), node_width=1),
    )


def test_degree_shift_by_hand():
    split = degree_shift_split(trees(np.array([1, 2, 3, 4, 5, 8, 9, 20, *[12] * 18])))
    assert split.test.tolist() == [2, 3]  # 4/3 and 6/4; a pair (d = 1) has two directed edges: left out
    assert split.validation.tolist() == [6, 7]
    assert split.train.tolist() == list(range(8, 26))


def test_sst2_degree_shift_has_the_published_sizes():
    with gzip.open(data_file("Graph-SST2", "Graph-SST2_node_indicator.txt.gz"), "rt") as file:
        graph = np.loadtxt(file, dtype=np.int64)
    assert sizes(degree_shift_split(trees(np.bincount(graph - 1)))) == [28327, 3147, 12305]


# ------------------------------------------------------------------------ duplicates


def test_bbbp_has_64_duplicates_and_a_random_split_says_so(bbbp):
    groups = duplicate_groups(bbbp)
    assert len(bbbp) - len(groups.unique()) == 64
    noted = duplicate_notes(bbbp, random_split(bbbp.y))
    assert "molecules are in more than one part" in noted.notes[0]
    together = random_split(bbbp.y, groups=groups)
    assert duplicate_notes(bbbp, together).notes == ()
    assert sum(sizes(together)) == len(bbbp)


def test_duplicates_are_the_same_molecule_written_differently():
    graphs, _, _ = graphs_from_smiles(["CCO", "OCC", "C", "N"], y=[0, 0, 1, 1])
    split = Split(torch.tensor([0, 2]), torch.tensor([3]), torch.tensor([1]))
    assert duplicate_notes(graphs, split).notes == ("1 molecule is in more than one part (train and test 1)",)
    with rdBase.BlockLogs():
        assert duplicate_groups(graphs).tolist() == [0, 0, 1, 2]


def test_graphs_without_text_have_no_duplicate_notes():
    graphs = generate_ba2motifs(6)
    assert duplicate_notes(graphs, random_split(graphs.y)).notes == ()


def test_parts_may_be_lists_and_arrays_but_no_masks():
    split = Split([0, 2], np.array([1]), range(3, 5))
    assert [getattr(split, part).tolist() for part in ("train", "validation", "test")] == [[0, 2], [1], [3, 4]]
    assert Split([0], [], []).test.tolist() == []
    for wrong in (torch.tensor([True, False, True]), [0.5, 1.0], [[0, 1]]):
        with pytest.raises(InvalidGraphs, match="as train"):
            Split(wrong, [1], [2])
