"""``graphfnp train`` on every real dataset of the catalogue, with few graphs and a tiny network."""

import json
from pathlib import Path

import pytest
from run_command import said

from graphfnp.cli.app import main
from graphfnp.cli.commands import usual_folder
from graphfnp.runs.run import Plan

TINY = ["--epochs", "1", "--limit", "40", "--set", "backbone.width=16", "--set", "decoder.width=16"]
TINY += ["--set", "training.finishing_epochs=1", "--set", "training.batch_size=20"]


@pytest.mark.parametrize("name", ["bbbp", "bace", "mutagenicity", "mutag", "github_egos", "reddit10k", "sst2"])
def test_train_writes_measures_and_a_report(name, data_folder, tmp_path):
    if name == "sst2":
        pytest.importorskip("tokenizers", reason="token vectors need the extra graphfnp[text]")
    with pytest.raises(SystemExit) as ended:
        main(["train", name, "--data", str(data_folder), "--out", str(tmp_path / "run"), *TINY])
    assert not ended.value.code
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert 0 <= metrics["accuracy"] <= 1
    page = (tmp_path / "run" / "report.html").read_text()
    assert name in page
    if name in ("github_egos", "reddit10k"):
        assert "tand-in" in page


def test_node_attributes_that_are_not_used_are_said_on_screen(tmp_path: Path, capsys) -> None:
    triangles = range(40)
    edges = [(3 * g + a + 1, 3 * g + b + 1) for g in triangles for a in range(3) for b in range(3) if a != b]
    files = {
        "A": [f"{a}, {b}" for a, b in edges],
        "graph_indicator": [str(g + 1) for g in triangles for _ in range(3)],
        "graph_labels": [str(g % 2) for g in triangles],
        "node_labels": [str(g % 2) for g in triangles for _ in range(3)],
        "node_attributes": ["0.5, 1.5"] * 3 * len(triangles),
    }
    for name, lines in files.items():
        (tmp_path / f"toy_{name}.txt").write_text("\n".join(lines) + "\n")
    tiny = ["--method", "vanilla", "--epochs", "1", "--no-report", "--set", "backbone.width=8"]
    _, told = said(capsys, "train", tmp_path, "-o", tmp_path / "run", *tiny)
    assert "note: node attributes left out: node labels are the features" in told


def test_a_run_without_a_folder_of_its_own_is_in_runs_wherever_the_data_are(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "data" / "MUTAG").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "data")
    expected = {
        str(tmp_path / "data" / "MUTAG"): "MUTAG", "MUTAG/": "MUTAG", "../data/MUTAG": "MUTAG", ".": "data",
        "../data/my.csv": "my", "bbbp": "bbbp", "tu:PROTEINS": "tu-PROTEINS",
    }  # fmt: skip
    for given, name in expected.items():
        assert usual_folder(Plan(given)) == Path(f"runs/{name}-graphfnp-0")
