"""Names of small graphs."""

import pytest

from graphfnp.datasets.ba2motifs import CYCLE, HOUSE
from graphfnp.graphs.structure import motif_name
from tiny_graphs import plain


@pytest.mark.parametrize(
    ("edges", "name"),
    [
        (CYCLE, "cycle of 5 nodes"),
        (HOUSE, "house"),
        ([*CYCLE, (0, 5)], "cycle of 5 nodes with 1 more"),
        ([(0, 1), (0, 2), (0, 3)], "star of 4 nodes"),
        ([(0, 1), (1, 2)], "path of 3 nodes"),
        ([(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)], "tree of 6 nodes"),
    ],
)
def test_motifs_have_names(edges: list, name: str) -> None:
    assert motif_name(plain(*edges)) == name
