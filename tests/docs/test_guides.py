"""The guides say what is true: their Python runs, and every command they show is one that the program knows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import typer

from graphfnp.cli.app import app

ROOT = Path(__file__).parents[2]
SAYS = {
    "add-a-classifier": "model uncertainty, mean",
    "add-an-explainer": "edge ROC-AUC",
    "explainers": "masks of 3 graphs: 18 nodes, 36 edges",
    "add-a-backbone": "node states of width 32",
    "add-a-dataset": "row 5: 'CC(C)('",
    "add-a-table": "Nothing is missing.",
}
PAGES = sorted({*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")})


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of these languages, in order."""
    fences = re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [text for language, text in fences if language in languages]


@pytest.mark.parametrize("name", SAYS)
def test_the_python_of_a_guide_runs_as_it_stands(name: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(ROOT / "docs" / f"{name}.md", "python")))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout, done.stdout
    assert "Warning" not in done.stderr, done.stderr


def commands(page: Path) -> list[str]:
    """Every ``graphfnp ...`` line in the page's shell blocks, without prompt, comment and description."""
    lines = [line for text in blocks(page, "", "sh", "console") for line in text.replace("\\\n", " ").splitlines()]
    starts = [re.sub(r"^\$ ", "", line) for line in lines]
    bare = [re.split(r"\s{2,}|\s#\s", line)[0].split(" | ")[0] for line in starts if line.startswith("graphfnp ")]
    return [line for line in bare if not line.endswith(":")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_commands_on_a_page_are_known_with_all_their_options(page: Path) -> None:
    for line in commands(page):
        command: click.Command = typer.main.get_command(app)
        words = shlex.split(line)[1:]
        while isinstance(command, click.Group):
            assert words[:1] != [], f"{page.name}: {line} names no command"
            assert words[0] in command.commands, f"{page.name}: {line}"
            command = command.commands[words.pop(0)]
        try:
            command.make_context("graphfnp", words)  # parses, and does not run
        except click.UsageError as error:
            pytest.fail(f"{page.name}: {line}: {error.message}")
