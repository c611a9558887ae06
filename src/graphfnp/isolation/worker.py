"""The child: ``python -m graphfnp.isolation.worker``. It imports once, then forks a worker, and another if that dies.

The worker takes messages from standard input, calls the function that is named, and answers. Before each row it says
in shared memory which one it is, and sets a timer of processor time whose signal ends it wherever it is, in Python or
in a library; memory beyond the limit is refused by the system. It imports no torch unless the function's module does.
"""

import json
import math
import mmap
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from graphfnp.isolation.frames import exactly, packed, unpacked

STATE = struct.Struct("<qqq")  # process number of the worker, is it at work, the row
MEMORY = 77  # exit code: more memory than allowed
Begin = Callable[[int], bool]  # said before each row; False: the call's time is over, return what there is
Function = Callable[[list[Any], Any, Begin], tuple[Any, dict]]


def main() -> None:
    options = json.loads(sys.argv[1])
    state = mmap.mmap(options["state"], STATE.size)
    said = os.dup(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)  # what a library prints is no answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for module in options["modules"]:
        import_module(module)
    while True:
        STATE.pack_into(state, 0, 0, 0, 0)
        worker = os.fork()
        if not worker:
            _serve(options, state, said)
        _, status = os.waitpid(worker, 0)
        code = os.waitstatus_to_exitcode(status)
        if code == 0:  # the parent is gone
            return
        _, working, row = STATE.unpack_from(state)
        if working:
            _say(said, packed({"died": code, "row": row}, {}))


def _serve(options: dict[str, Any], state: mmap.mmap, said: int) -> None:
    code = 1
    try:
        _bound_memory(options["megabytes"])
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        read, own = exactly(lambda count: os.read(0, count)), os.getpid()

        def begin(row: int) -> bool:
            STATE.pack_into(state, 0, own, 1, row)
            if row and time.process_time() > until:
                stopped.append(row)
                return False
            signal.setitimer(signal.ITIMER_PROF, options["seconds"])
            return True

        while True:
            STATE.pack_into(state, 0, own, 0, 0)
            asked, _ = unpacked(read)
            until = time.process_time() + (asked["seconds"] or math.inf)
            stopped: list[int] = []
            begin(0)
            record, arrays = _called(asked, begin)
            record |= {"row": STATE.unpack_from(state)[2], "done": stopped[0] if stopped else len(asked["rows"])}
            answer = packed(record, arrays)
            signal.setitimer(signal.ITIMER_PROF, 0)
            _say(said, answer)
    except EOFError:
        code = 0
    except MemoryError:
        code = MEMORY
    finally:
        os._exit(code)


def _called(asked: dict[str, Any], begin: Begin) -> tuple[dict[str, Any], dict]:
    module, _, name = asked["function"].partition(":")
    function: Function = getattr(import_module(module), name)
    try:
        value, arrays = function(asked["rows"], asked["options"], begin)
    except MemoryError:
        raise
    except Exception as error:  # the row's doing: what was not thought of costs no other row
        return {"failed": f"{type(error).__name__}: {error}"[:300]}, {}
    return {"value": value}, arrays


def _bound_memory(megabytes: int) -> None:
    """Beyond what is mapped already; where the system does not say how much that is, time alone bounds it."""
    try:
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return
    resource.setrlimit(resource.RLIMIT_AS, (mapped + megabytes * 2**20,) * 2)


def _say(said: int, message: bytes) -> None:
    view = memoryview(message)
    while view:
        view = view[os.write(said, view) :]


if __name__ == "__main__":
    main()
