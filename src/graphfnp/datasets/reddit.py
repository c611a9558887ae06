"""Graphs as ``{"0": [[u, v], ...]}`` with a table ``id,target``: reddit10k, and github_stargazers as SNAP has it."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import torch

from graphfnp.datasets.archives import member_bytes
from graphfnp.errors import InvalidGraphs, MissingData, listed
from graphfnp.graphs.edges import DEGREE_SIZE, degree_feature, global_edges, tidy_edges
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pointers import pointer_array


def read_edge_lists(
    place: str | Path, edges_file: str, target_file: str, class_names: tuple[str, ...]
) -> tuple[PackedGraphs, tuple[str, ...]]:
    """Graphs with degree features, in the order of the table, and notes of what had to be mended.

    A graph's nodes are 0 to the largest number in its edges.
    """
    place = Path(place)
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
        raise InvalidGraphs(f"{edges_file}: {error}", "lists of [node, node]", "mend the file") from error
    if len(pairs) != counts.sum() or (counts == 0).any() or pairs.min(initial=0) < 0:
        raise InvalidGraphs(
            f"an edge of {edges_file} that is no pair of nodes", "lists of [node, node]", "mend the file"
        )
    node_ptr = pointer_array(np.maximum.reduceat(pairs.max(1), pointer_array(counts)[:-1]) + 1)
    offset = np.repeat(node_ptr[:-1], counts)
    tidy = tidy_edges(pairs[:, 0] + offset, pairs[:, 1] + offset, node_ptr)
    ptr = torch.from_numpy(node_ptr)
    graphs = PackedGraphs.build(
        x=degree_feature(global_edges(tidy.edge_index, ptr, tidy.edge_ptr), int(ptr[-1])),
        edge_index=tidy.edge_index,
        node_ptr=ptr,
        edge_ptr=tidy.edge_ptr,
        y=torch.tensor(list(targets.values())),
        schema=Schema(class_names=class_names, node_sizes=(DEGREE_SIZE,), features="degree"),
    )
    return graphs, tuple(note for note in tidy.notes if not note.endswith("mirrored"))  # one direction is the format


def _edges_of(place: Path, file: str) -> dict[int, list[list[int]]]:
    try:
        return {int(graph): edges for graph, edges in json.loads(_content(place, file)).items()}
    except (ValueError, AttributeError) as error:
        raise InvalidGraphs(f"{file}: {error}", '{"0": [[u, v], ...], ...}', "mend the file") from error


def _targets(place: Path, file: str) -> dict[int, int]:
    header, *lines = _content(place, file).decode("utf-8-sig").split()
    try:
        pairs = [tuple(map(int, line.split(","))) for line in lines]
        return dict(pairs)  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidGraphs(f"{file} under {header}: {error}", "lines id,target", "mend the file") from error


def _content(place: Path, file: str) -> bytes:
    content = member_bytes(place, file)
    if not content:
        raise MissingData(f"no {file} in {place}", f"{file}, plain or gzipped", "add the file")
    return content
