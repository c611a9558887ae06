"""A short attack at every door; ``make attack`` is the long one."""

import pytest

from attack import SHARES, attacked

INPUTS = {"smiles": 2000, "graphs": 100, "csv": 60, "parquet": 60, "tu": 100, "archives": 100, "runs": 15}


@pytest.mark.parametrize("door", SHARES)
def test_nothing_breaks_at_this_door(door: str) -> None:
    found = attacked(door, INPUTS[door], seconds=60, seed=1)
    assert not found["crashes"], found.get("said")
    assert found["inputs"] > 0
    assert not found.get("rows lost")
    assert not found.get("5xx")
    assert not found.get("files that are not ours")
