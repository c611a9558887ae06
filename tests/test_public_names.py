"""The names at the package root: all there, typed, and free until used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import graphfnp


def test_every_public_name_exists():
    for name in graphfnp.__all__:
        assert getattr(graphfnp, name) is not None


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(graphfnp.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (alias.name, f"graphfnp.{graphfnp._HOME_OF[alias.name]}", statement.module)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert {name for name, _, _ in typed} == set(graphfnp.__all__) - {"__version__"}
    assert all(at_run_time == for_checkers for _, at_run_time, for_checkers in typed)


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(AttributeError, match="predict"):
        graphfnp.perdict  # noqa: B018


def test_importing_the_package_does_not_import_torch():
    code = "import graphfnp, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
