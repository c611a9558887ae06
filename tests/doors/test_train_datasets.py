"""``graphfnp train`` on every real dataset of the catalogue, with few graphs and a tiny network."""

import json

import pytest

from graphfnp.cli.app import main

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
