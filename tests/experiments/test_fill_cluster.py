"""The same cells through Ray: results equal to the local engine's, failures told, nothing left behind."""

import pytest
from test_fill import cell, wanting

from graphfnp.experiments.fill import fill
from graphfnp.experiments.results import Results

pytest.importorskip("ray", reason="the extra cluster is not installed")
from graphfnp.experiments.fill import fill_cluster


def test_a_cluster_finds_the_numbers_of_the_local_engine(tmp_path):
    cells = [cell(0), cell(1)]
    broken = cell(2, **{"backbone.layers": -1})
    fill(wanting(*cells), Results(tmp_path / "local"), tmp_path / "keep")
    outcome = fill_cluster(wanting(*cells, broken), Results(tmp_path / "ray"), workers=2)
    assert outcome.done == 2
    assert list(outcome.failed) == [str(broken)]
    local, ray = Results(tmp_path / "local"), Results(tmp_path / "ray")
    assert [local[one]["test"] for one in cells] == [ray[one]["test"] for one in cells]
