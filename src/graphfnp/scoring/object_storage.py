"""Object storage: s3://, gs://, az:// and whatever else fsspec opens, by copies on this disk while a file is scored."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphfnp.datasets.sources import cache_folder
from graphfnp.errors import InvalidConfig, InvalidRun, MissingData
from graphfnp.files import exists
from graphfnp.scoring.record_files import about_file, over_the_input

_ADDRESS = re.compile(r"([a-z][a-z0-9+-]+):/+(.+)")


def address_of(place: Path | str | None) -> str | None:
    """The address, if this is one; a Path has lost one of its slashes."""
    found = _ADDRESS.fullmatch(str(place))
    return None if found is None else f"{found[1]}://{'/' if found[1] in ('file', 'local') else ''}{found[2]}"


@contextmanager
def fetched(source: Path | str) -> Iterator[str]:
    """The source, with a copy on this disk in place of an address; others may read the same address meanwhile."""
    if (address := address_of(source)) is None:
        yield str(source)
        return
    _copies().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=_copies(), prefix="input-") as folder:
        file, (system, path) = Path(folder) / _name(address), _file_system(address)
        try:
            system.get_file(path, str(file))
        except OSError as error:
            raise MissingData(
                f"{address}: {error}", "a file that can be read", "check the address and its keys"
            ) from error
        yield str(file)


@contextmanager
def sent(target: Path | str, source: Path | str) -> Iterator[Path]:
    """The target, with a file on this disk in place of an address, to which it is sent when it is whole.

    InvalidConfig if that would overwrite the source.
    """
    if (address := address_of(target)) is None:
        yield Path(target)
        return
    system, path = _file_system(address)  # what is missing should be heard of before the work
    if (address_of(source) or exists(source)) and _file_system(address_of(source) or str(source)) == (system, path):
        raise over_the_input(address)
    with _copy_of(address) as file:
        yield file
        try:
            if about_file(file).is_file():  # what a reader should know of a CSV
                system.put_file(str(about_file(file)), about_file(Path(path)).as_posix())
            system.put_file(str(file), path)
        except OSError as error:
            raise InvalidRun(
                f"{address}: {error}", "a place that can be written", f"the records are whole: copy them from {file}"
            ) from error


@contextmanager
def _copy_of(address: str) -> Iterator[Path]:
    """In a folder of the address's own: what was interrupted goes on where it stopped. It goes when all is done."""
    folder = _copies() / hashlib.sha256(address.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    yield folder / _name(address)
    shutil.rmtree(folder)


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
