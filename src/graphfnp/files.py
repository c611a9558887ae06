"""Files written in one atomic step: anything, bytes, JSON, and tensors with a JSON record; and held by one process."""

import errno
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows: nothing is locked
    fcntl = None  # type: ignore[assignment]

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from graphfnp.errors import InvalidRun

_UNLOCKABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)  # file systems that know no locks


@contextmanager
def atomic(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """A name to write to; what is there when the block ends well takes the place of ``path`` in one step.

    A reader sees the old file or the new one, never a part. The name is in ``folder``, by default beside ``path``.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = (folder or path.parent) / f"{path.name}.{os.getpid()}{threading.get_ident()}.tmp"
    try:
        yield temporary
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:  # a disk that is full does not say which
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)  # e.g. of a disk that was full


def end_of_link(path: Path) -> Path:
    """What a user's file is written to: where it is a link, what it leads to, so that it stays a link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def exists(place: Path | str) -> bool:
    """Is it there? What is too long for a name, as some SMILES are, is not, nor is an empty text."""
    try:
        return bool(str(place)) and Path(place).exists()
    except (OSError, ValueError):
        return False


def write_atomically(path: Path, content: bytes) -> None:
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def write_json(path: Path, record: Any) -> None:
    write_atomically(path, (json.dumps(record, indent=1, allow_nan=True) + "\n").encode())


def read_json(path: Path, hint: str = "use the folder of a finished run") -> Any:
    return _parsed(path, hint, json.loads)


def read_json_lines(path: Path) -> list[Any]:
    """One value a line."""
    return _parsed(path, "remove the file, or train again", lambda text: list(map(json.loads, text.splitlines())))


def _parsed(path: Path, hint: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidRun(f"{path}: {error}", "a readable JSON file", hint) from error


def write_tensors(path: Path, tensors: Mapping[str, Tensor], record: Any = None) -> str:
    """Tensors with a JSON record in the file's header; the sha256 of what was written."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    content = save(plain, {"record": json.dumps(record)})
    write_atomically(path, content)
    return hashlib.sha256(content).hexdigest()


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Any]:
    try:
        with safe_open(path, framework="pt") as file:
            record = json.loads((file.metadata() or {}).get("record", "null"))
            return {name: file.get_tensor(name) for name in file.keys()}, record  # noqa: SIM118
    except (OSError, SafetensorError, ValueError) as error:
        raise InvalidRun(
            f"{path}: {error}", "a complete safetensors file", "it may be truncated: copy it again or train again"
        ) from error


@contextmanager
def locked(path: Path, target: Path | str) -> Iterator[None]:
    """Two processes at one output would write over each other."""
    if path.is_symlink():
        raise InvalidRun(f"{path}, which is a link", "a file of our own", "remove it, or choose another output")
    with open(path, "a") as file:  # it may be another's, and keeps what is in it
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(file.fileno()), os.stat(path)):  # who had it has ended, and taken it away
                raise BlockingIOError
        except OSError as error:
            if error.errno not in _UNLOCKABLE:
                raise InvalidRun(
                    f"{target}, which another process is writing now", "an output of its own", "wait, or choose another"
                ) from None
        yield
