"""Graphs as ``{"0": [[u, v], ...]}`` with a table ``id,target``: reddit10k, and github_stargazers as SNAP has it."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from graphfnp.datasets.archives import required_bytes
from graphfnp.datasets.dataset import Reading
from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs.edges import tidy_edges
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pointers import pointer_array


def read_edge_lists(place: Path, edges_file: str, target_file: str, class_names: tuple[str, ...]) -> Reading:
    """Graphs with degree features, in the order of the table; a graph's nodes are 0 to the largest in its edges."""
    lists = _edges_of(place, edges_file)
    targets = _targets(place, target_file)
    missing, extra = sorted(targets.keys() - lists.keys()), sorted(lists.keys() - targets.keys())
    if missing or extra:
        raise InvalidGraphs(
            f"{len(missing)} graphs without edges ({listed(missing)}), {len(extra)} without a target ({listed(extra)})",
            f"the same graphs in {edges_file} and {target_file}",
            "check that both files belong together",
        )
    counts = np.array([len(lists[graph]) for graph in targets])
    flat = [lists[graph] for graph in targets]
    try:
        pairs = np.fromiter(chain.from_iterable(chain.from_iterable(flat)), dtype=np.int64).reshape(-1, 2)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGraphs(f"{edges_file}: {error}", "lists of [node, node]", "correct the file") from error
    if len(pairs) != counts.sum() or (counts == 0).any() or pairs.min(initial=0) < 0:
        raise InvalidGraphs(
            f"an edge of {edges_file} that is not a pair of nodes", "lists of [node, node]", "correct the file"
        )
    node_ptr = pointer_array(np.maximum.reduceat(pairs.max(1), pointer_array(counts)[:-1]) + 1)
    offset = np.repeat(node_ptr[:-1], counts)
    tidy = tidy_edges(pairs[:, 0] + offset, pairs[:, 1] + offset, node_ptr)
    y, schema = torch.tensor(list(targets.values())), Schema.of_degrees(class_names)
    graphs = PackedGraphs.build(None, tidy.edge_index, torch.from_numpy(node_ptr), tidy.edge_ptr, y, schema)
    notes = tuple(note for note in tidy.notes if not note.endswith("mirrored"))  # one direction is the format
    return Reading(graphs, notes)


def _edges_of(place: Path, file: str) -> dict[int, list[list[int]]]:
    try:
        return {int(graph): edges for graph, edges in json.loads(required_bytes(place, file, "edges")).items()}
    except (ValueError, AttributeError) as error:
        raise InvalidGraphs(f"{file}: {error}", '{"0": [[u, v], ...], ...}', "correct the file") from error


def _targets(place: Path, file: str) -> dict[int, int]:
    _, *lines = required_bytes(place, file, "a line id,target for each graph").decode("utf-8-sig").split() or [""]
    try:
        pairs = [tuple(map(int, line.split(","))) for line in lines]
        return dict(pairs)  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidGraphs(f"{file}: {error}", "a header, then lines id,target", "correct the file") from error
