"""What each door imports: start-up is most of the time that small inputs take."""

import subprocess
import sys
from pathlib import Path

import pytest

# Only training, reports, explainers and fits need these, and each takes a tenth of a second to several seconds.
SLOW = (
    "lightning", "lightning_fabric", "matplotlib", "networkx", "pandas", "ray", "scipy", "sklearn", "sympy",
    "torch._dynamo", "torch_geometric", "transformers",
)  # fmt: skip
HEAVY = (*SLOW, "fastapi", "numpy", "pyarrow", "rdkit", "torch")

COMMAND = """
import sys
from graphfnp.cli.app import main
try:
    main({arguments!r})
except SystemExit as stop:
    assert not stop.code, stop.code
"""
SERVICE = """
from pathlib import Path
from graphfnp.runs.bundles import open_run
from graphfnp.runs.decoded import decoded_of_run
from graphfnp.service.app import make_app
from graphfnp.service.config import ServiceConfig
from graphfnp.service.engine import Engine
from graphfnp.service.server import listen
run = open_run("bbbp")
make_app(Engine(run, decoded_of_run(run, None), ServiceConfig()))
"""
PYTHON = """
import graphfnp
from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.runs.bundles import FOLDER
model = graphfnp.load_model(FOLDER / "bbbp")
graphs, _, _ = graphs_from_smiles(["CCO"], schema=model.classifier.schema)
assert len(graphfnp.predict(model, graphs).probabilities) == 1
"""


def imported(script: str, names: tuple[str, ...], folder: Path) -> list[str]:
    """Which of the modules a fresh Python has imported after the script."""
    asked = f"\nimport sys\nprint('imported:', *[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script + asked], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["predict", "--help"], ["serve", "--help"], ["data", "--help"]], ids=" ".join
)
def test_help_imports_no_library_that_computes(arguments: list[str], tmp_path: Path) -> None:
    assert imported(COMMAND.format(arguments=arguments), HEAVY, tmp_path) == []


@pytest.mark.parametrize("options", [[], ["--json"], ["-o", "out.csv"], ["-o", "out.parquet"]], ids=" ".join)
def test_predicting_a_molecule_imports_what_the_model_needs_and_no_more(options: list[str], tmp_path: Path) -> None:
    assert imported(COMMAND.format(arguments=["predict", "bbbp", "CCO", *options]), SLOW, tmp_path) == []


@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_predicting_a_file_imports_what_the_model_needs_and_no_more(target: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("smiles,name\nCCO,ethanol\nc1ccccc1,benzene\nnonsense,none\n")
    arguments = ["predict", "bbbp", "in.csv", "-o", target]
    assert imported(COMMAND.format(arguments=arguments), SLOW, tmp_path) == []
    assert (tmp_path / target).stat().st_size > 0


def test_predicting_from_python_imports_what_the_model_needs_and_no_more(tmp_path: Path) -> None:
    assert imported(PYTHON, SLOW, tmp_path) == []


def test_a_service_starts_without_what_only_training_and_reports_need(tmp_path: Path) -> None:
    # The answers in its documentation are the model's own, made while it starts, and an explanation takes NetworkX.
    assert imported(SERVICE, SLOW, tmp_path) in ([], ["networkx"])


def test_a_process_that_reads_molecules_imports_neither_torch_nor_tables(tmp_path: Path) -> None:
    script = """
import graphfnp.isolation.worker
from importlib import import_module
for module in ("graphfnp.chemistry.read_rows", "graphfnp.report.molecule"):
    import_module(module)
"""
    assert imported(script, (*SLOW, "torch", "pyarrow", "typer"), tmp_path) == []


def test_the_process_that_reads_starts_before_torch_is_imported(tmp_path: Path) -> None:
    script = """
from graphfnp.chemistry.reading import reading_pool
pool = reading_pool()
pool.start()
assert len(pool.idle) == 1
"""
    assert imported(script, ("torch",), tmp_path) == []
