"""Archives and arrays from outside, opened without trusting them; pickles are not opened at all."""

import gzip
import shutil
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from graphfnp.errors import MissingData

MAX_BYTES = 4 << 30  # unpacked; the largest known file (Graph-SST2 with BERT features) is about 2 GiB
SMALL, RATIO = 64 << 20, 60  # what any archive may unpack to, and how many times its own size; text packs to a tenth
MAX_FILES = 10_000
# What Python's zip reader raises for archives that are broken, or name files that the system cannot have.
_BROKEN = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError, LookupError, zlib.error, struct.error)


def unpacked_limit(packed: int) -> int:
    """Bytes that an archive of ``packed`` bytes may unpack to: one of honest data is no smaller than that."""
    return min(MAX_BYTES, max(SMALL, RATIO * packed))


def unpack(archive: Path, target: Path, max_bytes: int | None = None) -> Path:
    """Unpack a zip into a folder; nothing may leave the folder, be a link, or fill the disk."""
    max_bytes = unpacked_limit(archive.stat().st_size) if max_bytes is None else max_bytes
    try:
        with zipfile.ZipFile(archive) as content:
            members = [member for member in content.infolist() if not member.is_dir()]
            if len(members) > MAX_FILES or sum(member.file_size for member in members) > max_bytes:
                raise _unsafe(archive, f"{len(members)} files that unpack to more than {max_bytes} bytes")
            root = target.resolve()
            for member in members:
                place = (root / member.filename.replace("\\", "/")).resolve()
                if not place.is_relative_to(root):
                    raise _unsafe(archive, f"{member.filename!r}, a path outside the folder")
                if (member.external_attr >> 16) & 0o170000 == 0o120000:
                    raise _unsafe(archive, f"{member.filename!r}, a link")
                place.parent.mkdir(parents=True, exist_ok=True)
                with content.open(member) as source, place.open("wb") as out:
                    shutil.copyfileobj(source, out)
    except _BROKEN as error:
        raise MissingData(
            f"{archive.name}, which does not unpack ({error})", "a whole zip file", "fetch it again"
        ) from error
    return target


def _unsafe(archive: Path, what: str) -> MissingData:
    return MissingData(f"{archive.name} with {what}", "an archive of data files", "do not use this archive")


def member_bytes(place: Path, name: str) -> bytes | None:
    """A file of a folder (plain or gzipped) or of a zip, wherever it lies in it; None if it is not there."""
    if place.is_dir():
        if (plain := place / name).is_file():
            return plain.read_bytes()
        if (packed := place / f"{name}.gz").is_file():
            return gunzipped(packed)
        return None
    try:
        with zipfile.ZipFile(place) as archive:
            inside = next((one for one in archive.infolist() if one.filename.rsplit("/", 1)[-1] == name), None)
            if inside is not None and inside.file_size > unpacked_limit(inside.compress_size):
                raise _unsafe(place, f"{name} of {inside.file_size} bytes")
            return None if inside is None else archive.read(inside)
    except _BROKEN as error:
        raise MissingData(
            f"{place}, which does not open ({error})", "a folder or a zip file", "check the path"
        ) from error


def required_bytes(place: Path, name: str, expected: str) -> bytes:
    """:func:`member_bytes` of what must be there; ``expected`` says what that is."""
    content = member_bytes(place, name)
    if content is None:
        raise MissingData(f"no {name} in {place}", expected, "add the file")
    return content


def gunzipped(path: Path) -> bytes:
    """The content of a gzip file, if it is not absurdly large."""
    limit = unpacked_limit(path.stat().st_size)
    try:
        with gzip.open(path) as source:
            content = source.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise MissingData(f"{path}, which does not unpack ({error})", "a whole gzip file", "fetch it again") from error
    if len(content) > limit:
        raise _unsafe(path, f"more than {limit} bytes when unpacked")
    return content


def numeric_arrays(content: IO[bytes], name: str, expected: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays of an .npz file; numbers alone, and no more of them than MAX_BYTES."""
    try:
        with zipfile.ZipFile(content) as packed:
            members = packed.infolist()
            size = sum(member.file_size for member in members)
        if size > unpacked_limit(sum(member.compress_size for member in members)):
            raise _unsafe(Path(name), f"{size} bytes when unpacked")
        content.seek(0)
        with np.load(content, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in expected}
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, KeyError, zlib.error) as error:
        wanted = f"an .npz file with the numeric arrays {', '.join(expected)}"
        raise MissingData(f"{name}: {error}", wanted, "make it again from where it came") from error


def refused_pickle(path: Path, converted: str, command: str) -> MissingData:
    """A pickle runs whatever its maker wrote; no way of reading it makes it safe."""
    return MissingData(
        f"{path}, a pickle, which can run any program when it is opened",
        f"{converted}, which holds numbers alone",
        f'if you trust where it came from, convert it once yourself: python -c "{command}"',
    )
