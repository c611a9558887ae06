"""Moving code changes no number, record, key or name: all are as they were frozen."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from freeze import FROZEN, frozen


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    return frozen()


EXPECTED = json.loads(FROZEN.read_text())


def differences(expected: Any, given: Any, where: str = "") -> list[str]:
    """Where two JSON values differ; numbers may differ as they do between machines."""
    if isinstance(expected, float) and isinstance(given, int | float):
        return [] if given == pytest.approx(expected, rel=1e-2, abs=2e-3) else [f"{where}: {expected} -> {given}"]
    if isinstance(expected, dict) and isinstance(given, dict) and expected.keys() == given.keys():
        return [line for name in expected for line in differences(expected[name], given[name], f"{where}/{name}")]
    if isinstance(expected, list) and isinstance(given, list) and len(expected) == len(given):
        pairs = enumerate(zip(expected, given, strict=True))
        return [line for k, (old, new) in pairs for line in differences(old, new, f"{where}/{k}")]
    return [] if expected == given else [f"{where}: {expected} -> {given}"]


@pytest.mark.parametrize("part", EXPECTED)
def test_nothing_has_changed_that_was_frozen(part: str, now: dict[str, Any]) -> None:
    assert not differences(EXPECTED[part], now[part]), "if this was meant: python tests/golden/freeze.py"


def test_all_that_is_measured_was_frozen(now: dict[str, Any]) -> None:
    assert now.keys() == EXPECTED.keys()
