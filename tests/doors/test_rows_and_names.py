"""One row number at every door, and the names and columns of the user's own file beside what is said of it."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from rdkit import Chem
from run_command import said

from graphfnp.cli.app import main
from graphfnp.cli.console import err, out

MESSY = (
    "\ufeffID;Name;SMILES;class\nA0;ethanol;CCO;x\nA1;broken;C1CC;x\n\nA3;caffeine;Cn1c(=O)c2c(ncn2C)n(C)c1=O;-5\n\n"
)


@pytest.fixture
def messy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spreadsheet's export: byte order mark, semicolons, a bad row, a blank line, and names."""
    monkeypatch.chdir(tmp_path)
    for console in (out, err):
        monkeypatch.setattr(console, "width", 80)
    (tmp_path / "in.csv").write_text(MESSY, encoding="utf-8")
    return tmp_path / "in.csv"


def test_rows_have_the_same_numbers_on_screen_in_json_and_in_files(messy: Path, capsys) -> None:
    shown, _ = said(capsys, "predict", "bbbp", messy)
    on_screen = [line.split()[0] for line in shown.splitlines() if line.strip()[:1].isdigit()]
    in_json = [(one["row"], one["status"]) for one in json.loads(said(capsys, "predict", "bbbp", messy, "--json")[0])]
    said(capsys, "predict", "bbbp", messy, "-o", "out.csv")
    table = pd.read_csv("out.csv")
    assert in_json == [(0, "ok"), (1, "failed"), (2, "failed"), (3, "ok")]
    assert list(zip(table["row"], table["status"], strict=True)) == in_json
    assert on_screen == ["0", "1", "2", "3"]


def test_explained_row_is_the_row_of_the_file_with_its_name_input_and_reasons(messy: Path, capsys) -> None:
    printed, _ = said(capsys, "explain", "bbbp", messy, "--rows", "3", "--json", "-o", "why")
    (record,) = json.loads(printed)
    assert (record["row"], record["name"]) == (3, "caffeine")
    assert record["input"] == "Cn1c(=O)c2c(ncn2C)n(C)c1=O"
    assert record["rationales"]
    assert record["conformal_set"]
    page = Path("why/explanation.html").read_text()
    assert "caffeine" in page
    assert "90 % set" in page
    assert "in domain" in page


def test_bad_rows_keep_their_place_in_an_explanation(messy: Path, capsys) -> None:
    printed, told = said(capsys, "explain", "bbbp", messy, "--json", "-o", "why")
    assert [(one["row"], one["status"]) for one in json.loads(printed)] == [
        (0, "ok"), (1, "failed"), (2, "failed"), (3, "ok"),
    ]  # fmt: skip
    assert "row 1: 'C1CC'" in told


def test_explanation_says_that_it_shows_fewer_rows_than_there_are(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.smi").write_text("".join(f"{'C' * n}O name{n}\n" for n in range(1, 31)))
    _, told = said(capsys, "explain", "bbbp", "in.smi", "-o", "why")
    assert "24 of 30 rows are explained" in told.replace("\n", " ")


def test_a_file_whose_name_is_no_text_is_explained_and_an_output_called_so_is_refused(messy: Path, capsys) -> None:
    odd = messy.rename(messy.with_name("donn\udce9es.csv"))  # as Latin-1 has it
    said(capsys, "explain", "bbbp", odd, "--rows", 0, "-o", "why")
    assert "donn?es.csv" in Path("why/explanation.html").read_text()
    for target in ("t\udce9.csv", "t\udce9.parquet", "t\udce9.json"):
        _, told = said(capsys, "predict", "bbbp", odd, "-o", target, code=2)
        assert "a name in UTF-8" in told


def test_row_that_is_none_is_refused_with_how_to_count(messy: Path, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["explain", "bbbp", str(messy), "--rows", "4"])
    assert end.value.code == 2
    assert "from 0 to 3" in capsys.readouterr().err


def test_columns_of_the_input_come_first_and_a_clash_is_visible(messy: Path, capsys) -> None:
    _, told = said(capsys, "predict", "bbbp", messy, "-o", "out.csv")
    table = pd.read_csv("out.csv", dtype=str)
    assert list(table.columns[:6]) == ["ID", "Name", "SMILES", "class (input)", "row", "input"]
    assert table["ID"].tolist()[::3] == ["A0", "A3"]
    assert table["class (input)"].tolist()[3] == "-5"  # a number is no formula
    assert table["class"].tolist()[3] == "permeable"
    assert "'class' of the input is called 'class (input)'" in told.replace("\n", " ")
    said(capsys, "predict", "bbbp", messy, "-o", "bare.csv", "--drop-columns")
    assert pd.read_csv("bare.csv").columns[0] == "row"


def test_columns_are_the_same_whether_a_file_is_streamed_or_read_at_once(messy: Path, capsys) -> None:
    pd.DataFrame({"smiles": ["CCO", "C1CC"] * 25, "dose": [1.5, 2.5] * 25}).to_csv("many.csv", index=False)
    said(capsys, "predict", "bbbp", "many.csv", "-o", "streamed.csv")
    said(capsys, "predict", "bbbp", "many.csv", "-o", "at_once.csv", "--mix", "estimate")
    streamed, at_once = (pd.read_csv(name) for name in ("streamed.csv", "at_once.csv"))
    assert list(streamed.columns) == list(at_once.columns)
    assert streamed[["smiles", "dose", "row", "status"]].equals(at_once[["smiles", "dose", "row", "status"]])


def test_parquet_columns_keep_their_types(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = pd.DataFrame({"smiles": ["CCO", "C1CC", "CCN"], "dose": [1.5, None, 2.0], "plate": [1, 2, 3]})
    given.to_parquet("in.parquet")
    said(capsys, "predict", "bbbp", "in.parquet", "-o", "out.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("out.parquet")[list(given.columns)], given)


def test_titles_of_an_sdf_reach_records_and_explanations(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Chem.SDWriter("in.sdf") as writer:
        for name, smiles in (("ethanol", "CCO"), ("caffeine", "Cn1c(=O)c2c(ncn2C)n(C)c1=O")):
            molecule = Chem.MolFromSmiles(smiles)
            molecule.SetProp("_Name", name)
            molecule.SetProp("batch", "7")
            writer.write(molecule)
    records = json.loads(said(capsys, "predict", "bbbp", "in.sdf", "--json")[0])
    assert [record["name"] for record in records] == ["ethanol", "caffeine"]
    assert records[0]["columns"]["batch"] == "7"
    said(capsys, "predict", "bbbp", "in.sdf", "-o", "out.csv")
    assert pd.read_csv("out.csv")["title"].tolist() == ["ethanol", "caffeine"]
    said(capsys, "explain", "bbbp", "in.sdf", "-o", "why")
    assert "caffeine" in Path("why/explanation.html").read_text()


def test_eighty_columns_show_whole_class_names_sets_and_domain(messy: Path, capsys) -> None:
    shown, _ = said(capsys, "predict", "bbbp", messy)
    assert max(map(len, shown.splitlines())) <= 80
    (line,) = [line for line in shown.splitlines() if "caffeine" in line]
    assert "permeable" in line
    assert "in domain" in line
    assert "also possible" in shown


def test_a_set_without_the_class_named_does_not_look_like_both_classes(messy: Path, capsys) -> None:
    words = ("predict", "bbbp", messy, "--mix", "permeable=0.2")
    caffeine = json.loads(said(capsys, *words, "--json")[0])[3]
    assert (caffeine["class"], caffeine["conformal_set"]) == ("non-permeable", ["permeable"])
    (line,) = [line for line in said(capsys, *words)[0].splitlines() if "caffeine" in line]
    assert "only" in line


def test_nothing_is_drawn_where_nothing_is_linked(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (record,) = json.loads(said(capsys, "explain", "bbbp", "NC(=O)NO", "--json", "-o", "why")[0])
    assert record["leans_on"]
    assert Path("why/explanation.html").read_text().count("<svg") == 1  # the input alone


def test_report_shows_names_rows_sets_and_domain_of_the_users_own_file(tmp_path: Path, capsys) -> None:
    chains = [("C" * n + tail, tail) for n in range(1, 31) for tail in ("O", "N")]
    rows = [("broken", "C1CC", "O"), *((f"CPD-{k}", smiles, tail) for k, (smiles, tail) in enumerate(chains))]
    source = tmp_path / "in.csv"
    pd.DataFrame(rows, columns=["Compound ID", "SMILES", "label"]).to_csv(source, sep=";", index=False)
    tiny = ["--epochs", 2, "--set", "backbone.width=16", "--set", "decoder.width=16"]
    said(capsys, "train", source, "--split", "random", "-o", tmp_path / "run", *tiny)
    test = json.loads((tmp_path / "run/split.json").read_text())["test"]
    page = (tmp_path / "run/report.html").read_text()
    shown = re.findall(r"<h4>CPD-(\d+) <small>row (\d+)</small>", page)
    assert {int(row) for _, row in shown} == {graph + 1 for graph in test}  # the bad row stands above
    assert all(int(row) == int(name) + 1 for name, row in shown)
    assert page.count("90\N{NO-BREAK SPACE}% set:") == page.count("· farther from the training data than") == len(shown)


def test_long_names_leave_room_for_all_other_columns_on_80_columns(messy: Path, capsys) -> None:
    name = "7-chloro-1-methyl-5-phenyl-3H-1,4-benzodiazepin-2-one and more of it " * 2
    messy.write_text(f"name;smiles\n{name};CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc21\n{name};CCO\n")
    shown, _ = said(capsys, "predict", "bbbp", messy)
    lines = shown.splitlines()
    assert all(word in shown for word in ("row", "class", "also possible", "in domain"))
    assert re.search(r"^ 0 .*…  permeable +99\.\d% \(99-100\) +- +in domain$", "\n".join(lines), re.MULTILINE)
    assert max(len(line.rstrip()) for line in lines) <= 80
