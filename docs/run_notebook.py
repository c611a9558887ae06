"""Run docs/notebook.ipynb and keep what it shows: ``make notebook``."""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parent / "notebook.ipynb"


def executed(path: Path = NOTEBOOK) -> nbformat.NotebookNode:
    """The notebook after a run in its own folder; an error in a cell is an error here."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # the time of each cell would change with every run
        if cell.cell_type == "code":  # warnings name folders of the machine
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    nbformat.write(executed(), NOTEBOOK)
    print(f"{NOTEBOOK.name} was run", file=sys.stderr)
