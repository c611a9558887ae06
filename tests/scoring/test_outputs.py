"""What is written is ours: never the input, never another's files; and what cannot be written is a sentence."""

import fcntl
import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from graphfnp.cli.app import main
from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.runs.run import Run
from graphfnp.scoring import record_files
from graphfnp.scoring import score_file as module
from graphfnp.scoring.parts import Parts
from graphfnp.scoring.record_files import check_target, without_formulas
from graphfnp.scoring.score_file import score_file

TABLE = "smiles\nCCO\nCCN\n"


class Stopped(Exception):
    pass


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(TABLE)
    return path


def stopped(run: Run, source: Path, target: Path) -> Parts:
    """Scoring that was stopped when all parts were there."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "write_record_file", _stop)
        with pytest.raises(Stopped):
            score_file(run.model, source, target)
    return Parts(target)


def _stop(*_) -> None:
    raise Stopped


# ---------------------------------------------------------------- the input


@pytest.mark.parametrize("how", ["same", "relative", "link", "hard link", "through a folder", "at once", "json"])
def test_the_input_is_never_the_output(molecule_run: Run, source: Path, how: str, monkeypatch, capsys) -> None:
    monkeypatch.chdir(source.parent)
    given, target, words = source, source, []
    if how == "relative":
        target = Path("in.csv")
    elif how == "link":
        target = source.parent / "link.csv"
        target.symlink_to(source)
    elif how == "hard link":
        target = source.parent / "hard.csv"
        target.hardlink_to(source)
    elif how == "through a folder":
        (source.parent / "folder").symlink_to(source.parent)
        target = source.parent / "folder" / "in.csv"
    elif how == "at once":
        words = ["--prior", "estimate"]
    elif how == "json":
        given = source.rename(source.parent / "in.json")
        target = given
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(molecule_run.folder), str(given), "-o", str(target), *words])
    assert ended.value.code == 2
    assert "overwrite the input" in capsys.readouterr().err
    assert given.read_text() == TABLE


def test_a_name_in_other_letters_is_the_input_where_the_file_system_says_so(source: Path, monkeypatch) -> None:
    monkeypatch.setattr(Path, "samefile", lambda one, other: str(one).lower() == str(other).lower())
    with pytest.raises(InvalidConfig, match="overwrite"):
        check_target(source.with_name("IN.csv"), source)


@pytest.mark.parametrize("is_there", [True, False], ids=["to a file", "to none yet"])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_an_output_that_is_a_link_stays_one_and_what_it_leads_to_is_written(
    ending: str, is_there: bool, molecule_run: Run, source: Path
) -> None:
    real, link = source.parent / "disk" / f"real{ending}", source.parent / f"out{ending}"
    real.parent.mkdir()
    if is_there:
        real.write_text("old")
    link.symlink_to(Path("disk") / real.name)
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(molecule_run.folder), str(source), "-o", str(link)])
    assert not ended.value.code
    assert link.is_symlink()
    assert b"CCN" in real.read_bytes() if ending != ".parquet" else len(pd.read_parquet(real)) == 2
    assert {path.name for path in real.parent.iterdir()} == {real.name}
    assert {path.name for path in source.parent.iterdir()} >= {"in.csv", "disk", link.name}


def test_links_in_a_circle_are_a_sentence(molecule_run: Run, source: Path) -> None:
    one, other = source.parent / "one.csv", source.parent / "other.csv"
    one.symlink_to(other)
    other.symlink_to(one)
    with pytest.raises(InvalidConfig, match="leads back to itself"):
        score_file(molecule_run.model, source, one)


# ---------------------------------------------------------------- parts


def test_files_of_others_in_the_folder_of_parts_stay(molecule_run: Run, source: Path) -> None:
    target = source.parent / "mine.csv"
    folder = target.with_name("mine.csv.parts")
    (folder / "deep").mkdir(parents=True)
    kept = {"thesis.txt": "mine", "0000000.arrow": "old", "deep/0000000.part": "also mine", "1.part": "mine"}
    for name, text in kept.items():
        (folder / name).write_text(text)
    for restart in (False, True):
        score_file(molecule_run.model, source, target, restart=restart)
        assert {name: (folder / name).read_text() for name in kept} == kept
        assert len(list(folder.rglob("*"))) == len(kept) + 1
    assert len(pd.read_csv(target)) == 2


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(
    ("name", "text"),
    [("lock", "mine"), ("0000000.part", "mine"), ("manifest.json", "mine"), ("manifest.json", '{"name": "mine"}')],
)
def test_a_file_of_another_that_is_called_as_ours_is_refused_and_stays(
    name: str, text: str, restart: bool, molecule_run: Run, source: Path
) -> None:
    target = source.with_name("out.csv")
    own = source.with_name("out.csv.parts") / name
    own.parent.mkdir()
    own.write_text(text)
    with pytest.raises(InvalidRun, match="not written here"):
        score_file(molecule_run.model, source, target, restart=restart)
    assert {path: path.read_text() for path in own.parent.iterdir()} == {own: text}
    own.rename(source.with_name("moved"))
    assert score_file(molecule_run.model, source, target).rows == 2


def test_parts_that_a_kill_left_half_forgotten_are_still_known_as_ours(
    molecule_run: Run, source: Path, monkeypatch
) -> None:
    parts, unlink = stopped(molecule_run, source, source.with_name("out.csv")), Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", killed)
        with pytest.raises(Stopped):
            parts.remove()
    assert score_file(molecule_run.model, source, parts.target).rows == 2
    assert not parts.folder.exists()


def test_what_a_killed_process_had_begun_to_write_does_not_stay(molecule_run: Run, source: Path, monkeypatch) -> None:
    target, begun = source.with_name("out.csv"), list[Path]()

    def killed(temporary: Path, *_) -> None:
        begun.append(temporary)
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(record_files, "_write_csv", killed)
        with pytest.raises(Stopped):
            score_file(molecule_run.model, source, target)
    begun[0].with_name("out.csv.123.tmp").write_text("half")  # what a kill of another process leaves
    score_file(molecule_run.model, source, target)
    assert {path.name for path in source.parent.iterdir()} == {"in.csv", "out.csv", "out.csv.about.json"}


def test_a_part_in_the_wrong_place_is_not_believed(molecule_run: Run, tmp_path: Path, small_chunks) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("smiles\n" + "".join(f"{'C' * (k % 7 + 1)}\n" for k in range(48)))
    score_file(molecule_run.model, source, tmp_path / "whole.csv")
    for spoil in (_copied, _flipped, _cut, _emptied, _linked):
        parts = stopped(molecule_run, source, target)
        spoil(parts)
        score_file(molecule_run.model, source, target)
        assert target.read_bytes() == (tmp_path / "whole.csv").read_bytes(), spoil.__name__
        target.unlink()


def _copied(parts: Parts) -> None:
    shutil.copy(parts._path(0), parts._path(2))


def _flipped(parts: Parts) -> None:
    content = bytearray(parts._path(1).read_bytes())
    content[-200] ^= 1
    parts._path(1).write_bytes(content)


def _cut(parts: Parts) -> None:
    parts._path(1).write_bytes(parts._path(1).read_bytes()[:-10])


def _emptied(parts: Parts) -> None:
    parts._path(1).write_bytes(b"")


def _linked(parts: Parts) -> None:
    elsewhere = parts.folder.parent / "elsewhere.part"
    parts._path(1).rename(elsewhere)
    parts._path(1).symlink_to(elsewhere)


def test_a_lock_that_was_taken_away_keeps_nobody_out_and_is_none(tmp_path: Path, monkeypatch) -> None:
    parts, flock = Parts(tmp_path / "out.csv"), fcntl.flock

    def late(file, how: int) -> None:
        (parts.folder / "lock").unlink()  # as the process does that has just ended
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(InvalidRun, match="another process"), parts.opened({}):
        pass


def test_a_link_in_the_place_of_the_folder_is_refused(molecule_run: Run, source: Path) -> None:
    other = source.parent / "other"
    other.mkdir()
    (source.parent / "out.csv.parts").symlink_to(other)
    with pytest.raises(InvalidRun, match="a link"):
        score_file(molecule_run.model, source, source.parent / "out.csv")
    assert not list(other.iterdir())


# ---------------------------------------------------------------- what cannot be written


@pytest.mark.parametrize("wrong", ["folder", "file for a folder", "full"])
def test_what_cannot_be_written_is_a_sentence(molecule_run: Run, source: Path, wrong: str, monkeypatch, capsys) -> None:
    target = source.parent / "out.csv"
    if wrong == "folder":
        target.mkdir()
    elif wrong == "file for a folder":
        target = source / "out.csv"
    else:
        monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(SystemExit) as ended:
        main(["predict", str(molecule_run.folder), str(source), "-o", str(target)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    if wrong == "full":
        assert f"{target}.parts/manifest.json: No space left" in said.replace("\n", "")  # of several disks, which
        assert not list(source.parent.rglob("*.tmp"))
        monkeypatch.undo()
        score_file(molecule_run.model, source, target)
        assert len(pd.read_csv(target)) == 2


def _full(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


# ---------------------------------------------------------------- formulas


def test_texts_that_a_spreadsheet_would_run_are_guarded(molecule_run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    cells = ["=1+2", "+C", "-C", "@SUM(A1)", "=cmd|' /C calc'!A0", "CCO", "'C"]
    pd.DataFrame({"smiles": cells}).to_csv(source, index=False)
    score_file(molecule_run.model, source, target, smiles="smiles")
    guarded = pd.read_csv(target)["input"].tolist()
    assert guarded == [f"'{cell}" for cell in cells[:5]] + cells[5:]
    score_file(molecule_run.model, source, target, smiles="smiles", raw=True)
    assert pd.read_csv(target)["input"].tolist() == cells
    score_file(molecule_run.model, source, tmp_path / "out.parquet", smiles="smiles")
    assert pd.read_parquet(tmp_path / "out.parquet")["input"].tolist() == cells


def test_a_name_of_a_column_that_a_spreadsheet_would_run_is_guarded(molecule_run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    pd.DataFrame({"smiles": ["CCO"], "=1+2": ["a"]}).to_csv(source, index=False)
    score_file(molecule_run.model, source, target)
    assert pd.read_csv(target).columns[1] == "'=1+2"
    score_file(molecule_run.model, source, target, raw=True)
    assert pd.read_csv(target).columns[1] == "=1+2"


def test_a_column_that_gets_another_name_is_told(molecule_run: Run, tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("smiles,id,id\nCCO,1,2\n")
    notes = score_file(molecule_run.model, source, target).notes
    assert [note for note in notes if "occurs twice" in note]
    assert list(pd.read_csv(target).columns[:3]) == ["smiles", "id", "id (column 3)"]
    assert not score_file(molecule_run.model, source, target, keep_columns=False).notes


def test_numbers_stay_numbers() -> None:
    table = pa.table({"number": [-1.5, 2.0, None], "text": ["-1+1", "-1", "\tx"], "plain": ["a", "b", "c"]})
    found = without_formulas(table).to_pydict()
    assert found == {"number": [-1.5, 2.0, None], "text": ["'-1+1", "-1", "'\tx"], "plain": ["a", "b", "c"]}
    assert json.dumps(found["number"]) == "[-1.5, 2.0, null]"


# ---------------------------------------------------------------- an input that somebody writes to


@pytest.mark.parametrize("later", [range(40), range(20), range(1, 31)], ids=["grown", "cut", "shifted"])
def test_records_never_stand_beside_rows_that_came_later(
    later: range, molecule_run: Run, tmp_path: Path, small_chunks
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"

    def write(numbers: range) -> None:
        lines = [f"{'C' * (number + 1)},{number}\n" for number in numbers]
        source.write_text("".join(["smiles,number\n", *lines]))

    write(range(30))
    with pytest.raises(InvalidRun, match="changed while it was scored"):
        score_file(molecule_run.model, source, target, watch=lambda *_: write(later))
    assert not target.exists()
    assert score_file(molecule_run.model, source, target).rows == len(later)
    found = pd.read_csv(target)
    assert (found["smiles"] == found["input"]).all()


@pytest.mark.parametrize("later", [TABLE + "CCCO\n", "smiles\nCCO\n", "", None], ids=["grown", "cut", "empty", "gone"])
def test_rows_that_change_while_the_output_is_written_are_a_sentence_too(
    later: str | None, molecule_run: Run, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_later(*arguments: object) -> None:
        source.unlink() if later is None else source.write_text(later)
        record_files.write_record_file(*arguments)

    monkeypatch.setattr(module, "write_record_file", write_later)
    with pytest.raises(InvalidRun, match="changed while it was scored"):
        score_file(molecule_run.model, source, tmp_path / "out.csv")
    assert not list(tmp_path.glob("out.csv*"))
