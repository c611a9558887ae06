"""``graphfnp explain`` with named explainers of single graphs."""

import json
from pathlib import Path

import pytest
from rdkit import Chem

from graphfnp.cli.app import main
from graphfnp.runs.run import Plan, Run, execute
from tiny_graphs import TINY_TRAINING, small


def run_command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code in (0, None), stop.value.code


def test_explain_writes_masks_and_drawings(tiny_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run_command(
        "explain", str(tiny_run.folder), "ba2motifs", "--explainer", "gnn-explainer", "--rows", "3,1",
        "--out", str(tmp_path), "--json",
    )  # fmt: skip
    printed = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "explanations.json").read_text()) == printed
    assert [record["row"] for record in printed] == [3, 1]
    assert all(0 <= mask <= 1 for record in printed for *_, mask in record["edges"])
    assert len(printed[0]["nodes"]) == 25
    assert (tmp_path / "graph-3.svg").read_text().startswith("<svg")
    page = (tmp_path / "explanation.html").read_text()
    assert page.count("<svg") == 2
    assert "<code>row 3</code>" in page


def test_an_explainer_of_nodes_marks_nodes(tiny_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run_command(
        "explain", str(tiny_run.folder), "ba2motifs", "--explainer", "gstarx", "--rows", "0", "--out", str(tmp_path)
    )
    (record,) = json.loads((tmp_path / "explanations.json").read_text())
    assert 0 < len(record["kept_nodes"]) <= 13
    assert all(record["nodes"][node] > 0 for node in record["kept_nodes"])
    assert "strongest nodes" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["mage", pytest.param("xgnn", marks=pytest.mark.slow)])
def test_a_generator_draws_graphs_of_each_class(
    name: str, tiny_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    run_command("explain", str(tiny_run.folder), "ba2motifs", "--explainer", name, "--out", str(tmp_path), "--json")
    printed = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "generated.json").read_text()) == printed
    assert {record["class"] for record in printed} == {"cycle", "house"}
    assert all(record["nodes"] == len(record["node_types"]) for record in printed)
    page = (tmp_path / "explanation.html").read_text()
    assert page.count("<svg") == len(printed)
    assert all(record["motif"] in page for record in printed)


def test_a_protgnn_run_shows_its_prototypes(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    options = {"split": "random", "limit": 40}
    plan = Plan("ba2motifs", "protgnn", overrides=small("protgnn"), training=TINY_TRAINING, data_options=options)
    run = execute(plan, tmp_path / "run")
    run_command("explain", str(run.folder), "ba2motifs", "--explainer", "protgnn", "--out", str(tmp_path), "--json")
    printed = json.loads(capsys.readouterr().out)
    assert [record["class"] for record in printed] == ["cycle"] * 5 + ["house"] * 5
    assert all(5 <= record["nodes"] <= 10 for record in printed)


@pytest.mark.parametrize("name", ["lime", "centroids"])  # centroids have no graphs to draw
def test_an_unknown_explainer_is_named_with_the_known_ones(
    name: str, tiny_run: Run, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain", str(tiny_run.folder), "ba2motifs", "--explainer", name])
    assert stop.value.code == 2
    told = capsys.readouterr().err.replace("\n", "")
    assert "subgraphx" in told
    assert told.count("centroids") == (name == "centroids")


def test_generated_molecules_are_written_as_smiles(
    data_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    run_command("explain", "bbbp", "CCO", "--explainer", "mage", "--out", str(tmp_path), "--data", str(data_folder))
    shown = "".join(capsys.readouterr().out.split())
    records = json.loads((tmp_path / "generated.json").read_text())
    for record in records:
        molecule = Chem.MolFromSmiles(record["smiles"])
        assert molecule.GetNumAtoms() == record["nodes"]
        assert record["smiles"][:12] in shown


def test_a_salt_without_bonds_has_no_strongest_edges(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run_command("explain", "bbbp", "[Na+].[Cl-]", "--explainer", "gnn-explainer", "--out", str(tmp_path))
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "[Na+]" in line)
    assert line.split()[-1] == "none"


def test_an_empty_smiles_is_refused_in_words(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain", "bbbp", ""])
    assert stop.value.code == 2
    assert "given       no SMILES given" in capsys.readouterr().err
