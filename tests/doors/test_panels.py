"""Panels at the doors: several models in one pass, one trained for each endpoint, and several SMILES at once."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from run_command import said
from sklearn.multioutput import MultiOutputClassifier

import graphfnp
from graphfnp.chemistry import reading
from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.runs.bundles import open_run
from graphfnp.runs.card import model_card
from graphfnp.runs.panel import endpoint_folders, open_panel, write_panel
from graphfnp.runs.run import PANEL, Run
from graphfnp.scoring import scorer
from graphfnp.scoring.score_file import score_file

NAPHTHALENE = "O=[N+]([O-])c1ccc2ccccc2c1"
SMALL = ["--epochs", "1", "--no-report", "--set", "backbone.width=16", "--set", "decoder.width=16"]


def test_a_file_gets_the_columns_of_each_model_as_it_writes_them_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source = tmp_path / "in.csv"
    source.write_text(f"id,smiles\n1,{NAPHTHALENE}\n2,C1CC\n3,[U]\n")
    _, told = said(capsys, "predict", "bbbp,mutagenicity", source, "-o", tmp_path / "both.parquet", "--workers", "1")
    both = pd.read_parquet(tmp_path / "both.parquet")
    assert both["status"].tolist() == ["ok", "failed", "ok"]
    assert "mutagenicity: U, an element" in both["reason"][2]
    assert "1 of 3 rows could not be read" in told
    for name in ("bbbp", "mutagenicity"):
        said(capsys, "predict", name, source, "-o", tmp_path / f"{name}.parquet")
        alone = pd.read_parquet(tmp_path / f"{name}.parquet").drop(columns=["id", "smiles", "row", "input"])
        own = both[[f"{name}_{column}" for column in alone.columns]].set_axis(alone.columns, axis=1)
        pd.testing.assert_frame_equal(own, alone)
    said(capsys, "predict", "bbbp,mutagenicity", source, "-o", tmp_path / "both.csv")
    assert pd.read_csv(tmp_path / "both.csv")["bbbp_class"].tolist() == [
        *both["bbbp_class"][:1],
        np.nan,
        both["bbbp_class"][2],
    ]


@pytest.mark.parametrize("place", [".", "deeper/.."])
def test_a_model_given_as_the_folder_one_is_in_stands_in_a_panel_by_its_name(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(open_run("bbbp").folder, tmp_path / "mine")
    (tmp_path / "mine/deeper").mkdir()
    (tmp_path / "in.smi").write_text("CCO\n")
    monkeypatch.chdir(tmp_path / "mine")
    said(capsys, "predict", f"{place},mutagenicity", tmp_path / "in.smi", "-o", tmp_path / "out.csv")
    columns = pd.read_csv(tmp_path / "out.csv").columns
    assert {"mine_class", "mutagenicity_class"} <= {*columns}
    assert model_card(Run(Path(place)))["name"] == "mine"


@pytest.mark.parametrize("place", ["bbbp,", ",bbbp", "bbbp, ,mutagenicity"])
def test_an_empty_name_in_a_panel_is_told(place: str) -> None:
    with pytest.raises(InvalidRun, match="in which a name is empty"):
        open_panel(place)


@pytest.mark.parametrize(
    "words", [["--mix", "even"], ["--mix", "training"], ["--mix", "estimate"], ["--weighted"]], ids=" ".join
)
def test_mix_and_weighted_sets_are_for_each_model_what_they_are_for_it_alone(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.json"
    source.write_text(
        "\n".join(["smiles", *("C" * n + end for n in range(1, 13) for end in ("O", "[N+](=O)[O-]")), "x"])
    )
    asked = ["predict", "bbbp,mutagenicity", source, *words]
    _, told = said(capsys, *asked, "-o", tmp_path / "both.parquet")
    both = pd.read_parquet(tmp_path / "both.parquet")
    said(capsys, *asked, "-o", target)
    nested = json.loads(target.read_text())
    shown, _ = said(capsys, *asked)
    for name in ("bbbp", "mutagenicity"):
        _, alone_told = said(capsys, "predict", name, source, *words, "-o", tmp_path / f"{name}.parquet")
        alone = pd.read_parquet(tmp_path / f"{name}.parquet").drop(columns=["smiles", "row", "input"])
        own = both[[f"{name}_{column}" for column in alone.columns]].set_axis(alone.columns, axis=1)
        pd.testing.assert_frame_equal(own, alone)
        assert [one["models"][name]["probability"] for one in nested[:-1]] == alone["probability"][:-1].tolist()
        assert all(f"{100 * one:.1f}%" in shown for one in alone["probability"][:-1])
        mix = alone_told.partition("this label mix: ")[2].split(" sets:")[0].split(" 1 of")[0]
        assert f"{name}: probabilities are for this label mix: {mix}" in told
        assert (f"{name}: sets: weighted for these graphs" in told) == (words == ["--weighted"])


def test_shares_of_classes_go_to_the_models_that_have_them(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    def answers(*words: str) -> tuple[float, float]:
        (one,) = json.loads(said(capsys, "predict", *words, "CCO", "--json")[0])
        return one["models"]["bbbp"]["p(permeable)"], one["models"]["mutagenicity"]["p(mutagen)"]

    usual, moved = answers("bbbp,mutagenicity"), answers("bbbp,mutagenicity", "--mix", "mutagen=0.9")
    assert moved[0] == usual[0]
    (alone,) = json.loads(said(capsys, "predict", "mutagenicity", "CCO", "--json", "--mix", "mutagen=0.9")[0])
    assert moved[1] == alone["p(mutagen)"] > usual[1]
    (tmp_path / "in.csv").write_text("smiles\nCCO\n")
    streamed = ["predict", "bbbp,mutagenicity", tmp_path / "in.csv", "-o", tmp_path / "out.csv"]
    _, told = said(capsys, *streamed, "--mix", "mutagen=0.9")
    written = pd.read_csv(tmp_path / "out.csv")
    assert (written["bbbp_p(permeable)"][0], written["mutagenicity_p(mutagen)"][0]) == moved
    assert "mutagenicity: probabilities are for this label mix: mutagen 90.0 %, nonmutagen 10.0 %" in told
    for mix in ("toxic=0.2", "0.2", "mutagen=0.2,permeable=0.3"):  # of none, of any, of no one model
        _, told = said(capsys, *streamed, "--mix", mix, code=2)
        assert f"{mix!r} for several models" in told
        assert "bbbp: non-permeable, permeable; mutagenicity: mutagen, nonmutagen" in " ".join(
            told.replace("│", "").split()
        )
    assert (
        "mutagenicity: 1 graph to weigh" in said(capsys, "predict", "mutagenicity,bbbp", "CCO", "--weighted", code=2)[1]
    )


def test_one_model_of_a_panel_picks_and_all_answer(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    source = tmp_path / "in.csv"
    source.write_text(f"id,smiles\na,CCO\nb,C1CC\nc,[U]\nd,{NAPHTHALENE}\ne,CCN\n")  # bbbp reads c, mutagenicity not
    asked = ["predict", "bbbp,mutagenicity", source, "--pick", 3, "--find"]
    for name, found in (("mutagenicity", "mutagen"), ("bbbp", "non-permeable")):
        _, told = said(capsys, *asked, f"{name}:{found}", "-o", tmp_path / "both.parquet")
        both = pd.read_parquet(tmp_path / "both.parquet")
        said(capsys, "predict", name, source, "--pick", 3, "--find", found, "-o", tmp_path / "alone.parquet")
        alone = pd.read_parquet(tmp_path / "alone.parquet")
        columns = [one for one in alone.columns if one not in ("id", "smiles", "row", "input")]
        own = both[[f"{name}_{column}" for column in columns]].set_axis(columns, axis=1)
        pd.testing.assert_frame_equal(own, alone[columns])
        assert both[["id", "row"]].equals(alone[["id", "row"]])
        records = json.loads(said(capsys, *asked, f"{name}:{found}", "--json")[0])
        assert [one["row"] for one in records] == both["row"].tolist()
        assert f"{'1 row' if name == 'bbbp' else '2 rows'} could not be read, and could not be picked" in told
    assert both["id"][0] == "c"  # uranium, by the one model that reads it
    assert both["mutagenicity_status"].tolist() == ["failed", "ok", "ok"]
    for words in ([], ["--find", "mutagen"], ["--find", "tox:mutagen"]):
        told = said(capsys, *asked[:5], *words, code=2)[1].replace("│", "")
        assert "--find mutagenicity:nonmutagen, or ask one model by itself" in " ".join(told.split())
    assert "one of non-permeable, permeable" in said(capsys, *asked, "bbbp:mutagen", code=2)[1]


def test_models_that_read_alike_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(texts: list[str], target: reading.Target) -> reading.Read:
        calls.append(len(texts))
        return reading.read_molecules(texts, target)

    monkeypatch.setattr(scorer, "read_molecules", counted)
    (tmp_path / "in.csv").write_text("smiles\nCCO\nCCN\n")
    one = graphfnp.load_model("bbbp")
    score_file({"a": one, "b": one, "c": graphfnp.load_model("mutagenicity")}, tmp_path / "in.csv", tmp_path / "o.csv")
    assert calls == [2, 2]  # once for atoms with features, once for typed atoms


def test_smiles_on_the_command_line_are_answered_in_order(capsys: pytest.CaptureFixture) -> None:
    shown = json.loads(said(capsys, "predict", "bbbp", "CCO", "CCN", "--json")[0])
    assert [record["input"] for record in shown] == ["CCO", "CCN"]
    nested = json.loads(said(capsys, "predict", "bbbp,mutagenicity", "CCO", "CCN", "--json")[0])
    assert [record["models"]["bbbp"]["probability"] for record in nested] == [one["probability"] for one in shown]
    printed, _ = said(capsys, "predict", "bbbp,mutagenicity", "CCO")
    assert "nonmutagen" in printed
    assert said(capsys, "predict", "bbbp", "C" * 300)[0]  # longer than any file's name
    _, told = said(capsys, "predict", "bbbp", "CCO", "bbbp", code=2)
    assert "score each file by itself" in told


def test_one_run_for_each_endpoint_is_a_panel(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    rows = [
        f"{'C' * n}{end},{label},{'' if n % 3 else n % 2}" for n in range(1, 31) for end, label in (("O", 1), ("N", 0))
    ]
    table, folder = tmp_path / "tox.csv", tmp_path / "panel"
    table.write_text("\n".join(["smiles,alcohol,odd", *rows]) + "\n")
    printed, _ = said(capsys, "train", table, "--label", "alcohol,odd", "-o", folder, *SMALL, "--json")
    assert set(json.loads(printed)) == {"alcohol", "odd"}
    split = json.loads((folder / "odd" / "split.json").read_text())
    assert sum(len(split[part]) for part in ("train", "validation", "test")) == 20  # of 60 rows, those with a label
    said(capsys, "train", table, "--label", "alcohol,odd", "-o", folder, *SMALL, "--resume")
    assert list(graphfnp.load_panel(folder)) == ["alcohol", "odd"]
    shown = json.loads(said(capsys, "predict", f"{folder},bbbp", "CCO", "--json")[0])
    assert list(shown[0]["models"]) == ["alcohol", "odd", "bbbp"]
    assert said(capsys, "evaluate", folder / "alcohol", "--json")


def test_what_is_no_panel_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(InvalidConfig, match="two models called bbbp"):
        open_panel("bbbp,bbbp")
    with pytest.raises(InvalidConfig, match="different names"):
        endpoint_folders(["NR AR", "NR-AR"])
    (tmp_path / PANEL).write_text(json.dumps({"format": 1, "endpoints": {"a": "../elsewhere"}}))
    with pytest.raises(InvalidRun, match="a panel of format 1"):
        open_panel(tmp_path)


def test_scikit_learns_multi_output_takes_the_estimator() -> None:
    smiles = ["C" * n + end for n in range(1, 21) for end in ("O", "N")]
    y = np.array([[n % 2, end == "O"] for n in range(1, 21) for end in ("O", "N")], dtype=int)
    model = MultiOutputClassifier(graphfnp.GraphFNPClassifier("vanilla", width=8, epochs=1)).fit(smiles, y)
    found = model.predict_proba(["CCO", "CCN", "CCCO"])
    assert [one.shape for one in found] == [(3, 2), (3, 2)]
    assert model.predict(["CCO"]).shape == (1, 2)


@pytest.mark.parametrize("command", ["evaluate", "report", "rationales"])
def test_what_takes_one_model_names_those_of_a_panel(command: str, tmp_path: Path, capsys) -> None:
    for name in ("a", "b"):
        (tmp_path / "panel" / name).mkdir(parents=True)
        (tmp_path / "panel" / name / "config.json").write_text("{}")
    write_panel(tmp_path / "panel", {"a": "a", "b": "b"})
    _, told = said(capsys, command, tmp_path / "panel", code=2)
    assert "which is a panel of several models" in " ".join(told.replace("│", " ").split())
