"""Work in processes that can be killed: what a row does is its own loss, and nobody is left behind."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from graphfnp.errors import InvalidConfig
from graphfnp.isolation import process
from graphfnp.isolation.frames import exactly, packed, unpacked
from graphfnp.isolation.pool import Pool
from graphfnp.isolation.process import Answer, Limits

HERE = f"{Path(__file__).stem}:work"


def work(rows, options, begin):
    """In the child: does to itself what the row says."""
    done = []
    for number, row in enumerate(rows):
        if not begin(number):
            break
        if row == "busy":
            while True:
                math.factorial(20000)
        if row == "large":
            np.ones(2**28)
        if row == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if row == "fail":
            raise KeyError("odd")
        if row == "print":
            print("nonsense")
        if row == "slow":
            until = time.process_time() + 0.06
            while time.process_time() < until:
                pass
        done.append(row.upper())
    return done, {"length": np.array([len(one) for one in done], dtype=np.int16)}


@pytest.fixture(scope="module")
def pool():
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), before]))
    made = Pool(Limits(seconds=0.5, megabytes=256))
    yield made
    made.close()
    if before is not None:
        os.environ["PYTHONPATH"] = before


def test_no_row_is_blamed_for_a_slow_start(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_to_import.py").write_text("import time; time.sleep(4)")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]]))
    monkeypatch.setattr(process, "PATIENCE", 1.0)
    slow = Pool(Limits(), ("slow_to_import",))
    assert isinstance(slow.call(HERE, ["a"], None), Answer)
    slow.close()


def test_good_rows_come_back_with_arrays(pool: Pool) -> None:
    answer = pool.call(HERE, ["a", "print", "bcd"], None)
    assert isinstance(answer, Answer)
    assert answer.value == ["A", "PRINT", "BCD"]
    assert answer.arrays["length"].tolist() == [1, 5, 3]
    assert answer.arrays["length"].dtype == np.int16


@pytest.mark.parametrize(
    ("bad", "why", "reason"),
    [
        ("busy", "time", "0.5 s of processor time"),
        ("large", "memory", "256 MB"),
        ("crash", "crash", "signal 11"),
        ("fail", "error", "KeyError"),
    ],
)
def test_a_row_that_ends_the_work_is_named_and_costs_no_other(pool: Pool, bad: str, why: str, reason: str) -> None:
    before = dict(pool.lost)
    done = pool.run(HERE, ["a", "b", bad, "c", bad, "d"], None)
    assert {row: lost.why for row, lost in done.lost.items()} == {2: why, 4: why}
    assert reason in done.lost[2].reason
    assert [one for _, answer in done.in_order() for one in answer.value] == ["A", "B", "C", "D"]
    assert pool.lost[why] == before[why] + 2


def test_a_call_ends_in_time_and_the_rest_goes_on(pool: Pool) -> None:
    """Each row takes less than the limit, all together more than the call's share."""
    first = pool.call(HERE, ["slow"] * 8, None, seconds=0.15)
    assert isinstance(first, Answer)
    assert 1 <= first.done < 8
    assert len(first.value) == first.done


def test_a_child_that_is_killed_as_a_whole_starts_again(pool: Pool) -> None:
    pool.call(HERE, ["a"], None)
    child = pool.idle[-1].child
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    assert isinstance(pool.call(HERE, ["a"], None), Answer)


def test_children_end_with_the_pool() -> None:
    psutil = pytest.importorskip("psutil")
    own = Pool(Limits())
    own.call("graphfnp.chemistry.read_rows:are_molecules", ["C"], None)
    child = psutil.Process(own.idle[0].child.pid)
    family = [child, *child.children()]
    assert len(family) == 2
    own.close()
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive


def test_the_child_imports_no_torch() -> None:
    asked = "import sys, graphfnp.chemistry.read_rows, graphfnp.report.molecule; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0


def test_messages_hold_numbers_alone() -> None:
    message = packed({"a": "\ud800"}, {"x": np.arange(6).reshape(2, 3), "none": np.zeros((0, 3), dtype=np.int16)})
    record, arrays = unpacked(exactly(_reader(message)))
    assert record == {"a": "\ud800"}
    assert arrays["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert arrays["none"].shape == (0, 3)
    with pytest.raises(ValueError, match="type"):
        unpacked(exactly(_reader(packed(None, {"x": np.array([None])}))))
    with pytest.raises(EOFError):
        unpacked(exactly(_reader(message[:-1])))
    with pytest.raises(ValueError, match="head"):
        unpacked(exactly(_reader(b"\xff" * 8)))


def _reader(message: bytes):
    left = memoryview(message)

    def read(count: int) -> bytes:
        nonlocal left
        part, left = left[:count], left[count:]
        return bytes(part)

    return read


def test_limits_that_are_none_are_refused() -> None:
    for wrong in ({"seconds": 0}, {"seconds": -1}, {"megabytes": 1}, {"seconds": math.nan}):
        with pytest.raises(InvalidConfig):
            Limits(**wrong)
