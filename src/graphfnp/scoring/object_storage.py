"""Object storage: s3://, gs://, az:// and whatever else fsspec opens, by copies on this disk while a file is scored."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphfnp.datasets.sources import cache_folder
from graphfnp.errors import InvalidConfig, InvalidRun, MissingData
from graphfnp.scoring.record_files import about_file

_ADDRESS = re.compile(r"([a-z][a-z0-9+-]+):/+(.+)")


def address_of(place: Path | str | None) -> str | None:
    """The address, if this is one; a Path has lost one of its slashes."""
    found = _ADDRESS.fullmatch(str(place))
    return None if found is None else f"{found[1]}://{'/' if found[1] in ('file', 'local') else ''}{found[2]}"


@contextmanager
def copies(source: Path | str, target: Path | str | None) -> Iterator[tuple[str, Path | None]]:
    """Source and target with a file of this disk in place of each address; the records are sent when they are whole.

    The folder belongs to the addresses: what was interrupted goes on where it stopped. It goes when all is sent.
    """
    here, there = address_of(source), address_of(target)
    if here is None and there is None:
        yield str(source), None if target is None else Path(target)
        return
    folder = _folder(here, there)
    given, written = Path(source), None if target is None else Path(target)
    if here is not None:
        given = folder / "input" / here.rpartition("/")[2]
        _fetch(here, given)
    if there is not None:
        _file_system(there)  # what is missing should be heard of before the work
        written = folder / there.rpartition("/")[2]
    yield str(given), written
    if there is not None and written is not None:
        _send(written, there)
    shutil.rmtree(folder)


def _folder(*addresses: str | None) -> Path:
    name = hashlib.sha256("\n".join(map(str, addresses)).encode()).hexdigest()[:16]
    folder = cache_folder() / "scoring" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _file_system(address: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs  # slow to import, and only addresses need it

    try:
        return url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise InvalidConfig(
            f"{address}: {error}", "an address that fsspec can open", "install what it names, or copy the file here"
        ) from error


def _fetch(address: str, file: Path) -> None:
    system, path = _file_system(address)
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        system.get_file(path, str(file))
    except OSError as error:
        raise MissingData(f"{address}: {error}", "a file that can be read", "check the address and its keys") from error


def _send(file: Path, address: str) -> None:
    """The records, and beside a CSV what a reader should know of them."""
    system, path = _file_system(address)
    try:
        if about_file(file).is_file():
            system.put_file(str(about_file(file)), about_file(Path(path)).as_posix())
        system.put_file(str(file), path)
    except OSError as error:
        raise InvalidRun(
            f"{address}: {error}", "a place that can be written", f"the records are whole: copy them from {file}"
        ) from error
