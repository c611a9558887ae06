"""The README's table of NLL says what the cells say."""

from pathlib import Path

import pytest

from graphfnp.experiments.results import Results
from graphfnp.experiments.summary import summaries
from graphfnp.experiments.tables import TABLES

ROOT = Path(__file__).parents[2]
METHODS = {
    "GraphFNP": "graphfnp", "without rationales": "no-rationales", "literal method": "paper",
    "plain network": "vanilla", "five networks": "deep-ensemble", "random forest": "forest",
}  # fmt: skip


def test_the_readme_prints_the_mean_nll_of_complete_rows():
    table = TABLES["calibration"].only(backbones=["gcn"])
    known = {(one["dataset"], one["method"]): one for one in summaries(table, Results(ROOT / "results" / "cells"))}
    lines = [line.strip("| ").split(" | ") for line in (ROOT / "README.md").read_text().splitlines() if "|" in line]
    start = next(number for number, cells in enumerate(lines) if "plain network" in cells)
    heads, rows = lines[start], [cells for cells in lines[start + 2 :] if cells[0] in table.columns]
    assert len(rows) == 7
    for dataset, *cells in rows:
        for head, cell in zip(heads, cells, strict=True):
            entry = known[dataset, METHODS[head]]
            assert entry["complete"]
            raw, soft = map(float, cell.split(" / "))
            assert raw == pytest.approx(entry["nll_raw_mean"], abs=6e-4), (dataset, head)
            assert soft == pytest.approx(entry["nll_mean"], abs=6e-4), (dataset, head)
