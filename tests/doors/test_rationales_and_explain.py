"""``graphfnp rationales`` and ``graphfnp explain`` by argv."""

import json
from pathlib import Path

import pytest

from graphfnp.cli.app import main
from graphfnp.errors import InvalidConfig
from graphfnp.rationales.config import DecodingConfig
from graphfnp.runs.run import Plan, Run, execute
from tiny_graphs import TINY_TRAINING, small

MOLECULES = ["CCO", "CCCO", "CC(C)O", "OCCO", "CCN", "CCCN", "Nc1ccccc1", "Cc1ccccc1N"] * 5


@pytest.fixture(scope="module")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("molecules")
    rows = [f"{smiles},{'amine' if 'N' in smiles else 'alcohol'}" for smiles in MOLECULES]
    (folder / "small.csv").write_text("\n".join(["smiles,label", *rows]))
    plan = Plan(str(folder / "small.csv"), overrides=small("graphfnp"), training=TINY_TRAINING,
                data_options={"split": "random"})  # fmt: skip
    return execute(plan, folder / "run")


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(one) for one in arguments])
    assert ended.value.code in (0, None)


def test_gallery_of_motifs_has_everything_beside_it(tiny_run: Run, tmp_path: Path) -> None:
    run("rationales", tiny_run.folder, "-o", tmp_path, "--candidates", 6, "--largest", 7, "--other", tiny_run.folder)
    records = json.loads((tmp_path / "rationales.json").read_text())
    assert len(records) == 4
    for record in records:
        assert {"label", "num_nodes", "valid", "smiles", "smarts", "motif", "coverage", "precision"} <= set(record)
        assert {"link_precision", "structure_kernel", "holder_auc", "deletion", "model"} <= set(record)
        assert record["sentence"].startswith("Correlates with ")
        drawing = tmp_path / f"rationale-{record['rationale']}.svg"
        if record["valid"]:
            assert record["structure_kernel"] >= 0.5
            assert record["motif"]
            assert record["stability"] == 1  # the same run finds them again
            assert drawing.exists() == (record["same_as"] is None)
        else:
            assert "no small structure reaches kernel .5" in record["reason"]
            assert not drawing.exists()
    page = (tmp_path / "gallery.html").read_text()
    assert 'src="http' not in page
    assert all(record["motif"] in page for record in records if record["valid"])


def test_other_runs_are_compared_with_a_model_that_came_without_its_data_too(tiny_run: Run, tmp_path: Path) -> None:
    tiny_run.model.save(tmp_path / "alone")
    words = ("--candidates", 6, "--largest", 7, "--other", tiny_run.folder)
    run("rationales", tmp_path / "alone", "-o", tmp_path / "found", *words)
    records = json.loads((tmp_path / "found/rationales.json").read_text())
    assert {record["stability"] for record in records if record["valid"]} == {1}


def test_a_temperature_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="temperature=nan"):
        DecodingConfig(temperature=float("nan"))


@pytest.mark.parametrize("source", ["both", "decoder", "training"])
def test_gallery_of_molecules_names_where_structures_come_from(molecules: Run, tmp_path: Path, source: str) -> None:
    run("rationales", molecules.folder, "-o", tmp_path, "--candidates", 4, "--source", source)
    records = json.loads((tmp_path / "rationales.json").read_text())
    allowed = {"both": {"decoder", "training part"}, "decoder": {"decoder"}, "training": {"training part"}}
    assert {record["source"] for record in records} <= allowed[source]
    drawn = [record for record in records if record["valid"]]
    assert all(record["smiles"] and record["smarts"] for record in drawn)
    assert len((tmp_path / "rationales.smi").read_text().splitlines()) == len(drawn)


def test_explaining_a_smiles_shows_its_rationales(molecules: Run, tmp_path: Path) -> None:
    run("explain", molecules.folder, "Nc1ccccc1", "-o", tmp_path, "--candidates", 4)
    records = json.loads((tmp_path / "explanations.json").read_text())
    assert len(records) == 1
    assert records[0]["input"] == "Nc1ccccc1"
    assert len(records[0]["correlation"]) == 4
    assert len(records[0]["edges"]) == 7
    assert "Nc1ccccc1" in (tmp_path / "explanation.html").read_text()


def test_explaining_rows_of_a_dataset(tiny_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("explain", tiny_run.folder, "ba2motifs", "--rows", "3,700", "-o", tmp_path, "--candidates", 4, "--json")
    records = json.loads(capsys.readouterr().out)
    assert [record["graph"] for record in records] == [3, 700]
    assert (tmp_path / "graph-700.svg").exists()


def test_rows_that_do_not_exist_are_refused(tiny_run: Run) -> None:
    from graphfnp.cli.explain import explain

    with pytest.raises(InvalidConfig, match="numbers from 0 to 999"):
        explain(tiny_run.folder, "ba2motifs", rows="3,1000")
    with pytest.raises(InvalidConfig, match="rationales"):
        explain(tiny_run.folder, "ba2motifs", explainer="oracle")
