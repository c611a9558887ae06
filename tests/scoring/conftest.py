"""A small run on molecules, and a file of rows with every kind of trouble."""

from pathlib import Path

import pandas as pd
import pytest
from molecule_rows import AMINES, OTHERS

from graphfnp.runs.run import Plan, Run, execute
from tiny_graphs import TINY_TRAINING, small


@pytest.fixture(scope="session")
def molecule_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A very small GraphFNP that tells amines from others; tests must not write into it."""
    folder = tmp_path_factory.mktemp("scoring")
    table = pd.DataFrame({"smiles": AMINES + OTHERS, "kind": ["amine"] * len(AMINES) + ["other"] * len(OTHERS)})
    pd.concat([table] * 3).to_csv(folder / "train.csv", index=False)
    plan = Plan(
        str(folder / "train.csv"), overrides=small("graphfnp"), training=TINY_TRAINING, data_options={"label": "kind"}
    )
    return execute(plan, folder / "run")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Chunks of 16 rows, so that a short file has many."""
    from graphfnp.scoring import engines, rows, score_file

    for module in (engines, rows, score_file):
        monkeypatch.setattr(module, "CHUNK", 16)
    return 16


@pytest.fixture
def broken_file(tmp_path: Path) -> Path:
    """1000 rows of which ten cannot be used: no SMILES, bad ones, wrong encoding, polymers."""
    from molecule_rows import with_broken_rows

    path = tmp_path / "in.csv"
    path.write_bytes(with_broken_rows(1000))
    return path
