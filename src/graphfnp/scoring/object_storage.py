"""Object storage: s3://, gs://, az:// and whatever else fsspec opens, by copies on this disk while a file is scored."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphfnp.datasets.sources import cache_folder
from graphfnp.errors import InvalidConfig, InvalidRun, MissingData
from graphfnp.files import locked
from graphfnp.scoring.record_files import about_file, over_the_input

_ADDRESS = re.compile(r"([a-z][a-z0-9+-]+):/+(.+)")
_LOCAL = re.compile(r"^(file|local)://")


def address_of(place: Path | str | None) -> str | None:
    """The address, if this is one; a Path has lost one of its slashes."""
    found = _ADDRESS.fullmatch(str(place))
    return None if found is None else f"{found[1]}://{'/' if found[1] in ('file', 'local') else ''}{found[2]}"


@contextmanager
def fetched(source: Path | str) -> Iterator[str]:
    """The source, with a copy on this disk in place of an address; others may read the same address meanwhile."""
    if (address := _elsewhere(source)) is None:
        yield _on_this_disk(source)
        return
    _copies().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=_copies(), prefix="input-") as folder:
        file, (system, path) = Path(folder) / _name(address), _file_system(address)
        try:
            system.get_file(path, str(file))
        except Exception as error:  # each kind of storage has its own: no keys, no such address
            raise MissingData(
                f"{address}: {error}", "a file that can be read", "check the address and its keys"
            ) from error
        yield str(file)


@contextmanager
def sent(target: Path | str, source: Path | str) -> Iterator[Path]:
    """The target, with a file on this disk in place of an address, to which it is sent when it is whole.

    InvalidConfig if that would overwrite the source.
    """
    if (address := _elsewhere(target)) is None:
        yield Path(_on_this_disk(target))
        return
    system, path = _file_system(address)  # what is missing should be heard of before the work
    if (given := _elsewhere(source)) is not None and _file_system(given) == (system, path):
        raise over_the_input(address)
    with _copy_of(address, system.unstrip_protocol(path)) as file:
        yield file
        try:
            if about_file(file).is_file():  # what a reader should know of a CSV
                system.put_file(str(about_file(file)), path.removesuffix(file.name) + about_file(file).name)
            system.put_file(str(file), path)
        except Exception as error:
            raise InvalidRun(
                f"{address}: {error}", "a place that can be written", f"the records are whole: copy them from {file}"
            ) from error


@contextmanager
def _copy_of(address: str, known_as: str) -> Iterator[Path]:
    """In a folder of the address's own, however it is spelled, held by one process until all is sent.

    What was interrupted goes on where it stopped; the folder goes when all is done.
    """
    folder = _copies() / hashlib.sha256(known_as.encode()).hexdigest()[:16]
    lock = folder.with_suffix(".lock")
    _copies().mkdir(parents=True, exist_ok=True)
    with locked(lock, address):
        folder.mkdir(exist_ok=True)
        try:
            yield folder / _name(address)
            shutil.rmtree(folder)
        finally:
            with suppress(OSError):
                folder.rmdir()  # nothing was begun
            if not folder.exists():
                lock.unlink()


def _elsewhere(place: Path | str) -> str | None:
    """The address, unless it is one of this disk, which needs no copy."""
    address = address_of(place)
    return None if address is None or _LOCAL.match(address) else address


def _on_this_disk(place: Path | str) -> str:
    return _LOCAL.sub("", address_of(place) or str(place))


def _copies() -> Path:
    return cache_folder() / "scoring"


def _name(address: str) -> str:
    return address.rpartition("/")[2]


def _file_system(address: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs  # slow to import, and only addresses need it

    try:
        return url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise InvalidConfig(
            f"{address}: {error}", "an address that fsspec can open", "install what it names, or copy the file here"
        ) from error
