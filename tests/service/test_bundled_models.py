"""Models that come with the package: they are all there, small, described, and answer without data or training."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphfnp.chemistry.read_rows import typed_atoms
from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.cli.app import main
from graphfnp.errors import InvalidRun
from graphfnp.rationales.store import DECODED, load_decoded, save_decoded
from graphfnp.runs.bundles import FOLDER, bundled_names, is_bundled, open_run, own_folder
from graphfnp.runs.bundling import PLANS
from graphfnp.runs.card import CARD, model_card
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.runs.run import Run
from graphfnp.service.client import Client

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A newcomer's folder: no data, no runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHFNP_DATA", str(tmp_path / "no-data"))
    return tmp_path


def said(capsys: pytest.CaptureFixture, *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    out = capsys.readouterr()
    assert end.value.code == 0, out.err
    return out.out


def test_all_planned_models_are_there_and_small() -> None:
    assert set(bundled_names()) == set(PLANS)
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 6e6


@pytest.mark.parametrize("name", sorted(PLANS))
def test_a_bundled_model_has_its_card_its_rationales_and_no_path_of_a_machine(name: str) -> None:
    run = open_run(name)
    card = json.loads((run.folder / CARD).read_text())
    assert card == json.loads(json.dumps(model_card(run)))
    assert card["limits"]
    assert (run.folder / "card.md").read_text().startswith(f"# {name}")
    assert run.model.conformal is not None
    assert run.model.conformal.held_back
    decoded = decoded_of_run(run)
    assert len(decoded.records) == len(decoded.rationales) == 10
    assert decoded.examples is not None
    for path in run.folder.iterdir():
        assert b"/work/" not in path.read_bytes()
        assert b"/home/" not in path.read_bytes()


def test_predict_answers_right_after_the_install(elsewhere: Path, capsys: pytest.CaptureFixture) -> None:
    record = json.loads(said(capsys, "predict", "bbbp", ASPIRIN, "--json"))[0]
    assert record["status"] == "ok"
    assert 0.5 <= record["low"] <= record["probability"] <= record["high"] <= 1
    assert record["nearest"][0]["similarity"] == 1  # it was trained on aspirin


def test_a_model_of_typed_atoms_reads_smiles(elsewhere: Path, capsys: pytest.CaptureFixture) -> None:
    record = json.loads(said(capsys, "predict", "mutagenicity", "O=[N+]([O-])c1ccc2ccccc2c1", "--json"))[0]
    assert record["class"] == "mutagen"
    assert record["nearest"][0]["input"]


def test_rationales_and_explain_need_no_data(elsewhere: Path, capsys: pytest.CaptureFixture) -> None:
    records = json.loads(said(capsys, "rationales", "bbbp", "--json"))
    assert len(records) == 10
    assert (elsewhere / "runs/bbbp/rationales/gallery.html").is_file()
    explained = json.loads(said(capsys, "explain", "bbbp", ASPIRIN, "--json"))
    assert len(explained[0]["correlation"]) == 10
    assert (elsewhere / "runs/bbbp/explanation/explanation.html").is_file()


def test_a_run_of_the_name_comes_first_and_a_folder_of_data_hides_nothing(elsewhere: Path) -> None:
    Path("bbbp").mkdir()
    Path("bbbp", "BBBP.csv").write_text("smiles\nCCO\n")
    assert open_run(Path("bbbp")).folder == FOLDER / "bbbp"
    assert own_folder(open_run("bbbp")) == Path("runs/bbbp")  # never into the installed package
    Path("bbbp", "config.json").write_text("{}")  # a run of the user's, even if it is not finished
    assert not is_bundled(open_run(Path("bbbp")))


def test_an_unknown_name_is_told_which_there_are(elsewhere: Path) -> None:
    with pytest.raises(InvalidRun, match="ba2motifs, bbbp"):
        open_run("nothing")


def test_calibrating_a_bundled_model_asks_for_a_folder(elsewhere: Path) -> None:
    (elsewhere / "my.csv").write_text("smiles,label\nCCO,1\nCCN,0\n")
    with pytest.raises(SystemExit) as end:
        main(["calibrate", "bbbp", "my.csv"])
    assert end.value.code == 2


def test_a_molecule_that_no_rationale_reaches_is_unsure_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["predict", "bbbp", "NC(=O)NO"])  # hydroxyurea
    assert end.value.code in (0, None)
    assert "row 0: mostly follows the label mix" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["predict", "bbbp", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21"])
    assert "mostly follows the label mix" not in capsys.readouterr().out


def test_decoded_rationales_come_back_as_they_were_kept(tmp_path: Path) -> None:
    run = open_run("bbbp")
    decoded = decoded_of_run(run)
    earlier = [{**one, "sentence": "in the words of an earlier version"} for one in decoded.records]
    save_decoded(replace(decoded, records=earlier), tmp_path, {"model": "x"})
    again, key = load_decoded(tmp_path, run.model)
    assert key == {"model": "x"}
    assert again.records == decoded.records  # in the words of now
    for one, kept in zip(again.rationales.structures, decoded.rationales.structures, strict=True):
        assert vars(one) == vars(kept)
    assert again.examples is not None
    assert decoded.examples is not None
    assert again.examples.text == decoded.examples.text
    assert torch.equal(again.examples.edge_index, decoded.examples.edge_index)


def test_a_run_is_decoded_once(tiny_run: Run, tmp_path: Path) -> None:
    import shutil

    copy = Run(Path(shutil.copytree(tiny_run.folder, tmp_path / "copy")))
    first = decoded_of_run(copy)
    written = (copy.folder / DECODED).stat().st_mtime_ns
    again = decoded_of_run(Run(copy.folder))
    assert (copy.folder / DECODED).stat().st_mtime_ns == written
    assert again.records == json.loads(json.dumps(first.records))


def test_typed_atoms_are_those_of_the_molecule() -> None:
    schema = open_run("mutagenicity").model.classifier.schema
    graphs, rows, problems = graphs_from_smiles(["C[N+](=O)[O-]", "[SeH2]", "C1CC", "c1ccccc1"], schema=schema)
    assert rows.tolist() == [0, 3]
    assert [problem.row for problem in problems] == [1, 2]
    assert "Se" in problems[0].reason
    assert graphs is not None
    assert graphs.node_type is not None
    names = [schema.node_types[kind] for kind in graphs.select([0]).node_type.tolist()]
    assert names == ["C", "N", "O", "O", "H", "H", "H"]
    from rdkit import Chem

    without_hydrogens = replace(schema, node_types=tuple(name for name in schema.node_types if name != "H"))
    found = typed_atoms(Chem.MolFromSmiles("CO"), without_hydrogens)
    assert not isinstance(found, str)
    assert found.edges == ((0, 1, 0),)


def test_a_service_that_looks_for_rationales_before_it_answers_says_so(start_server, tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "ba2motifs", tmp_path / "mine", ignore=shutil.ignore_patterns(DECODED))
    running = start_server(model=str(tmp_path / "mine"))
    assert Client(running.address).health()["status"] == "ok"  # it serves, and so knows how to end
    assert running.stop() == 0
    assert "mine has no decoded rationales" in running.said[0]
