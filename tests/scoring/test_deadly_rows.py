"""A row that ends the process which reads it is refused; the others are read as ever, in short files and long ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.read_smiles import most_rings, too_complex
from graphfnp.chemistry.smiles import graphs_from_smiles
from graphfnp.runs.run import Run
from graphfnp.scoring.engines import read_ahead
from graphfnp.scoring.rows import Chunk
from graphfnp.scoring.score_file import Execution, score_file
from graphfnp.scoring.scorer import read_chunk
from hostile_rows import WORST, ring_of_rings

MANY_NEIGHBOURS = "[U]" + "(C)" * 130


def test_only_the_rows_that_end_a_process_are_refused() -> None:
    texts = ["C" * (1 + row % 5) for row in range(12)]
    texts[5], texts[10] = WORST, WORST
    chunks = [Chunk(k, 4 * k, tuple(texts[4 * k : 4 * k + 4]), {1: "said before"} if k == 1 else {}) for k in range(3)]
    found = list(read_ahead(iter(chunks), lambda chunk: read_chunk(chunk, Target(most_atoms=1000)), 2))
    assert [chunk.number for chunk, _ in found] == [0, 1, 2]
    refused = {chunk.start + row: why for chunk, (_, rows) in found for row, why in rows}
    assert refused == {5: "said before", 10: "reading it takes more than 0.5 s of processor time"}
    for chunk, (arrays, rows) in found:
        kept = [row for row in range(4) if row not in {place for place, _ in rows}]
        expected, _ = read_chunk(Chunk(0, 0, tuple(chunk.texts[row] for row in kept)), Target())
        np.testing.assert_array_equal(arrays["x"], expected["x"])
        assert arrays["row"].tolist() == kept


@pytest.mark.parametrize("workers", [0, 1])
def test_a_short_file_loses_the_row_alone(molecule_run: Run, tmp_path: Path, workers: int) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("\n".join(["smiles", "CCO", WORST, "CCN", MANY_NEIGHBOURS, ""]))
    counts = score_file(molecule_run.model, source, target, execution=Execution(workers=workers))
    assert (counts.rows, counts.failed) == (4, 2)
    records = pd.read_csv(target)
    assert records["status"].tolist() == ["ok", "failed", "ok", "failed"]
    assert "processor time" in records["reason"][1]
    assert "131 neighbours" not in records["reason"][3]
    assert "130 neighbours" in records["reason"][3]


def test_training_data_lose_the_row_alone() -> None:
    graphs, rows, problems = graphs_from_smiles(["CCO", WORST, "CCN"])
    assert graphs is not None
    assert rows.tolist() == [0, 2]
    assert "processor time" in problems[0].reason


def test_what_is_known_to_chemists_is_read() -> None:
    """Twelve rings in a circle were made; fullerenes have 31 in one system."""
    fullerene = (
        "c12c3c4c5c1c6c7c8c2c9c1c3c2c3c4c4c%10c5c5c6c6c7c7c%11c8c9c8c9c1c2c1c2c3c4c3c4c%10c5c5c6c6c7c7c%11c8c8c9c1c1c2"
        "c3c2c4c5c6c3c7c8c1c23"
    )
    graphs, rows, problems = graphs_from_smiles([ring_of_rings(8), fullerene])
    assert rows.tolist() == [0, 1], problems
    assert graphs is not None
    assert graphs.node_ptr.diff().tolist() == [50, 60]


def test_rings_are_counted_by_ring_system() -> None:
    chain = [(k, k + 1) for k in range(9)]
    assert most_rings(_neighbours(10, chain)) == 0
    two_triangles = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)]
    assert most_rings(_neighbours(6, two_triangles)) == 1
    complete = [(a, b) for a in range(20) for b in range(a)]
    assert most_rings(_neighbours(20, complete)) == 171
    assert "171 rings" in (too_complex(500, complete) or "")  # however many lone atoms are beside it


def _neighbours(count: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    return [[b if a == node else a for a, b in edges if node in (a, b)] for node in range(count)]
