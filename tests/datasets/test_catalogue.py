"""The catalogue: every dataset that is here has the counts its source states, and load takes nearly anything."""

import json
import os
from pathlib import Path

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

from graphfnp.cli.data import data_app
from graphfnp.datasets.catalogue import CATALOGUE
from graphfnp.datasets.dataset import PARTS, Dataset, Split
from graphfnp.datasets.forms import public_form
from graphfnp.datasets.load import fetch, load
from graphfnp.datasets.tu import amino_and_nitro_edges
from graphfnp.errors import GraphFNPError, InvalidConfig, MissingData

LOADABLE = [name for name in CATALOGUE if name not in ("github", "sst2")]  # sst2 has a file of its own
DATA = os.environ.get("GRAPHFNP_DATA")


def here(name: str, **options) -> Dataset:
    if not CATALOGUE[name.split(":")[0]].place() and name not in ("ba2motifs", "ba2motifs_plain"):
        pytest.skip(f"{name}: its files are not in the folder that GRAPHFNP_DATA names")
    return load(name, download=False, **options)


@pytest.fixture(scope="module")
def loaded() -> dict[str, Dataset]:
    return {}


@pytest.fixture(params=LOADABLE)
def dataset(request: pytest.FixtureRequest, loaded: dict[str, Dataset]) -> Dataset:
    if request.param not in loaded:
        loaded[request.param] = here(request.param)
    return loaded[request.param]


# ------------------------------------------------------------------------ the contract of every row


def test_counts_are_those_of_the_source(dataset):
    entry, graphs = CATALOGUE[dataset.name], dataset.graphs
    loops = sum(int(note.split()[0]) for note in dataset.facts.get("notes", "").splitlines() if "self-loops" in note)
    assert len(graphs) == entry.graphs
    assert len(graphs.x) / len(graphs) == pytest.approx(entry.nodes_mean, abs=0.005)
    assert (graphs.edge_index.shape[1] / 2 + loops) / len(graphs) == pytest.approx(entry.edges_mean, abs=0.006)
    assert tuple(graphs.class_counts.tolist()) == entry.class_counts
    assert graphs.undirected


def test_splits_are_disjoint_whole_and_named(dataset):
    parts = [getattr(dataset.split, part) for part in PARTS]
    assert all(len(part) for part in parts)
    assert torch.cat(parts).sort().values.tolist() == list(range(len(dataset.graphs)))
    assert dataset.split.how.startswith(CATALOGUE[dataset.name].split)


def test_stand_ins_say_so(dataset):
    assert ("stand_in" in dataset.facts) == (dataset.name in ("github_egos", "reddit10k"))


# ------------------------------------------------------------------------ what is special about one


def test_scaffold_splits_have_the_published_sizes_and_balance():
    bbbp, bace = here("bbbp"), here("bace")
    assert [len(getattr(bbbp.split, part)) for part in PARTS] == [1631, 204, 204]
    assert [len(getattr(bace.split, part)) for part in PARTS] == [1210, 151, 152]

    def positives(data: Dataset) -> list[int]:
        return [round(100 * float((data.graphs.y[getattr(data.split, part)] == 1).float().mean())) for part in PARTS]

    assert positives(bbbp) == [84, 41, 53]
    assert positives(bace) == [40, 86, 53]


def test_rows_that_are_no_molecule_stay_in_place(data_folder):
    bbbp = here("bbbp")  # the original file; the one that is downloaded lacks these rows
    assert [problem.row for problem in bbbp.problems] == [59, 61, 391, 614, 642, 645, 646, 647, 648, 649, 685]
    assert len(bbbp.rows) + len(bbbp.problems) == 2050
    assert not set(bbbp.rows.tolist()) & {problem.row for problem in bbbp.problems}


def test_duplicates_across_a_random_split_are_reported_and_can_be_kept_together():
    bbbp = here("bbbp", split="random", seed=3)
    assert "in more than one part" in bbbp.split.notes[0]
    assert here("bbbp", split="random", seed=3, duplicates_together=True).split.notes == ()


def test_balanced_scaffold_splits_follow_the_seed():
    first, again, other = (here("bace", split="random_scaffold", seed=seed).split for seed in (1, 1, 2))
    assert torch.equal(first.test, again.test)
    assert not torch.equal(first.test, other.test)


def test_mutagenicity_names_its_atoms_and_keeps_the_ground_truth():
    graphs = here("mutagenicity").graphs
    schema = graphs.schema
    assert schema.class_names == ("mutagen", "nonmutagen")
    assert (schema.kind, schema.features) == ("molecule", "types")
    assert schema.node_types[:5] == ("C", "O", "Cl", "H", "N")
    assert schema.edge_types == ("single", "double", "triple")
    assert int(graphs.edge_truth.sum()) == 7352
    owner = torch.repeat_interleave(torch.arange(len(graphs)), graphs.edge_ptr.diff())
    explained = owner[graphs.edge_truth].unique()
    assert torch.bincount(graphs.y[explained]).tolist() == [1015, 341]


def test_the_ground_truth_of_mutagenicity_follows_from_the_structure():
    graphs = here("mutagenicity").graphs
    assert torch.equal(amino_and_nitro_edges(graphs), graphs.edge_truth)


def test_the_public_ba2motifs_is_like_the_generated_one():
    public, generated = here("ba2motifs:public").graphs, load("ba2motifs").graphs
    assert public.schema == generated.schema
    assert len(public) == len(generated) == 1000
    assert int(public.edge_truth.sum()) == int(generated.edge_truth.sum()) == 500 * 2 * (5 + 6)
    assert torch.equal(public.y, generated.y)


# ------------------------------------------------------------------------ load


def test_a_tu_folder_of_any_name_loads(tmp_path):
    (tmp_path / "THING" / "raw").mkdir(parents=True)
    for what, text in {
        "A": "1, 2\n2, 1\n3, 4\n4, 3\n",
        "graph_indicator": "1\n1\n2\n2\n",
        "graph_labels": "3\n5\n",
    }.items():
        (tmp_path / "THING" / "raw" / f"THING_{what}.txt").write_text(text)
    by_name = load("tu:THING", data=tmp_path, download=False)
    by_path = load(tmp_path / "THING")
    assert by_name.graphs.schema.class_names == by_path.graphs.schema.class_names == ("3", "5")


def test_moleculenet_names_take_their_columns_from_pyg(tmp_path):
    (tmp_path / "clintox" / "raw").mkdir(parents=True)
    text = "smiles,FDA_APPROVED,CT_TOX\nCCO,1,0\nCCN,0,1\nnope,1,1\nCCC,,0\n"
    (tmp_path / "clintox" / "raw" / "clintox.csv").write_text(text)
    with pytest.raises(InvalidConfig, match="FDA_APPROVED, CT_TOX"):
        load("moleculenet:clintox", data=tmp_path, download=False)
    dataset = load("moleculenet:clintox", data=tmp_path, label="FDA_APPROVED", download=False)
    assert dataset.graphs.y.tolist() == [1, 0, -1]
    assert dataset.rows.tolist() == [0, 1, 3]
    assert [problem.row for problem in dataset.problems] == [2]
    with pytest.raises(InvalidConfig, match="choose one of these names"):
        load("moleculenet:nothing")


@pytest.mark.parametrize("name", ["tu:PROTEINS", "tu:ENZYMES", "moleculenet:hiv", "moleculenet:tox21"])
def test_public_names_have_addresses(name):
    files = public_form(name).files
    assert all(address.startswith("https://") and file in address for file, address in files.addresses.items())


def test_names_cannot_leave_the_folder():
    with pytest.raises(InvalidConfig):
        load("tu:../../secret")


def test_a_table_loads_with_its_columns_named(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(
        "s,y,part\n" + "".join(f"{'C' * (i + 1)},{'ab'[i % 2]},{'train' if i < 8 else 'test'}\n" for i in range(10))
    )
    dataset = load(str(path), smiles="s", label="y")
    assert dataset.graphs.schema.class_names == ("a", "b")
    assert dataset.split.how.startswith("random")
    for split in ("part", "column:part"):
        assert load(path, smiles="s", label="y", split=split).split.test.tolist() == [8, 9]
    given = Split(torch.arange(6), torch.arange(6, 8), torch.arange(8, 10))
    assert load(path, smiles="s", label="y", split=given).split is given
    saved = tmp_path / "split.json"
    saved.write_text(json.dumps(given.to_json()))
    assert load(path, smiles="s", label="y", split=saved).split.train.tolist() == list(range(6))


def test_graphs_in_memory_load():
    networkx = [nx.path_graph(n) if n % 2 else nx.star_graph(n) for n in range(3, 23)]
    dataset = load(networkx, labels=["path" if n % 2 else "star" for n in range(3, 23)])
    assert dataset.graphs.class_counts.tolist() == [10, 10]
    assert load(dataset) is dataset
    assert load(dataset.graphs).graphs is dataset.graphs
    edge = torch.tensor([[0, 1], [1, 0]])
    pyg = load([Data(x=torch.eye(2), edge_index=edge, y=k % 2) for k in range(20)])
    assert [len(getattr(pyg.split, part)) for part in PARTS] == [16, 2, 2]


def test_a_limit_keeps_all_classes():
    dataset = load("ba2motifs", limit=20)
    assert [len(getattr(dataset.split, part)) for part in PARTS] == [20, 20, 20]
    assert dataset.train.class_counts.min() >= 5


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        ("bbpb", {}, "did you mean bbbp"),
        ("no/such/file.csv", {}, "no path that exists"),
        (7, {}, "int"),
        ([], {}, "list"),
        ("ba2motifs", {"split": "scaffold"}, "without SMILES"),
        ("ba2motifs", {"split": "by moon"}, "by moon"),
        ("ba2motifs", {"split": Split(torch.tensor([0]), torch.tensor([1]), torch.tensor([5000]))}, "5000"),
    ],
)
def test_what_cannot_be_loaded_is_explained(source, options, words):
    with pytest.raises(GraphFNPError, match=words):
        load(source, **options)


def test_missing_files_name_their_address_and_place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(MissingData, match=r"github_stargazers\.zip") as caught:
        load("github", data=tmp_path, download=False)
    assert str(tmp_path / "github_stargazers") in str(caught.value)


# ------------------------------------------------------------------------ graphfnp data


def test_data_list_shows_every_row_as_json(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    rows = json.loads(CliRunner().invoke(data_app, ["list", "--json", "--data", str(tmp_path)]).stdout)
    assert [row["name"] for row in rows] == list(CATALOGUE)
    assert {"name", "graphs", "nodes_mean", "edges_mean", "class_counts", "present", "split"} <= set(rows[0])
    assert [row["name"] for row in rows if row["present"]] == ["ba2motifs", "ba2motifs_plain"]


def test_data_list_shows_what_is_here():
    if not DATA:
        pytest.skip("GRAPHFNP_DATA is not set")
    rows = {row["name"]: row for row in json.loads(CliRunner().invoke(data_app, ["list", "--json"]).stdout)}
    assert all(rows[path.name.lower()]["present"] for path in Path(DATA).iterdir() if path.name.lower() in rows)
    table = CliRunner().invoke(data_app, ["list"]).stdout
    assert all(name in table for name in CATALOGUE)
    assert "stand-in" in table


def test_data_fetch_says_where_the_files_are(tmp_path):
    (tmp_path / "MUTAG").mkdir()
    for part in ("A", "graph_indicator", "graph_labels"):
        (tmp_path / "MUTAG" / f"MUTAG_{part}.txt").write_text("")
    assert fetch("mutag", data=tmp_path) == tmp_path / "MUTAG"
    assert fetch("ba2motifs") is None
    result = CliRunner().invoke(data_app, ["fetch", "mutag", "--data", str(tmp_path)])
    assert "MUTAG" in result.stdout
    with pytest.raises(MissingData, match="no known name"):
        fetch("nothing")
