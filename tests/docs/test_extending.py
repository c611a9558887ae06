"""A package of another's, made by following docs/extending.md: its members stand beside ours, by name."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from graphfnp.errors import InvalidConfig
from graphfnp.methods.registry import Method
from graphfnp.plugins import Registry

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()


def installed(folder: Path, project: str = "", modules: dict[str, str] | None = None) -> Path:
    """A folder for the Python path with the package and the .dist-info that pip would write."""
    if not project:
        project = re.search(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
        modules = dict(re.findall(r'^```python title="(.*?)"\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE))
    described = tomllib.loads(project)["project"]
    for path, text in {"my_graphs/__init__.py": "", **(modules or {})}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    about = folder / "my_graphs-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-graphs\nVersion: 0.1\n")
    lines = [
        line
        for group, points in described["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines))
    return folder


def graphfnp(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "graphfnp", *arguments]
    return subprocess.run(command, env=environment, cwd=site, capture_output=True, text=True, check=False, timeout=300)


def test_a_method_an_explainer_and_a_dataset_of_another_package_are_used_by_name(tmp_path: Path) -> None:
    site = installed(tmp_path)
    rows = json.loads(graphfnp(site, "data", "list", "--json").stdout)
    assert [row["graphs"] for row in rows if row["name"] == "wheels"] == [60]
    settings = ("--set", "smoothing=0.2", "--set", "backbone.width=16", "--epochs", "2", "--no-report")
    done = graphfnp(site, "train", "wheels", "--method", "smooth", *settings, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert json.loads((site / "run" / "config.json").read_text())["method"] == "smooth"
    done = graphfnp(site, "explain", "run", "wheels", "--explainer", "hubs", "--rows", "0,1")
    assert done.returncode == 0, done.stderr
    assert (site / "run" / "hubs" / "explanations.json").is_file()
    without = subprocess.run(
        [sys.executable, "-m", "graphfnp", "predict", "run", "wheels"],
        cwd=site, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    assert without.returncode != 0
    assert "install the package" in without.stderr + without.stdout


@pytest.mark.parametrize(
    ("code", "says"), [("1 / 0", "ZeroDivisionError"), ("METHOD = 7", "a graphfnp.methods.registry.Method")]
)
def test_a_package_that_is_broken_is_named_and_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    project = '[project]\nname = "x"\n[project.entry-points."graphfnp.methods"]\nsmooth = "my_graphs.method:METHOD"'
    monkeypatch.syspath_prepend(str(installed(tmp_path, project, {"my_graphs/method.py": code})))
    for module in ("my_graphs", "my_graphs.method"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    registry = Registry("graphfnp.methods", Method, {"ours": Method(dict, None)})
    assert list(registry) == ["ours", "smooth"]
    assert registry["ours"].classifier is dict
    with pytest.raises(InvalidConfig) as error:
        registry["smooth"]
    assert "my-graphs" in str(error.value)
    assert says in str(error.value)


def test_a_name_of_ours_cannot_be_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = '[project]\nname = "x"\n[project.entry-points."graphfnp.methods"]\nours = "my_graphs.method:METHOD"'
    monkeypatch.syspath_prepend(str(installed(tmp_path, project, {"my_graphs/method.py": "1 / 0"})))
    registry = Registry("graphfnp.methods", Method, {"ours": Method(dict, None)})
    assert list(registry) == ["ours"]
    assert registry["ours"].classifier is dict
