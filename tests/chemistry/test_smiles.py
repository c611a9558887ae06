"""Molecule graphs: the same features as PyG's, a reason for every bad row, a cache that can be trusted."""

import os
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch_geometric.utils import from_smiles

from graphfnp.chemistry.atoms import ATOM_COLUMNS, TOKENS, read_token
from graphfnp.chemistry.read_smiles import read_molecule
from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema

SOME = [
    "CC(=O)Oc1ccccc1C(=O)O",
    "C[C@H](N)C(=O)[O-]",
    "F/C=C\\F",
    "[O-][N+](=O)c1ccccc1",
    "C#N",
    "[Na+].[Cl-]",
    "c1cc[nH]c1",
]
PYG_HYBRIDISATION = torch.tensor([0, 1, 2, 3, 4, 6, 7, 8])  # PyG leaves out SP2D


@pytest.fixture(scope="module")
def bbbp() -> list[str]:
    path = Path(os.environ.get("GRAPHFNP_DATA", "")) / "BBBP" / "BBBP.csv"
    if not path.is_file():
        pytest.skip("BBBP.csv is not in the data folder (GRAPHFNP_DATA)")
    return pd.read_csv(path)["smiles"].tolist()


def assert_as_pyg(smiles: list[str]) -> None:
    graphs, rows, _ = graphs_from_smiles(smiles)
    assert graphs is not None
    theirs = [from_smiles(smiles[row]) for row in rows.tolist()]
    x = torch.cat([data.x for data in theirs])
    x[:, 6] = PYG_HYBRIDISATION[x[:, 6]]
    assert torch.equal(graphs.x.long(), x)
    assert torch.equal(graphs.edge_index.flip(0), torch.cat([data.edge_index for data in theirs], dim=1))
    edge_attr = torch.cat([data.edge_attr for data in theirs])
    assert torch.equal(graphs.edge_attr[:, 1:].long(), edge_attr[:, 1:])
    kinds = {1: 0, 2: 1, 3: 2, 12: 3}
    assert graphs.edge_attr[:, 0].tolist() == [kinds[kind] for kind in edge_attr[:, 0].tolist()]


def test_features_are_those_of_pyg():
    assert_as_pyg(SOME)


def test_features_of_real_molecules_are_those_of_pyg(bbbp):
    assert_as_pyg(bbbp[::4])


def test_every_bbbp_row_is_a_graph_or_a_problem(bbbp):
    graphs, rows, problems = graphs_from_smiles(bbbp)
    assert len(graphs) == 2039
    assert len(problems) == 11
    assert sorted([*rows.tolist(), *(problem.row for problem in problems)]) == list(range(2050))
    assert graphs.node_ptr[-1] / len(graphs) == pytest.approx(24.06, abs=0.01)
    assert all("valence" in problem.reason for problem in problems)


def test_nitro_group_is_spelled_with_charges():
    graphs, _, _ = graphs_from_smiles(["[O-][N+](=O)c1ccccc1"])
    assert [TOKENS[kind] for kind in graphs.node_type[:3].tolist()] == ["O-", "N+", "O"]
    assert {graphs.schema.edge_types[kind] for kind in graphs.edge_attr[:, 0].tolist()} == {
        "single",
        "double",
        "aromatic",
    }


def test_anything_rdkit_reads_has_a_bin():
    smiles = ["*CC", "[Fe+9]", "[U]", "[Og]", "[2H]O", "[H][H]", "F[Pt](F)(F)(F)(F)F", "C->[Fe]", "[CH3]", "[C]", "C$C"]
    graphs, rows, problems = graphs_from_smiles(smiles)  # build() checks that all values are inside the schema
    assert len(graphs) + len(problems) == len(smiles)
    assert rows.tolist()[:2] == [0, 1]
    assert graphs.x[3, 3] == len(ATOM_COLUMNS[3].values)  # charge 9 is "other"
    assert TOKENS[int(graphs.node_type[3])] == "other"


def test_bad_rows_have_rdkits_reason_and_nothing_is_printed(capfd):
    bad = ["", None, float("nan"), "C1CC", "CN(C)(C)(C)C", "C(", "\ud800", "n1cccc1", "   "]
    graphs, rows, problems = graphs_from_smiles([*bad, "CCO"])
    assert rows.tolist() == [len(bad)]
    assert [problem.row for problem in problems] == list(range(len(bad)))
    reasons = [problem.reason for problem in problems]
    assert reasons[0] == reasons[1] == reasons[2] == reasons[8] == "no SMILES given"
    assert "unclosed ring" in reasons[3]
    assert reasons[4] == "Explicit valence for atom # 1 N, 5, is greater than permitted"
    assert "around position 2" in reasons[5]
    assert "kekulize" in reasons[7]
    assert capfd.readouterr() == ("", "")
    assert graphs.text == ("CCO",)


def test_no_molecule_at_all_gives_no_graphs():
    graphs, rows, problems = graphs_from_smiles(["", "xyz"])
    assert graphs is None
    assert len(rows) == 0
    assert len(problems) == 2
    assert graphs_from_smiles([])[0] is None


def test_labels_follow_their_rows():
    graphs, _, _ = graphs_from_smiles(["C", "bad", "O", "N"], y=[0, 1, 1, -1], schema=molecule_schema(("a", "b")))
    assert graphs.y.tolist() == [0, 1, -1]
    assert graphs.schema.class_names == ("a", "b")


def test_processes_change_nothing(monkeypatch):
    monkeypatch.setattr("graphfnp.chemistry.reading.PIECE", 3)
    smiles = [*SOME, "bad", "CCO"]
    one, rows, problems = graphs_from_smiles(smiles)
    two, rows_two, problems_two = graphs_from_smiles(smiles, processes=2)
    assert problems == problems_two
    assert torch.equal(rows, rows_two)
    for name in ("x", "edge_index", "edge_attr", "node_type", "node_ptr", "edge_ptr"):
        assert torch.equal(getattr(one, name), getattr(two, name))


def test_cache_is_keyed_by_content_and_mends_itself(tmp_path, monkeypatch):
    smiles = [*SOME, "bad"]
    first = graphs_from_smiles(smiles, cache=tmp_path)
    graphs_from_smiles(smiles[:3], cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    with monkeypatch.context() as patch:
        patch.setattr("graphfnp.chemistry.smiles._read", lambda *_: pytest.fail("the cache was not used"))
        again = graphs_from_smiles(smiles, cache=tmp_path)
    assert torch.equal(first[0].x, again[0].x)
    assert first[2] == again[2]
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:100])
    assert torch.equal(graphs_from_smiles(smiles, cache=tmp_path)[0].x, first[0].x)
    assert graphs_from_smiles(smiles, cache=tmp_path)[2] == first[2]


@pytest.mark.parametrize(
    ("name", "atom"), [("C", (6, 0)), ("N+", (7, 1)), ("O-", (8, -1)), ("Ca+2", (20, 2)), ("*", (0, 0))]
)
def test_tokens_name_element_and_charge(name, atom):
    assert read_token(name) == atom


@pytest.mark.parametrize(
    ("text", "letter", "place"),
    [
        ("\u0421c1ccccc1", "cyrillic capital letter es", 1),
        ("c1ccccc1\u0421", "cyrillic capital letter es", 9),
        ("C\u00a0C", "no-break space", 2),
        ("CCO\nCCN", "control character", 4),
        ("CCO\tethanol", "control character", 4),
        ("CCO ethanol", "space", 4),
        ("C\u200bC", "zero width space", 2),
        ("CC\x00O", "control character", 3),
        ("C\ufeff", "zero width no-break space", 2),
        ("\U0001f600", "grinning face", 1),
    ],
)
def test_letters_that_rdkit_would_drop_are_refused_by_name_and_place(text, letter, place):
    _, rows, problems = graphs_from_smiles(["CCO", text])
    assert rows.tolist() == [0]
    assert letter in problems[0].reason
    assert f"position {place}:" in problems[0].reason


def test_an_inchi_is_called_one() -> None:
    assert "an InChI, and SMILES are read" in str(read_molecule("InChI=1S/CH4/h1H4"))


def test_a_cxsmiles_and_a_reaction_are_called_so() -> None:
    refused = {row.given: row.reason for row in graphs_from_smiles(["CCO |$R1;;$|", "CCO>>CC=O", "C>O>N", "CC>"])[2]}
    assert refused["CCO |$R1;;$|"].startswith("a CXSMILES extension after position 3")
    assert all(refused[one].startswith("a reaction") for one in ("CCO>>CC=O", "C>O>N"))
    assert graphs_from_smiles(["Cl[Pt](Cl)<-N", "N->[Pt](Cl)Cl"])[2] == ()
