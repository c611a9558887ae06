"""The notebook runs as it stands, and what is kept of it is the outcome of a run."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbclient")
DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from run_notebook import NOTEBOOK, executed  # noqa: E402


def texts(notebook: dict) -> str:
    outputs = [one for cell in notebook["cells"] for one in cell.get("outputs", ())]
    return "".join("".join(one.get("text", "")) + "".join(one.get("data", {}).get("text/plain", "")) for one in outputs)


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_and_ends_in_decisions_and_measures() -> None:
    said = texts(executed())
    assert "8 rows, 1 could not be read" in said
    assert "correct the SMILES" in said
    assert "noisy-logits" in said


def test_what_is_kept_was_run_in_order_and_names_no_machine() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kept = json.dumps(notebook)
    assert "/work/" not in kept
    assert "/home/" not in kept
    assert "Warning" not in texts(notebook)
