"""The wheel in an environment of its own: it has all that the package reads, and answers without the source tree."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "graphfnp"
READ_AT_RUN_TIME = (".html", ".css", ".js", ".svg", ".csv", ".json", ".safetensors", ".md", ".txt", ".typed")


def run(*words: object, folder: Path) -> str:
    environment = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(folder)}
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what git knows, beside the project: no folder of an earlier build can help."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "src", "pyproject.toml", "README.md", "LICENSE"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "source" / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    run(*pip, "-w", folder, folder / "source", folder=folder)
    (found,) = folder.glob("graphfnp-*.whl")
    return found


def test_the_wheel_has_every_file_that_the_package_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        inside = set(packed.namelist())
    wanted = {
        f"graphfnp/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.suffix in (*READ_AT_RUN_TIME, ".py") and "__pycache__" not in path.parts
    }
    assert not wanted - inside
    assert {"graphfnp/service/page/panel.html", "graphfnp/bundled/bbbp/model.safetensors"} <= inside


def test_the_installed_wheel_predicts_serves_and_exports(wheel: Path, tmp_path: Path) -> None:
    """Libraries come from the environment of the tests by a path, which brings no editable package with it."""
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False, symlinks=True)
    python = bare / "bin" / "python"
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=tmp_path).strip())
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        wheel,
        folder=tmp_path,
    )
    (own / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    place = run(python, "-c", "import graphfnp; print(graphfnp.__file__)", folder=tmp_path)
    assert place.startswith(str(own))
    program = bare / "bin" / "graphfnp"
    assert "permeable" in run(program, "predict", "bbbp", "CCO", folder=tmp_path)
    run(program, "export", "bbbp", "model.zip", folder=tmp_path)
    assert "permeable" in run(program, "predict", "model.zip", "CCO", folder=tmp_path)
    page = "from graphfnp.service.app import PAGE; print(*sorted(one.name for one in PAGE.iterdir()))"
    assert "index.html" in run(python, "-c", page, folder=tmp_path)
