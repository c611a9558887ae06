"""Graphs that tests of several baselines share."""

import pytest

from graphfnp.graphs.packed import Batch, PackedGraphs
from tiny_graphs import shapes


@pytest.fixture(scope="module")
def graphs() -> PackedGraphs:
    return shapes(12)


@pytest.fixture(scope="module")
def batch(graphs: PackedGraphs) -> Batch:
    return graphs.batch()
