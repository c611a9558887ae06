"""Addresses of object storage in place of files: the same bytes, and an interrupted run goes on."""

from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from graphfnp.errors import InvalidConfig, InvalidRun, MissingData
from graphfnp.runs.run import Run
from graphfnp.scoring.object_storage import address_of, fetched
from graphfnp.scoring.score_file import score_file


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(MemoryFileSystem, "store", {})
    monkeypatch.setattr(MemoryFileSystem, "pseudo_dirs", [""])
    return tmp_path / "cache" / "graphfnp" / "scoring"


@pytest.fixture
def expected(molecule_run: Run, broken_file: Path, tmp_path: Path) -> dict[str, bytes]:
    """Of every ending, what comes out where both are files."""
    found = {}
    for ending in ("csv", "parquet"):
        score_file(molecule_run.model, broken_file, tmp_path / f"local.{ending}")
        found[ending] = (tmp_path / f"local.{ending}").read_bytes()
    return found


def _address(kind: str, tmp_path: Path, name: str) -> str:
    return f"memory://bucket/{name}" if kind == "memory" else f"file://{tmp_path}/{name}"


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_from_storage_to_storage(kind, ending, molecule_run, broken_file, expected, cache, tmp_path: Path) -> None:
    source, target = (_address(kind, tmp_path, name) for name in ("source.csv", f"out.{ending}"))
    with fsspec.open(source, "wb") as file:
        file.write(broken_file.read_bytes())
    assert score_file(molecule_run.model, source, target).rows == 1000
    with fsspec.open(target, "rb") as file:
        assert file.read() == expected[ending]
    assert not list(cache.glob("*"))


def test_what_was_interrupted_goes_on(molecule_run, broken_file, expected, cache, small_chunks) -> None:
    seen: list[int] = []

    def interrupted(done: int, before: int, total: int) -> None:
        if done > 300:
            raise KeyboardInterrupt

    def watch(done: int, before: int, total: int) -> None:
        seen.append(before)

    target = "memory://bucket/out.csv"
    with pytest.raises(KeyboardInterrupt):
        score_file(molecule_run.model, broken_file, target, watch=interrupted)
    assert not fsspec.filesystem("memory").exists("/bucket/out.csv")
    score_file(molecule_run.model, broken_file, target, watch=watch)
    assert max(seen) >= 300
    assert fsspec.filesystem("memory").cat("/bucket/out.csv").count(b"\n") == expected["csv"].count(b"\n")


def test_two_runs_may_read_one_address(molecule_run, broken_file, expected, cache, tmp_path: Path) -> None:
    source = "memory://bucket/in.csv"
    with fsspec.open(source, "wb") as file:
        file.write(broken_file.read_bytes())
    with fetched(source) as mine:
        score_file(molecule_run.model, source, tmp_path / "other.csv")
        assert Path(mine).read_bytes() == broken_file.read_bytes()
    assert not list(cache.iterdir())


@pytest.mark.parametrize("source", ["memory://bucket/in.csv", "file:///{}", "{}"])
def test_an_address_that_is_the_input_is_never_the_output(source: str, molecule_run, broken_file) -> None:
    source, content = source.format(broken_file), broken_file.read_bytes()
    target = source if "://" in source else f"file://{source}"
    with fsspec.open(source, "wb") as file:
        file.write(content)
    with pytest.raises(InvalidConfig, match="overwrite the input"):
        score_file(molecule_run.model, source, target)
    with fsspec.open(source, "rb") as file:
        assert file.read() == content


def test_an_output_on_this_disk_is_never_the_input_however_its_address_is_spelled(molecule_run, broken_file) -> None:
    content, folder = broken_file.read_bytes(), broken_file.parent
    (folder / "link").symlink_to(folder)
    for target in (f"file://{folder}/../{folder.name}/in.csv", f"local://{folder}/link/in.csv"):
        with pytest.raises(InvalidConfig, match="overwrite the input"):
            score_file(molecule_run.model, broken_file, target)
        assert broken_file.read_bytes() == content


def test_an_address_is_written_by_one_run_at_a_time_until_all_is_sent(
    molecule_run, broken_file, cache, monkeypatch
) -> None:
    send = MemoryFileSystem.put_file

    def meanwhile(*arguments: object, **options: object) -> None:
        with pytest.raises(InvalidRun, match="another process is writing"):
            score_file(molecule_run.model, broken_file, "memory://bucket/out.csv")
        send(*arguments, **options)

    monkeypatch.setattr(MemoryFileSystem, "put_file", meanwhile)
    score_file(molecule_run.model, broken_file, "memory://bucket/out.csv")
    assert fsspec.filesystem("memory").exists("/bucket/out.csv")
    assert not list(cache.iterdir())


def test_what_refused_the_work_leaves_nothing_behind(molecule_run, broken_file, cache) -> None:
    with pytest.raises(InvalidConfig):
        score_file(molecule_run.model, broken_file, "memory://bucket/out.txt")
    assert not list(cache.iterdir())


@pytest.mark.parametrize("method", ["get_file", "put_file"])
def test_troubles_of_a_storage_that_are_no_os_errors_are_told_too(
    method, molecule_run, broken_file, monkeypatch
) -> None:
    def no_keys(*arguments: object, **options: object) -> None:
        raise RuntimeError("unable to locate credentials")

    monkeypatch.setattr(MemoryFileSystem, method, no_keys)
    source = "memory://bucket/in.csv" if method == "get_file" else broken_file
    with pytest.raises((MissingData, InvalidRun), match="unable to locate credentials"):
        score_file(molecule_run.model, source, "memory://bucket/out.csv")


def test_what_cannot_be_opened_is_said_before_the_work(molecule_run, broken_file) -> None:
    with pytest.raises(MissingData, match=r"memory://bucket/none\.csv"):
        score_file(molecule_run.model, "memory://bucket/none.csv", "memory://bucket/out.csv")
    with pytest.raises(InvalidConfig, match="fsspec can open"):
        score_file(molecule_run.model, broken_file, "nowhere://bucket/out.csv")


def test_records_that_cannot_be_sent_are_kept(molecule_run, broken_file, expected, cache, monkeypatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise PermissionError("no")

    monkeypatch.setattr(MemoryFileSystem, "put_file", refused)
    with pytest.raises(InvalidRun, match="copy them from"):
        score_file(molecule_run.model, broken_file, "memory://bucket/out.csv")
    (kept,) = cache.glob("*/out.csv")
    assert kept.read_bytes() == expected["csv"]


def test_a_path_that_was_an_address_is_one_again() -> None:
    assert address_of(Path("s3://bucket/a/b.csv")) == "s3://bucket/a/b.csv"
    assert address_of("file:///data/b.csv") == address_of(Path("file:///data/b.csv")) == "file:///data/b.csv"
    for plain in ("C:/data/b.csv", "/data/b.csv", "b.csv", "-", "CC(=O)O", None):
        assert address_of(plain) is None
