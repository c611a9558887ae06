"""Container, unit and demo: the commands they start are known with all their options, and what they copy exists."""

import json
import re
import shlex
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer

from graphfnp.cli.app import app, main

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
UNIT = (ROOT / "deploy" / "graphfnp.service").read_text()


def check(words: list[str]) -> Any:
    """Parses, and does not run."""
    command: Any = typer.main.get_command(app)
    return command.commands[words[0]].make_context("graphfnp", words[1:])


def instruction(name: str) -> list[str]:
    return json.loads(re.findall(rf"^{name} (\[.*\])$", DOCKERFILE, re.MULTILINE)[-1])


def test_the_container_starts_a_service_that_its_health_check_reaches() -> None:
    program, *words = instruction("ENTRYPOINT")
    assert program == "graphfnp"
    started = check([*words, *instruction("CMD")])
    assert (started.params["host"], str(started.params["run"])) == ("0.0.0.0", "bbbp")
    checked = re.search(r'CMD \["python", "-m", "([\w.]+)", "http://127.0.0.1:(\d+)"\]', DOCKERFILE)
    assert checked is not None
    assert checked[1] == "graphfnp.service.client"
    assert int(checked[2]) == started.params["port"]
    assert re.search(r"^USER graphfnp$", DOCKERFILE, re.MULTILINE)


def test_all_that_the_container_copies_is_there_and_not_ignored() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists(), name
            assert name in kept, name


def test_the_unit_starts_a_service_and_waits_for_its_end() -> None:
    line = re.search(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    assert line is not None
    program, *words = shlex.split(line[1])
    assert program.endswith("/bin/graphfnp")
    check(words)
    from graphfnp.service.config import ServiceConfig

    patience = re.search(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert patience is not None
    assert int(patience[1]) > ServiceConfig().shutdown_seconds + ServiceConfig().drain_seconds


def test_the_demo_installs_no_extra_but_the_service() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "demo: $(RUNTIME)" in makefile
    recipe = makefile.split("$(RUNTIME): ")[1].split("\n\n")[0]
    assert re.findall(r"'\.\[(.*?)\]'", recipe) == ["service"]
    for line in re.findall(r"\$\(BIN\)/graphfnp ((?:demo|predict) .*)", makefile):
        check(shlex.split(line))


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code in (0, None)
    assert capsys.readouterr().out.strip() == f"graphfnp {version('graphfnp')}"


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    called = {"torch": "pytorch", "torch_geometric": "pytorch_geometric", "matplotlib": "matplotlib-base"}
    called |= {"lightning-fabric": "pytorch-lightning", "prometheus-client": "prometheus_client"}
    recipe = (ROOT / "conda" / "meta.yaml").read_text()
    asked = set(re.findall(r"^    - (\S+ >=[\d.]+)", recipe, re.MULTILINE))
    wanted = [*project["dependencies"], *project["optional-dependencies"]["service"]]
    pairs = [one.split(">=") for one in wanted]
    assert {f"{called.get(name, name)} >={bound}" for name, bound in pairs} <= asked
    assert f"python {project['requires-python']}" in asked
    for line in re.findall(r"^    - graphfnp (\w.*)$", recipe, re.MULTILINE):
        check(shlex.split(line))
