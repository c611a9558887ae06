"""The TU format and the JSON edge lists: read right, mended where it is clear how, refused with a reason elsewhere."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest
import torch
from torch_geometric.io import read_tu_data

from graphfnp.datasets.load import load
from graphfnp.datasets.reddit import read_edge_lists
from graphfnp.datasets.tu import TUNames, read_tu
from graphfnp.errors import GraphFNPError, InvalidGraphs, MissingData

# A triangle (nodes 1-3) and a path of two (4-5).
TOY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "1\n-1\n",
}


def folder(path: Path, name: str = "toy", **files: str) -> Path:
    path.mkdir(exist_ok=True)
    for what, text in {**TOY, **files}.items():
        if text is not None:
            (path / f"{name}_{what}.txt").write_bytes(text.encode())
    return path


def test_the_smallest_folder_gives_graphs_with_degrees(tmp_path):
    graphs, notes, *_ = read_tu(folder(tmp_path))
    assert notes == ()
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert graphs.edge_ptr.tolist() == [0, 6, 8]
    assert graphs.x.flatten().tolist() == [2, 2, 2, 1, 1]
    assert graphs.schema.class_names == ("-1", "1")
    assert graphs.y.tolist() == [1, 0]
    assert graphs.undirected


def test_labels_of_nodes_and_edges_are_named_by_the_readme(tmp_path):
    readme = (
        "Node labels:\n\n  6  C\n  8  O\n\nEdge labels:\n\n  1  single\n\nClass labels:\n\t1\tgood\n\nother 7 words\n"
    )
    place = folder(tmp_path, node_labels="6\n8\n6\n6\n8", edge_labels="1\n1\n2\n2\n1\n1\n1\n1", label_readme=readme)
    graphs, *_ = read_tu(place)
    assert graphs.schema.node_types == ("C", "O")
    assert graphs.schema.edge_types == ("single", "type 2")
    assert graphs.schema.class_names == ("-1", "good")
    assert graphs.x.flatten().tolist() == graphs.node_type.tolist() == [0, 1, 0, 0, 1]
    assert graphs.schema.features == "types"
    pairs = dict(zip(map(tuple, graphs.edge_index.T.tolist()[:6]), graphs.edge_attr[:6, 0].tolist(), strict=True))
    assert pairs == {(0, 1): 0, (1, 0): 0, (1, 2): 1, (2, 1): 1, (0, 2): 0, (2, 0): 0}


def test_given_names_come_before_the_readme(tmp_path):
    place = folder(tmp_path, node_labels="0\n1\n0\n0\n1", label_readme="Node labels:\n\t0\tX\n")
    graphs, *_ = read_tu(place, names=TUNames(kind="molecule", nodes={0: "C", 1: "N"}, classes={1: "yes"}))
    assert graphs.schema.node_types == ("C", "N")
    assert graphs.schema.class_names == ("-1", "yes")
    assert graphs.schema.kind == "molecule"


def test_attributes_are_continuous_features_unless_there_are_labels(tmp_path):
    attributes = "0.5, 1\n0, 2\n1e-3, 3\n-4, 4\n0.25, 5\n"
    graphs, *_ = read_tu(folder(tmp_path, node_attributes=attributes))
    assert graphs.schema.node_width == 2
    assert graphs.x[:, 0].tolist() == pytest.approx([0.5, 0, 1e-3, -4, 0.25])
    graphs, notes, *_ = read_tu(folder(tmp_path, node_labels="0\n1\n0\n0\n1"))
    assert graphs.schema.features == "types"
    assert "node attributes left out" in notes[0]


def test_edge_ground_truth_is_kept_with_its_edges(tmp_path):
    graphs, *_ = read_tu(folder(tmp_path, edge_gt="0\n0\n1\n1\n0\n0\n0\n0"))
    assert graphs.edge_index[:, graphs.edge_truth].T.tolist() == [[2, 1], [1, 2]]


@pytest.mark.parametrize(
    ("files", "note"),
    [
        ({"A": TOY["A"].replace("\n", "\r\n"), "graph_labels": "1\r\n-1\r\n"}, None),
        ({"A": TOY["A"].replace(", ", "\t ") + "\n\n  \n"}, None),
        ({"A": "\ufeff" + TOY["A"].replace(", ", ",").rstrip("\n")}, None),
        ({"A": "1, 2\n2, 3\n1, 3\n4, 5\n"}, "4 edges mirrored"),
        ({"A": TOY["A"] + "1, 2\n2, 1\n"}, "2 duplicate edges removed"),
        ({"A": TOY["A"] + "3, 3\n"}, "1 self-loops removed"),
        ({"graph_labels": "1.0\n-1.0\n"}, None),
    ],
)
def test_what_is_meant_is_read(tmp_path, files, note):
    graphs, notes, *_ = read_tu(folder(tmp_path, **files))
    expected, *_ = read_tu(folder(tmp_path, **TOY))
    assert torch.equal(graphs.edge_index, expected.edge_index)
    assert torch.equal(graphs.y, expected.y)
    assert notes == (() if note is None else (note,))


def test_nodes_of_a_graph_need_not_stand_together(tmp_path):
    mixed = {"graph_indicator": "1\n2\n1\n2\n1\n", "A": "1, 3\n3, 1\n3, 5\n5, 3\n1, 5\n5, 1\n2, 4\n4, 2\n"}
    graphs, *_ = read_tu(folder(tmp_path, node_labels="1\n2\n3\n4\n5", **mixed))
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert [graphs.schema.node_types[k] for k in graphs.node_type] == [f"type {k}" for k in (1, 3, 5, 2, 4)]
    assert graphs.edge_ptr.tolist() == [0, 6, 8]


def test_a_zip_and_gzipped_files_read_like_a_folder(tmp_path):
    expected, *_ = read_tu(folder(tmp_path / "plain"))
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as archive:
        for what, text in TOY.items():
            archive.writestr(f"toy/toy_{what}.txt", text)
    (tmp_path / "packed").mkdir()
    for what, text in TOY.items():
        (tmp_path / "packed" / f"toy_{what}.txt.gz").write_bytes(gzip.compress(text.encode()))
    for place in (tmp_path / "toy.zip", tmp_path / "packed"):
        graphs, *_ = read_tu(place)
        assert torch.equal(graphs.edge_index, expected.edge_index)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"A": "1, 2\n2, 9\n"}, r"line 2 of toy_A\.txt: \[2, 9\]"),
        ({"A": "0, 1\n"}, "counted from 1"),
        ({"A": "3, 4\n"}, r"line 1 of toy_A\.txt joins graphs \[1, 2\]"),
        ({"A": "1, 2, 3\n"}, "3 columns"),
        ({"A": "1, 2\n2\n"}, r"toy_A\.txt"),
        ({"A": "1, 2\n2, 1, 1\n"}, r"toy_A\.txt"),
        ({"A": "1, x\n"}, "'x' in line 1"),
        ({"A": "1, 99999999999999999999\n"}, r"toy_A\.txt"),
        ({"A": "1, 2.5\n"}, r"2\.5 in line 1"),
        ({"graph_indicator": "1\n1\n1\n3\n3\n"}, "1 to 2, the number of lines"),
        ({"graph_indicator": "1\n1\n1\n1\n1\n"}, "graphs without nodes: 1"),
        ({"graph_indicator": "0\n0\n0\n1\n1\n"}, "graph numbers 0 to 1"),
        ({"graph_labels": ""}, "empty toy_graph_labels"),
        ({"graph_labels": "0.5\n1.5\n"}, "fractions"),
        ({"node_labels": "0\n1\n"}, "2 lines"),
        ({"edge_labels": "0\n1\n"}, "2 lines"),
        ({"node_attributes": "0.5\nnan\n1\n1\n1\n"}, "NaN"),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path, files, words):
    with pytest.raises(InvalidGraphs, match=words):
        read_tu(folder(tmp_path, **files))


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(MissingData, match=r"no NAME_graph_indicator\.txt"):
        read_tu(tmp_path)
    place = folder(tmp_path / "toy")
    (place / "toy_A.txt").unlink()
    with pytest.raises(MissingData, match=r"no toy_A\.txt"):
        read_tu(place)
    folder(place, "other")
    with pytest.raises(MissingData, match="several datasets"):
        read_tu(place)
    (tmp_path / "file").write_text("x")
    with pytest.raises(MissingData):
        read_tu(tmp_path / "file")


def test_the_reader_agrees_with_that_of_pyg(tmp_path):
    place = folder(
        tmp_path, graph_labels="0\n1\n", node_labels="0\n1\n0\n0\n1\n", edge_labels="0\n0\n1\n1\n0\n0\n1\n1\n"
    )
    ours, *_ = read_tu(place)
    theirs, slices, _ = read_tu_data(str(place), "toy")
    assert torch.equal(ours.x[:, 0], theirs.x.argmax(1))
    assert torch.equal(ours.y, theirs.y)
    assert torch.equal(ours.edge_ptr, slices["edge_index"])
    order = torch.cat([  # PyG sorts by source, PackedGraphs by target
        a + torch.argsort(theirs.edge_index[1, a:b] * 10 + theirs.edge_index[0, a:b])
        for a, b in zip(slices["edge_index"][:-1], slices["edge_index"][1:], strict=True)
    ])  # fmt: skip
    assert torch.equal(ours.edge_index, theirs.edge_index[:, order])
    assert torch.equal(ours.edge_attr[:, 0], theirs.edge_attr[order].argmax(1))


# ------------------------------------------------------------------------ github_stargazers, in both its forms


def test_github_stargazers_is_read_from_a_tu_folder(tmp_path):
    folder(tmp_path / "github_stargazers", "github_stargazers", graph_labels="0\n1\n")
    dataset = load("github", data=tmp_path, download=False)
    assert dataset.graphs.schema.features == "degree"
    assert dataset.graphs.y.tolist() == [0, 1]
    assert "stand_in" not in dataset.facts


def snap(path: Path, edges: object, target: str = "id,target\n0,1\n1,0\n") -> Path:
    path.mkdir(exist_ok=True)
    (path / "git_edges.json").write_text(edges if isinstance(edges, str) else json.dumps(edges))
    (path / "git_target.csv").write_text(target)
    return path


def test_github_stargazers_is_read_from_the_form_of_snap(tmp_path):
    snap(tmp_path / "github_stargazers", {"1": [[0, 1], [1, 2], [2, 2]], "0": [[0, 3], [1, 3], [2, 3]]})
    dataset = load("github", data=tmp_path, download=False)
    assert dataset.graphs.node_ptr.tolist() == [0, 4, 7]
    assert dataset.graphs.x.flatten().tolist() == [1, 1, 1, 3, 1, 2, 1]
    assert dataset.graphs.y.tolist() == [1, 0]
    assert dataset.graphs.undirected
    assert dataset.facts["notes"] == "1 self-loops removed"


@pytest.mark.parametrize(
    ("edges", "target"),
    [
        ("{not json", "id,target\n0,1\n"),
        ("[1, 2]", "id,target\n0,1\n"),
        ({"0": [[0, 1]], "7": [[0, 1]]}, "id,target\n0,1\n"),
        ({"0": [[0, 1]]}, "id,target\n0,1\n5,0\n"),
        ({"0": [[0, 1, 2]]}, "id,target\n0,1\n"),
        ({"0": [0, 1]}, "id,target\n0,1\n"),
        ({"0": [[0, "x"]]}, "id,target\n0,1\n"),
        ({"0": [[0, -1]]}, "id,target\n0,1\n"),
        ({"0": []}, "id,target\n0,1\n"),
        ({"0": [[0, 1]]}, "id,target\n0,one\n"),
        ({"0": [[0, 1]]}, "id,target\n0,5\n"),
        ({"0": [[0, 1]]}, "id,target\n"),
        ({"0": [[0, 1]]}, ""),
    ],
)
def test_bad_edge_lists_are_refused(tmp_path, edges, target):
    with pytest.raises(GraphFNPError):
        read_edge_lists(snap(tmp_path, edges, target), "git_edges.json", "git_target.csv", ("0", "1"))
