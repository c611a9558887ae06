"""The verb ``load``: a name, a path or graphs in memory become a Dataset."""

from typing import Any

import torch

from graphfnp.datasets.ba2motifs import generate_ba2motifs
from graphfnp.datasets.dataset import Dataset, Split
from graphfnp.errors import MissingData
from graphfnp.graphs import PackedGraphs
from graphfnp.randomness import stream


def load(source: Any, *, seed: int = 0) -> Dataset:
    """Graphs with their split."""
    if source == "ba2motifs":
        graphs = generate_ba2motifs()
        return Dataset("ba2motifs", graphs, _random_split(graphs, seed), facts={"origin": "generated"})
    raise MissingData(f"dataset {source!r}", "ba2motifs", "choose a known name")


def _random_split(graphs: PackedGraphs, seed: int) -> Split:
    order, n = torch.randperm(len(graphs), generator=stream(seed, "split")), len(graphs)
    cut, end = int(0.8 * n), int(0.9 * n)
    return Split(
        order[:cut].sort().values, order[cut:end].sort().values, order[end:].sort().values, f"random, seed {seed}"
    )
