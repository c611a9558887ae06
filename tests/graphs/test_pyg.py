"""Graphs of PyG and NetworkX: what the schema says of them, and the way back."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.datasets.load import load
from graphfnp.errors import InvalidGraphs
from graphfnp.graphs.edges import degree_feature
from graphfnp.graphs.matching import matching
from graphfnp.graphs.networkx_graphs import from_networkx
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pyg import from_data_list, to_data_list

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # 0 - 1 - 2


def path(x=None, y=0, **more) -> Data:
    return Data(x=x, edge_index=PATH, y=y, num_nodes=3, **more)


def one_hot(*numbers: int, size: int = 3) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(numbers), size).float()


def equal(a: PackedGraphs, b: PackedGraphs) -> bool:
    tensors = ("x", "edge_index", "node_ptr", "edge_ptr", "y", "edge_attr", "node_type", "edge_truth")
    return a.schema == b.schema and a.text == b.text and a.undirected == b.undirected and all(
        (getattr(a, n) is None and getattr(b, n) is None) or torch.equal(getattr(a, n), getattr(b, n)) for n in tensors
    )  # fmt: skip


def rich_graphs() -> PackedGraphs:
    data = [path(one_hot(0, 2, 1), y, edge_attr=one_hot(1, 1, 0, 0, size=2)) for y in ("a", "b")]
    graphs = from_data_list(data)
    truth = torch.tensor([True, False] * 4)
    return PackedGraphs.build(
        graphs.x, graphs.edge_index, graphs.node_ptr, graphs.edge_ptr, torch.tensor([1, -1]), graphs.schema,
        graphs.edge_attr, graphs.node_type, truth, ("first", "second"),
    )  # fmt: skip


# ------------------------------------------------------------------------ the schema found


def test_one_hot_and_integer_features_are_types():
    for x in (one_hot(0, 2, 1), torch.tensor([[0], [2], [1]]), torch.tensor([0, 2, 1])):
        graphs = from_data_list([path(x)])
        assert graphs.schema.node_sizes == (3,)
        assert graphs.schema.features == "types"
        assert graphs.x.flatten().tolist() == graphs.node_type.tolist() == [0, 2, 1]


def test_other_floats_are_continuous_and_several_integers_are_columns():
    assert from_data_list([path(torch.rand(3, 4))]).schema.node_width == 4
    columns = from_data_list([path(torch.tensor([[0, 5], [2, 1], [1, 1]]))])
    assert columns.schema.node_sizes == (3, 6)
    assert columns.schema.features == "given"


def test_no_features_means_degrees():
    graphs = from_data_list([path(), path(y=1)])
    assert graphs.schema.features == "degree"
    assert graphs.x.flatten().tolist() == [1, 2, 1] * 2


def test_continuous_edge_features_are_left_out_with_a_warning():
    with pytest.warns(UserWarning, match="continuous edge features"):
        graphs = from_data_list([path(edge_attr=torch.rand(4, 2))])
    assert graphs.edge_attr is None


@pytest.mark.parametrize(
    ("labels", "names", "numbers"),
    [
        ([1, -1, 1], ("-1", "1"), [1, 0, 1]),
        (["toxic", "safe", "safe"], ("safe", "toxic"), [1, 0, 0]),
        ([torch.tensor([7]), torch.tensor([[3]]), torch.tensor(5)], ("3", "5", "7"), [2, 0, 1]),
        ([torch.tensor([1.0]), torch.tensor([float("nan")]), None], ("1",), [0, -1, -1]),
        ([True, False, True], ("0", "1"), [1, 0, 1]),
        ([10, 9, 2], ("2", "9", "10"), [2, 1, 0]),
    ],
)
def test_labels_of_any_kind_become_class_numbers(labels, names, numbers):
    graphs = from_data_list([path(y=label) for label in labels])
    assert graphs.schema.class_names == names
    assert graphs.y.tolist() == numbers


def test_class_names_name_numbers_and_order_words():
    assert from_data_list([path(y=1)], class_names=("no", "yes")).y.tolist() == [1]
    assert from_data_list([path(y="no"), path(y="yes")], class_names=("yes", "no")).y.tolist() == [1, 0]
    named = from_data_list([path(y=-1), path(y=1)], class_names=("no", "yes"))
    assert (named.y.tolist(), named.schema.class_names) == ([0, 1], ("no", "yes"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "empty list"),
        ([path(torch.rand(3, 2)), path()], "no x in graphs 1"),
        ([path(torch.rand(3, 2)), path(torch.rand(3, 5))], "graph 1"),
        ([path(y=torch.tensor([0, 1]))], "one class for each graph"),
        ([path(y=0.5)], "label 0.5"),
        ([Data(edge_index=torch.tensor([[0, 9], [9, 0]]), num_nodes=3)], "edge"),
        ([Data(edge_index=torch.zeros(4, 2, dtype=torch.long), num_nodes=3)], r"shape \(4, 2\)"),
        ([path(torch.tensor([[0.5], [float("nan")], [1.0]]))], "NaN"),
        ([path(torch.tensor([[0], [-2], [1]]))], "-2"),
        ([Data(x=torch.zeros(0, 2))], "without nodes"),
        ([path(torch.tensor([[0], [10**9], [1]]))], r"1000000000 as features(.|\n)*\.float\(\)"),
        ([path(y=1), path(y="1")], "the classes 1, 1"),
        ([path(y=[0, 1])], "one class for each graph"),
        ([path(), None], "a NoneType in place 1"),
        ([HeteroData()], "a HeteroData in place 0"),
        ([Data(x=torch.rand(3, 2), adj_t=torch.eye(3).to_sparse())], "adj_t in place of edge_index in graph 0"),
        ([path(torch.eye(3).to_sparse())], "x of graph 0 as a tensor of torch.sparse_coo"),
        ([path(torch.rand(3, 2) * 1j)], "torch.complex64"),
    ],
)
def test_bad_graphs_are_refused_with_a_reason(data, words):
    with pytest.raises(InvalidGraphs, match=words):
        from_data_list(data)


# ------------------------------------------------------------------------ there and back


@pytest.mark.parametrize("graphs", [generate_ba2motifs(20), rich_graphs()], ids=["ba2motifs", "rich"])
def test_graphs_survive_the_way_to_pyg_and_back(graphs):
    assert equal(from_data_list(to_data_list(graphs)), graphs)


def test_descriptors_survive_the_way_to_pyg_and_back():
    graphs = load(["CCO", "CCN", "CCC"], labels=[0, 1, 0], features="rdkit").graphs
    again = from_data_list(to_data_list(graphs))
    assert equal(again, graphs)
    assert torch.equal(again.descriptors, graphs.descriptors)


def test_a_batch_equals_the_batch_of_pyg():
    graphs = rich_graphs()
    ours = graphs.batch([1, 0])
    theirs = next(iter(DataLoader([to_data_list(graphs)[i] for i in (1, 0)], batch_size=2)))
    for name in ("x", "edge_index", "edge_attr", "batch", "ptr", "y", "node_type"):
        assert torch.equal(getattr(ours, name), theirs[name]), name


class InMemory(InMemoryDataset):
    def __init__(self, data: list[Data], transform=None) -> None:
        super().__init__(transform=transform)
        self.data, self.slices = self.collate(data)


@pytest.mark.parametrize("with_x", [True, False])
def test_an_in_memory_dataset_is_packed_like_its_list(with_x):
    data = [path(one_hot(0, i % 3, 1) if with_x else None, torch.tensor([i % 2])) for i in range(6)]
    dataset = InMemory(data)
    assert equal(load(dataset).graphs, from_data_list(data))
    assert equal(load(dataset[2:5]).graphs, from_data_list(data[2:5]))


def test_the_transform_of_a_dataset_is_applied():
    def shifted(item: Data) -> Data:
        return path(item.x + 0.5, item.y)

    dataset = InMemory([path(one_hot(0, 1, 2), torch.tensor([0]))] * 2, transform=shifted)
    assert load(dataset).graphs.schema.is_continuous


def test_graphs_of_two_schemas_are_not_packed_as_if_their_numbers_meant_the_same():
    x = torch.rand(3, 2)
    first, second = (to_data_list(from_data_list([path(x, y) for y in ys])) for ys in ("ab", "bc"))
    for mixed in (first + second, [*first, path(x, "b")], [path(x, "b"), *first]):
        with pytest.raises(InvalidGraphs, match="another schema"):
            from_data_list(mixed)


def test_features_without_a_column_are_none():
    assert equal(from_data_list([path(torch.zeros(3, 0))]), from_data_list([path()]))


def test_a_graph_alone_is_a_list_of_one():
    assert equal(from_data_list(path(y=1)), from_data_list([path(y=1)]))


@pytest.mark.parametrize("label", [[1], torch.tensor([[1]]), np.array([1]), np.int64(1), True])
def test_a_label_in_a_list_or_an_array_is_that_label(label):
    assert from_data_list([path(y=label)]).schema.class_names == ("1",)


# ------------------------------------------------------------------------ NetworkX


def test_networkx_graphs_get_degrees_both_directions_and_labels():
    graphs = from_networkx([nx.path_graph(3), nx.cycle_graph(4)], ["path", "cycle"])
    assert graphs.undirected
    assert graphs.edge_ptr.tolist() == [0, 4, 12]
    assert torch.equal(graphs.x[:3], degree_feature(PATH, 3))
    assert [graphs.schema.class_names[k] for k in graphs.y] == ["path", "cycle"]


def test_networkx_types_are_named():
    graph = nx.Graph(y=1)
    graph.add_node("a", type="N")
    graph.add_node("b", type="C")
    graph.add_edge("a", "b", type="double")
    packed = from_networkx([graph])
    assert packed.schema.node_types == ("C", "N")
    assert packed.x.flatten().tolist() == [1, 0]
    assert packed.schema.edge_types == ("double",)
    assert packed.edge_attr.tolist() == [[0], [0]]


def test_networkx_self_loops_and_directions_are_kept_once():
    graph = nx.Graph([(0, 0), (0, 1)])
    assert from_networkx([graph]).edge_index.T.tolist() == [[0, 0], [1, 0], [0, 1]]
    directed = from_networkx([nx.DiGraph([(0, 1)])])
    assert not directed.undirected


def test_labels_of_a_shuffled_series_are_those_of_its_order():
    graphs = [nx.path_graph(3), nx.cycle_graph(4), nx.path_graph(5), nx.path_graph(6)]
    labels = pd.Series(["path", "cycle", "path", None], index=[1, 0, 7, 8], dtype="string")
    packed = from_networkx(graphs, labels)
    assert packed.y.tolist() == [1, 0, 1, -1]
    assert packed.schema.class_names == ("cycle", "path")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("features", [torch.tensor([0.5, 2.0]), np.array([0.5, 2.0]), [0.5, 2.0]])
def test_networkx_features_may_be_tensors_or_arrays(features):
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, dict.fromkeys(graph, features), "x")
    assert from_networkx([graph]).x.tolist() == [[0.5, 2.0]] * 3


def test_networkx_attributes_that_no_model_would_see_are_named():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, "red", "colour")
    nx.set_edge_attributes(graph, 0.5, "weight")
    with pytest.warns(UserWarning, match="left out") as told:
        from_networkx([graph])
    assert [str(one.message).split(":")[0] for one in told] == [
        "the node attribute colour of these graphs", "the edge attribute weight of these graphs"
    ]  # fmt: skip
    nx.set_node_attributes(graph, "red", "type")
    nx.set_node_attributes(graph, 1, "x")
    with pytest.warns(UserWarning, match="node attributes colour, type of these"):
        from_networkx([graph])


def test_networkx_types_beside_numbers_do_not_rename_these():
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: {"x": 4, "type": "C"}, 1: {"x": 0, "type": "N"}})
    packed = from_networkx([graph])
    assert packed.x.flatten().tolist() == [4, 0]
    assert len(packed.schema.node_types) == 5


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({0: {"type": "C"}}, "a type of some nodes only"),
        ({0: {"x": 1.0}}, "x of graph 0"),
        ({0: {"x": [1.0]}, 1: {"x": [1.0, 2.0]}, 2: {"x": [1.0]}}, "x of graph 0"),
        ({k: {"x": "C"} for k in range(3)}, "x of graph 0"),
        ({(0, 1): {"type": "single"}}, "a type of some edges only"),
    ],
)
def test_networkx_attributes_of_a_part_of_a_graph_are_refused(attributes, words):
    graph = nx.path_graph(3)
    is_edge = isinstance(next(iter(attributes)), tuple)
    (nx.set_edge_attributes if is_edge else nx.set_node_attributes)(graph, attributes)
    with pytest.raises(InvalidGraphs, match=words):
        from_networkx([graph])


def test_what_is_no_graph_of_networkx_is_named():
    for given, words in (([path()], "a Data"), (nx.path_graph(3), "a int")):
        with pytest.raises(InvalidGraphs, match=words):
            from_networkx(given)


# ------------------------------------------------------------------------ a model's schema


def test_types_and_classes_are_matched_by_name():
    model = Schema(("safe", "toxic"), node_sizes=(3,), node_types=("C", "N", "O"), features="types")
    graph = nx.Graph([("a", "b")], y="toxic")
    nx.set_node_attributes(graph, {"a": "O", "b": "C"}, "type")
    matched = matching(from_networkx([graph]), model)
    assert matched.schema == model
    assert matched.x.flatten().tolist() == [2, 0]
    assert matched.y.tolist() == [1]


def test_class_numbers_match_named_classes():
    model = Schema(("no", "yes"), node_width=2)
    with pytest.warns(UserWarning, match="numbers of the model's classes: 1 is yes"):
        assert matching(from_data_list([path(torch.rand(3, 2), y=1)]), model).y.tolist() == [1]


def test_a_few_graphs_that_look_one_hot_match_a_continuous_model():
    x = one_hot(0, 1, 1, size=2)
    assert torch.equal(matching(from_data_list([path(x)]), Schema(("0", "1"), node_width=2)).x, x)


def test_unlabelled_graphs_match_any_classes():
    matched = matching(from_data_list([path(torch.rand(3, 2), y=None)]), Schema(("a", "b"), node_width=2))
    assert matched.y.tolist() == [-1]


@pytest.mark.parametrize(
    ("graph", "schema", "words"),
    [
        (path(torch.rand(3, 4)), Schema(("0", "1"), node_width=5), "width 4"),
        (path(), Schema(("0", "1"), node_width=5), "without node features"),
        (path(torch.rand(3, 4)), Schema(("0", "1"), node_sizes=(4, 4)), "width 4"),
        (path(torch.tensor([0, 9, 1])), Schema(("0", "1"), node_sizes=(2,), node_types=("a", "b"), features="types"),
         "node types"),
        (path(torch.rand(3, 4), y="other"), Schema(("0", "1"), node_width=4), "labels other"),
        (path(torch.rand(3, 4)), Schema(("0", "1"), node_width=4, edge_sizes=(2,)), "edges without types"),
        (path(torch.ones(3, 2).long()), Schema(("0", "1"), node_sizes=(9, 9), features="molecule"), "molecule"),
    ],
)  # fmt: skip
def test_graphs_that_do_not_fit_a_model_are_refused(graph, schema, words):
    with pytest.raises(InvalidGraphs, match=words):
        matching(from_data_list([graph]), schema)


def test_features_a_degree_model_cannot_see_are_named_in_a_warning():
    model = generate_ba2motifs(2).schema
    with pytest.warns(UserWarning, match="degrees only"):
        assert matching(from_data_list([path(torch.rand(3, 4))]), model).x.flatten().tolist() == [1, 2, 1]


def test_a_batch_is_never_taken_for_one_graph():
    rings = [Data(x=torch.randn(3, 2), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), y=k % 2) for k in range(4)]
    for batches in (DataLoader(rings, batch_size=2), [rings[0], *DataLoader(rings, batch_size=4)]):
        with pytest.raises(InvalidGraphs, match="to_data_list"):
            from_data_list(batches)
    assert len(from_data_list(iter(rings))) == 4
