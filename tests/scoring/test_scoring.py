"""Bulk scoring: a record for every row, in its place, the same bytes however the work was done."""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from molecule_rows import BROKEN, rows

from graphfnp.errors import GraphFNPError, InvalidGraphs, InvalidRun
from graphfnp.prediction.records import record_schema
from graphfnp.runs.run import Run
from graphfnp.scoring.parts import Parts
from graphfnp.scoring.record_files import about_file
from graphfnp.scoring.rows import MoleculeFile
from graphfnp.scoring.score_file import Execution, score_file
from graphfnp.scoring.scorer import Settings


class Killed(Exception):
    """Stands for a kill between two chunks."""


def killed_after(chunks: int):
    calls = 0

    def watch(done: int, before: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == chunks:
            raise Killed

    return watch


# ---------------------------------------------------------------- every row in its place


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_broken_rows_keep_their_place_and_say_why(ending, molecule_run: Run, broken_file: Path, small_chunks) -> None:
    target = broken_file.with_name(f"out.{ending}")
    counts = score_file(molecule_run.model, broken_file, target, keep_columns=False)
    found = pd.read_csv(target) if ending == "csv" else pd.read_parquet(target)
    assert found["row"].tolist() == list(range(1000))
    assert found["row"][found["status"] == "failed"].tolist() == sorted(BROKEN)
    assert (counts.rows, counts.failed) == (1000, len(BROKEN))
    assert [row for row, _, _ in counts.problems] == sorted(BROKEN)
    reason = dict(zip(found["row"], found["reason"], strict=True))
    assert reason[3] == reason[640] == "no SMILES given"
    assert "ring" in reason[97]
    assert "0xE9" in reason[250]
    assert reason[400] == "a molecule of 2000 atoms, more than the limit of 1000"
    assert "60000 letters" in reason[999]
    good = found[found["status"] == "ok"]
    given = rows(1000)
    assert good["input"].tolist() == [given[row] for row in good["row"]]
    assert good["probability"].between(0.5, 1).all()
    bad = found[found["status"] != "ok"]
    assert bad.drop(columns=["row", "input", "status", "reason", "model"]).isna().all().all()


def test_equal_rows_have_equal_records_whatever_stands_beside_them(
    molecule_run: Run, tmp_path: Path, small_chunks
) -> None:
    pd.DataFrame({"smiles": rows(300)}).to_csv(tmp_path / "in.csv", index=False)
    score_file(molecule_run.model, tmp_path / "in.csv", tmp_path / "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    numbers = found.dropna(axis=1).select_dtypes("number").drop(columns="row").columns
    spread = found.groupby("input")[list(numbers)].agg(np.ptp)
    assert spread.to_numpy().max() < 1e-5


def test_all_kinds_of_files_give_the_same_rows(molecule_run: Run, tmp_path: Path, small_chunks) -> None:
    given = rows(50)
    table = pd.DataFrame({"id": range(50), "smiles": given})
    table.to_csv(tmp_path / "in.csv", index=False)
    table.to_csv(tmp_path / "in.tsv", index=False, sep="\t")
    table.to_csv(tmp_path / "utf16.csv", index=False, encoding="utf-16")
    table.to_csv(tmp_path / "utf16le.csv", index=False, encoding="utf-16-le")  # without a mark
    table.to_csv(tmp_path / "utf16be.csv", index=False, encoding="utf-16-be")
    table.to_csv(tmp_path / "quoted.csv", index=False, quoting=1)
    table.to_csv(tmp_path / "packed.csv.gz", index=False)
    table.to_parquet(tmp_path / "in.parquet", row_group_size=7)
    (tmp_path / "in.smi").write_text("".join(f"{one} name {k}\n" for k, one in enumerate(given)))
    (tmp_path / "headless.csv").write_text("".join(f"{one},{k}\r\n" for k, one in enumerate(given)))
    sources = sorted(path for path in tmp_path.iterdir())
    assert len(sources) == 10
    found = {}
    for source in sources:
        score_file(molecule_run.model, source, tmp_path / "out.csv", keep_columns=False)
        found[source.name] = (tmp_path / "out.csv").read_bytes()
    assert len(set(found.values())) == 1, [name for name in found if found[name] != found["in.csv"]]


def test_an_empty_line_between_rows_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("smiles\n\nCCO\n\nCCN\n\n\n")
    (chunk,) = MoleculeFile(tmp_path / "in.csv").chunks()
    assert chunk.texts == ("", "CCO", "", "CCN")
    (tmp_path / "in.smi").write_text("CCO a\n\nCCN b\n")
    (chunk,) = MoleculeFile(tmp_path / "in.smi").chunks()
    assert chunk.texts == ("CCO", "", "CCN")


@pytest.mark.parametrize("first", ["   ", ",,", "\t"])
def test_a_line_of_blanks_or_commas_above_the_header_is_not_the_header(first: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(f"{first}\nid,name,smiles\n1,a,CCO\n2,b,CCN\n")
    file = MoleculeFile(tmp_path / "in.csv")
    (chunk,) = file.chunks()
    assert (file.schema.names, chunk.texts) == (["id", "name", "smiles"], ("CCO", "CCN"))


def test_one_open_quote_swallows_no_row(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text('smiles,name\nCCO,"a\nCCN,b\nCO,c\n')
    (chunk,) = MoleculeFile(tmp_path / "in.csv").chunks()
    assert chunk.texts == ("CCO", "CCN", "CO")


@pytest.mark.parametrize("content", [b"", b"smiles\n", b"name,mass\nwater,18\n"])
def test_files_without_molecules_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(content)
    with pytest.raises(GraphFNPError):
        MoleculeFile(tmp_path / "in.csv")
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"smiles\nCCO\n")[:-9])
    with pytest.raises(GraphFNPError):
        MoleculeFile(tmp_path / "in.csv.gz")
    (tmp_path / "in.parquet").write_bytes(content)
    with pytest.raises(GraphFNPError):
        MoleculeFile(tmp_path / "in.parquet")


# ---------------------------------------------------------------- the same bytes


def test_the_number_of_processes_does_not_show_in_the_file(
    molecule_run: Run, broken_file: Path, tmp_path: Path, small_chunks
) -> None:
    model, found = molecule_run.model, {}
    for ending in ("csv", "parquet"):
        for workers in (0, 1, 2):
            target = tmp_path / f"out{workers}.{ending}"
            score_file(model, broken_file, target, execution=Execution("local", workers))
            found[ending, workers] = target.read_bytes()
    assert found["csv", 0] == found["csv", 1] == found["csv", 2]
    assert found["parquet", 0] == found["parquet", 1] == found["parquet", 2]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_scoring_stopped_at_random_points_goes_on_and_ends_with_the_same_bytes(
    ending, molecule_run: Run, broken_file: Path, tmp_path: Path, small_chunks
) -> None:
    model, whole, pieces = molecule_run.model, tmp_path / f"whole.{ending}", tmp_path / f"pieces.{ending}"
    score_file(model, broken_file, whole)
    order = random.Random(1)
    for _ in range(3):
        with pytest.raises(Killed):
            score_file(model, broken_file, pieces, watch=killed_after(order.randint(1, 15)))
        assert not pieces.exists()
    heard: list[tuple[int, int, int]] = []
    counts = score_file(model, broken_file, pieces, watch=lambda *news: heard.append(news))
    assert heard[0][1] >= 3 * small_chunks  # finished parts were not done again
    assert heard[-1][0] == counts.rows == 1000
    assert counts.failed == len(BROKEN)
    assert pieces.read_bytes() == whole.read_bytes()
    assert not Parts(pieces).folder.exists()


def test_another_input_model_or_setting_does_not_go_on(
    molecule_run: Run, broken_file: Path, tmp_path: Path, small_chunks
) -> None:
    model, target = molecule_run.model, tmp_path / "out.csv"
    with pytest.raises(Killed):
        score_file(model, broken_file, target, watch=killed_after(2))
    with pytest.raises(InvalidRun, match="another settings"):
        score_file(model, broken_file, target, settings=Settings(seed=1))
    broken_file.write_bytes(broken_file.read_bytes() + b"CCO,more\n")
    with pytest.raises(InvalidRun, match="another input"):
        score_file(model, broken_file, target)
    assert score_file(model, broken_file, target, restart=True).rows == 1001


def test_two_processes_do_not_write_one_output(molecule_run: Run, broken_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"

    def second(done: int, before: int, total: int) -> None:
        with pytest.raises(InvalidRun, match="another process"):
            score_file(molecule_run.model, broken_file, target)

    assert score_file(molecule_run.model, broken_file, target, watch=second).rows == 1000


# ---------------------------------------------------------------- the same fields everywhere


def test_parquet_csv_and_python_hold_the_same_record(molecule_run: Run, tmp_path: Path) -> None:
    model = molecule_run.model
    (tmp_path / "in.smi").write_text("CCN\nCCO\nC1CC\n")
    score_file(model, tmp_path / "in.smi", tmp_path / "out.csv", keep_columns=False)
    score_file(model, tmp_path / "in.smi", tmp_path / "out.parquet", keep_columns=False)
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.equals(record_schema(model.classifier.schema))
    records, lines = table.to_pylist(), pd.read_csv(tmp_path / "out.csv").to_dict("records")
    for record, line in zip(records[:2], lines[:2], strict=True):
        for name in ("conformal_set", "rationales", "nearest"):
            assert json.loads(line.pop(name)) == record.pop(name)
        for name, empty in (("reason", ""), ("decision", None)):  # nothing is written: pandas reads it as missing
            assert pd.isna(line.pop(name))
            assert record.pop(name) == empty
        assert line == record
    about = json.loads(about_file(tmp_path / "out.csv").read_text())
    assert about == json.loads(table.schema.metadata[b"graphfnp"])
    assert about["calibration"]["part"] == "test part"
    assert about["model"] == model.id == records[0]["model"]
    assert (about["rows"], about["failed"]) == (3, 1)


def test_a_list_of_smiles_that_is_a_header_alone_is_refused_as_a_table_is(tmp_path: Path) -> None:
    for name in ("in.smi", "in.csv"):
        (tmp_path / name).write_text("smiles\n")
        with pytest.raises(InvalidGraphs, match="without data rows"):
            MoleculeFile(tmp_path / name)
