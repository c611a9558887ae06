"""PackedGraphs: what is refused, and taking graphs out by index arithmetic."""

import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphfnp.errors import InvalidConfig, InvalidGraphs
from graphfnp.graphs.packed import UNLABELLED, Batch, PackedGraphs, Schema, concatenate, side_by_side
from graphfnp.methods.registry import make_classifier
from graphfnp.prediction.predict import TrainedModel, predict
from graphfnp.training.train import train
from tiny_graphs import NUMBERS, TYPED, packed, shapes, small


def build(**changes) -> PackedGraphs:
    """Two graphs of three nodes each, a path and an edge, with some fields changed."""
    fields = {
        "x": torch.zeros(6, 4),
        "edge_index": torch.tensor([[0, 1, 1, 2, 0, 1], [1, 0, 2, 1, 1, 0]]),
        "node_ptr": torch.tensor([0, 3, 6]),
        "edge_ptr": torch.tensor([0, 4, 6]),
        "y": torch.tensor([0, 1]),
        "schema": NUMBERS,
    }
    return PackedGraphs.build(**{**fields, **changes})


def rows(batch: Batch) -> list[tuple]:
    """Every graph of a batch as plain lists, with local node numbers."""
    found = []
    for g in range(batch.num_graphs):
        start, stop = int(batch.ptr[g]), int(batch.ptr[g + 1])
        own = batch.batch[batch.edge_index[0]] == g
        edges = (batch.edge_index[:, own] - start).T.tolist()
        attributes = None if batch.edge_attr is None else batch.edge_attr[own].tolist()
        kinds = None if batch.node_type is None else batch.node_type[start:stop].tolist()
        found.append((batch.x[start:stop].tolist(), edges, attributes, kinds, int(batch.y[g])))
    return found


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_features_that_are_no_numbers_are_refused_with_the_graph_they_are_in(value: float) -> None:
    x = torch.zeros(6, 4)
    x[4, 2] = value
    with pytest.raises(InvalidGraphs, match="NaN or infinite node features in graphs 1"):
        build(x=x)


@pytest.mark.parametrize("node", [3, -1])
def test_an_edge_out_of_range_is_refused_with_its_graph(node: int) -> None:
    edge_index = torch.tensor([[0, 1, 1, 2, 0, node], [1, 0, 2, 1, 1, 0]])
    with pytest.raises(InvalidGraphs, match=rf"edge \[{node}, 0\] in graph 1 of 3 nodes"):
        build(edge_index=edge_index)


def test_a_graph_without_nodes_is_refused_by_number() -> None:
    with pytest.raises(InvalidGraphs, match="graphs without nodes: 1"):
        build(node_ptr=torch.tensor([0, 3, 3, 6]), edge_ptr=torch.tensor([0, 4, 4, 6]), y=torch.tensor([0, 1, 1]))


@pytest.mark.parametrize("label", [3, -2])
def test_a_label_outside_the_classes_is_refused_with_the_classes(label: int) -> None:
    with pytest.raises(InvalidGraphs, match=rf"labels {label}\nexpected: labels 0 to 2 \(ring, path, star\)"):
        build(y=torch.tensor([0, label]))


def test_an_unknown_label_is_allowed() -> None:
    assert build(y=torch.tensor([0, UNLABELLED])).class_counts.tolist() == [1, 0, 0]


@pytest.mark.parametrize("shape", [(6, 3), (6,)])
def test_a_feature_width_other_than_the_schemas_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidGraphs, match=r"expected: \[nodes, 4\]"):
        build(x=torch.zeros(shape))


@pytest.mark.parametrize("value", [4, -1])
def test_a_category_outside_its_values_is_refused(value: int) -> None:
    x = torch.zeros(6, 1, dtype=torch.long)
    x[0] = value
    with pytest.raises(InvalidGraphs, match=r"node feature column 0 with values .*\nexpected: values 0 to 3"):
        build(x=x, schema=replace(TYPED, edge_sizes=()))


def test_a_category_that_is_no_whole_number_is_refused() -> None:
    with pytest.raises(InvalidGraphs, match="whole numbers"):
        build(x=torch.full((6, 1), float("nan")), schema=replace(TYPED, edge_sizes=()))


def test_an_edge_type_outside_its_values_is_refused() -> None:
    edge_attr = torch.tensor([0, 1, 2, 3, 0, 0]).unsqueeze(1)
    with pytest.raises(InvalidGraphs, match="edge feature column 0"):
        build(x=torch.zeros(6, 1, dtype=torch.long), schema=TYPED, edge_attr=edge_attr)


@pytest.mark.parametrize(
    "changes",
    [
        {"y": torch.tensor([0])},
        {"x": torch.zeros(7, 4)},
        {"edge_ptr": torch.tensor([0, 4, 5])},
        {"edge_ptr": torch.tensor([0, 6])},
        {"text": ["only one"]},
        {"node_type": torch.zeros(5, dtype=torch.long)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_lengths_that_do_not_agree_are_refused(changes: dict) -> None:
    with pytest.raises(InvalidGraphs, match="expected"):
        build(**changes)


def test_a_training_set_of_one_class_is_refused() -> None:
    graphs = shapes(12, NUMBERS)
    only = graphs.select(torch.where(graphs.y == 1)[0])
    with pytest.raises(InvalidGraphs, match="at least two classes"):
        train(make_classifier("vanilla", NUMBERS, small("vanilla")), only, graphs)


def test_a_schema_of_one_class_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="two or more classes"):
        make_classifier("vanilla", replace(NUMBERS, class_names=("ring",)), small("vanilla"))


def test_unlabelled_training_graphs_and_an_empty_validation_part_are_refused() -> None:
    graphs = shapes(6, NUMBERS)
    unlabelled = replace(graphs, y=torch.tensor([0, 1, 2, 0, 1, UNLABELLED]))
    for says, parts in {
        "labelled graphs in both parts": (unlabelled, graphs),
        "0 for training, 1 for validation": (graphs, unlabelled),
        "6 training graphs, and none for validation": (graphs, graphs.select([])),
    }.items():
        with pytest.raises(InvalidGraphs, match=re.escape(says)):
            train(make_classifier("vanilla", NUMBERS, small("vanilla")), *parts)


def test_graphs_of_another_feature_width_than_the_models_are_refused_at_prediction() -> None:
    model = TrainedModel(make_classifier("vanilla", NUMBERS, small("vanilla")))
    with pytest.raises(InvalidGraphs, match=r"width 5\nexpected: what the model was trained on: .* width 4"):
        predict(model, shapes(3, replace(NUMBERS, node_width=5)))


# ---------------------------------------------------------------- taking graphs out


def test_edges_are_sorted_by_target_and_carry_their_attributes_along() -> None:
    graphs = build(
        x=torch.zeros(6, 1, dtype=torch.long),
        schema=TYPED,
        edge_index=torch.tensor([[2, 1, 1, 0, 1, 0], [1, 2, 0, 1, 0, 1]]),
        edge_attr=torch.tensor([[1], [1], [0], [0], [2], [2]]),
        edge_truth=torch.tensor([True, True, False, False, False, False]),
    )
    assert graphs.edge_index.T.tolist() == [[1, 0], [0, 1], [2, 1], [1, 2], [1, 0], [0, 1]]
    assert graphs.edge_attr is not None
    assert graphs.edge_attr[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert graphs.edge_truth is not None
    assert graphs.edge_truth.tolist() == [False, False, True, True, False, False]


def test_graphs_know_whether_all_edges_go_both_ways() -> None:
    assert build().undirected
    assert not build(edge_index=torch.tensor([[0, 1, 1, 2, 0, 0], [1, 0, 2, 1, 1, 2]])).undirected


@given(st.lists(st.integers(0, 8), max_size=12))
@settings(max_examples=25, deadline=None)
def test_selecting_then_batching_is_batching_the_selection(index: list[int]) -> None:
    graphs = shapes(9)
    one_by_one = [rows(graphs.batch([i]))[0] for i in index]
    assert rows(graphs.select(index).batch()) == one_by_one
    assert rows(graphs.batch(index)) == one_by_one
    assert rows(graphs.batch().select(torch.tensor(index, dtype=torch.long))) == one_by_one
    assert rows(graphs.batch().select(torch.tensor(index, dtype=torch.long))) == rows(graphs.batch(index))


def test_selection_keeps_text_and_truth_with_their_graph() -> None:
    graphs = replace(shapes(3), text=("ring", "path", "star"))
    graphs = replace(graphs, edge_truth=torch.arange(graphs.edge_index.shape[1]) % 2 == 0)
    chosen = graphs.select([2, 0])
    assert chosen.text == ("star", "ring")
    assert graphs.edge_truth is not None
    assert chosen.edge_truth is not None
    last, first = (graphs.edge_truth[graphs.edge_ptr[g] : graphs.edge_ptr[g + 1]] for g in (2, 0))
    assert torch.equal(chosen.edge_truth, torch.cat([last, first]))


def test_concatenation_is_the_graphs_of_both_in_order() -> None:
    first, second = shapes(4, seed=1), shapes(3, seed=2)
    assert rows(concatenate([first, second]).batch()) == rows(first.batch()) + rows(second.batch())


def test_concatenation_is_directed_as_soon_as_one_part_is() -> None:
    directed = build(edge_index=torch.tensor([[0, 1, 1, 2, 0, 0], [1, 0, 2, 1, 1, 2]]))
    assert not concatenate([build(), directed]).undirected
    assert concatenate([build(), build()]).undirected


def test_side_by_side_holds_the_graphs_of_both() -> None:
    first, second = shapes(4, seed=1).batch(), shapes(3, seed=2).batch()
    assert rows(side_by_side(first, second)) == rows(first) + rows(second)


def test_batches_hold_every_graph_once_and_shuffle_only_with_a_generator() -> None:
    graphs = shapes(11)
    plain = list(graphs.batches(4))
    assert [batch.num_graphs for batch in plain] == [4, 4, 3]
    assert [row for batch in plain for row in rows(batch)] == rows(graphs.batch())
    shuffled = torch.cat(graphs.batch_indices(4, torch.Generator().manual_seed(0)))
    assert shuffled.tolist() != list(range(11))
    assert sorted(shuffled.tolist()) == list(range(11))


def test_node_budget_is_kept_and_a_larger_graph_is_alone() -> None:
    sizes = [3, 3, 3, 9, 3, 3, 3]
    graphs = packed([(n, [(0, 1)]) for n in sizes], [0] * 7)
    batches = [index.tolist() for index in graphs.batch_indices(3, node_budget=6)]
    assert batches == [[0, 1], [2], [3], [4, 5], [6]]
    assert [index.tolist() for index in graphs.batch_indices(2, node_budget=100)] == [[0, 1], [2, 3], [4, 5], [6]]


def test_features_reach_a_batch_as_the_network_wants_them() -> None:
    numbers = shapes(2, NUMBERS)
    assert replace(numbers, x=numbers.x.half()).batch().x.dtype == torch.float32
    categories = shapes(2)
    assert replace(categories, x=categories.x.to(torch.uint8)).batch().x.dtype == torch.long


def test_a_schema_says_how_wide_its_features_are() -> None:
    assert (NUMBERS.num_columns, NUMBERS.is_continuous) == (4, True)
    assert (TYPED.num_columns, TYPED.is_continuous, TYPED.num_classes) == (1, False, 3)
    assert Schema(("a", "b"), node_sizes=(3, 2)).num_columns == 2
