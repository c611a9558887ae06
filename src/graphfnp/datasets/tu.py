"""The TU format: A, graph_indicator, graph_labels and optional labels and attributes, as text in a folder or a zip."""

import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from graphfnp.datasets.archives import member_bytes, required_bytes
from graphfnp.datasets.dataset import Reading
from graphfnp.errors import InvalidGraphs, MissingData, listed
from graphfnp.graphs.edges import DEGREE_SIZE, Integers, TidyEdges, tidy_edges
from graphfnp.graphs.labels import label_numbers
from graphfnp.graphs.packed import PackedGraphs, Schema
from graphfnp.graphs.pointers import pointer_array


@dataclass(frozen=True)
class TUNames:
    """Names for the numbers of the files, by their value there; the folder's readme fills what is not given."""

    kind: Literal["graph", "molecule"] = "graph"
    classes: Mapping[int, str] = field(default_factory=dict)
    nodes: Mapping[int, str] = field(default_factory=dict)
    edges: Mapping[int, str] = field(default_factory=dict)


def read_tu(place: Path, name: str | None = None, names: TUNames | None = None) -> Reading:
    """Graphs of a TU folder or zip.

    Node labels are the features; without them the node attributes; without both the degree.
    """
    name = name or tu_name(place)
    names = names or TUNames()
    said = read_names(place, name)
    owner = read_numbers(place, name, "graph_indicator")
    labels = read_labels(place, name)
    order, node_ptr = _grouped(owner, len(labels), name)
    source, target = _edges(read_numbers(place, name, "A", columns=2), owner, order, name)
    tidy = tidy_edges(source, target, node_ptr)
    edge_attr, edge_part = _edge_types(place, name, tidy, {**said["edge"], **names.edges}, len(source))
    truth = read_numbers(place, name, "edge_gt", rows=len(source), optional=True)
    x, node_part, notes = _nodes(place, name, order, {**said["node"], **names.nodes})
    y, class_names = label_numbers(labels)
    called = {str(value): word for value, word in {**said["class"], **names.classes}.items()}
    schema = Schema(
        class_names=tuple(called.get(one, one) for one in class_names), kind=names.kind, **node_part, **edge_part
    )
    graphs = PackedGraphs.build(
        x, tidy.edge_index, torch.from_numpy(node_ptr), tidy.edge_ptr, y, schema, edge_attr,
        node_type=None if x is None or "node_types" not in node_part else x[:, 0],
        edge_truth=None if truth is None else torch.from_numpy(truth[tidy.row, 0] != 0),
    )  # fmt: skip
    return Reading(graphs, (*tidy.notes, *notes))


def tu_name(place: Path) -> str:
    """The dataset's name: what stands before ``_graph_indicator.txt``."""
    if place.is_dir():
        found = [path.name for path in place.iterdir()]
    elif zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            found = [member.rsplit("/", 1)[-1] for member in archive.namelist()]
    else:
        raise MissingData(f"{place}", "a folder or a zip file", "check the path")
    stems = sorted({match[1] for one in found if (match := re.fullmatch(r"(.+)_graph_indicator\.txt(\.gz)?", one))})
    if len(stems) != 1:
        raise MissingData(
            f"{place} with {f'several datasets: {listed(stems)}' if stems else 'no NAME_graph_indicator.txt'}",
            "the files NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt of one dataset",
            "check the folder",
        )
    return stems[0]


# ------------------------------------------------------------------------ the parts


def _grouped(owner: Integers, num_graphs: int, name: str) -> tuple[Integers, Integers]:
    """Node order that brings each graph's nodes together, and the pointer of the graphs."""
    ids = owner[:, 0]
    if ids.size and (ids.min() < 1 or ids.max() > num_graphs):
        raise InvalidGraphs(
            f"graph numbers {ids.min()} to {ids.max()} in {name}_graph_indicator.txt",
            f"1 to {num_graphs}, the number of lines of {name}_graph_labels.txt",
            "check that both files belong together",
        )
    sizes = np.bincount(ids - 1, minlength=num_graphs)
    return np.argsort(ids, kind="stable"), pointer_array(sizes)


def _edges(pairs: Integers, owner: Integers, order: Integers, name: str) -> tuple[Integers, Integers]:
    """Source and target by the new order of nodes; every edge inside one graph."""
    ids, lines = owner[:, 0], pairs - 1
    outside = ((lines < 0) | (lines >= len(ids))).any(1)
    if outside.any():
        line = int(np.flatnonzero(outside)[0])
        raise InvalidGraphs(
            f"line {line + 1} of {name}_A.txt: {pairs[line].tolist()} ({int(outside.sum())} such lines)",
            f"node numbers 1 to {len(ids)}, the number of lines of {name}_graph_indicator.txt",
            "nodes are counted from 1",
        )
    across = ids[lines[:, 0]] != ids[lines[:, 1]]
    if across.any():
        line = int(np.flatnonzero(across)[0])
        raise InvalidGraphs(
            f"line {line + 1} of {name}_A.txt joins graphs {ids[lines[line]].tolist()}"
            f" ({int(across.sum())} such lines)",
            "edges inside one graph",
            f"check that {name}_A.txt and {name}_graph_indicator.txt belong together",
        )
    position = np.empty(len(ids), dtype=np.int64)
    position[order] = np.arange(len(ids))
    return position[lines[:, 0]], position[lines[:, 1]]


def _nodes(
    place: Path, name: str, order: Integers, called: Mapping[int, str]
) -> tuple[Tensor | None, dict[str, Any], tuple[str, ...]]:
    labels = read_numbers(place, name, "node_labels", rows=len(order), optional=True)
    if labels is not None:
        x, sizes, names = _categories(labels[order], called)
        part: dict[str, Any] = {"node_sizes": sizes}
        if len(sizes) == 1:
            part |= {"features": "types", "node_types": names}
        left_out = member_bytes(place, f"{name}_node_attributes.txt") is not None
        return x, part, ("node attributes left out: node labels are the features",) if left_out else ()
    attributes = read_numbers(place, name, "node_attributes", rows=len(order), optional=True, whole=False)
    if attributes is not None:
        return torch.from_numpy(attributes[order]).float(), {"node_width": attributes.shape[1]}, ()
    return None, {"node_sizes": (DEGREE_SIZE,), "features": "degree"}, ()


def _edge_types(
    place: Path, name: str, tidy: TidyEdges, called: Mapping[int, str], rows: int
) -> tuple[Tensor | None, dict[str, Any]]:
    labels = read_numbers(place, name, "edge_labels", rows=rows, optional=True)
    if labels is None or not len(labels):
        return None, {}
    edge_attr, sizes, names = _categories(labels, called)
    return edge_attr[tidy.row], {"edge_sizes": sizes, "edge_types": names}


def _categories(labels: Integers, called: Mapping[int, str]) -> tuple[Tensor, tuple[int, ...], tuple[str, ...]]:
    """The labels as numbers from 0, how many there are in each column, and the names of those of the first."""
    values = [np.unique(column, return_inverse=True) for column in labels.T]
    names = tuple(called.get(value, f"type {value}") for value in values[0][0].tolist())
    numbers = torch.from_numpy(np.stack([numbers for _, numbers in values], axis=1))
    return numbers, tuple(len(kinds) for kinds, _ in values), names


ATOMS = ("C", "O", "Cl", "H", "N", "F", "Br", "S", "P", "I", "Na", "K", "Li", "Ca")
NAMES = TUNames(
    kind="molecule",
    classes={0: "mutagen", 1: "nonmutagen"},
    nodes=dict(enumerate(ATOMS)),
    edges={0: "single", 1: "double", 2: "triple"},
)


def read_mutagenicity(place: Path) -> Reading:
    """The TU files; edges of ``edge_gt`` where that file is, else those of the same groups found here."""
    reading = read_tu(place, "Mutagenicity", NAMES)
    if reading.graphs.edge_truth is not None:
        return reading
    graphs = replace(reading.graphs, edge_truth=amino_and_nitro_edges(reading.graphs))
    return Reading(graphs, (*reading.notes, "edge ground truth found by structure: bonds of NH2 and NO2"))


def amino_and_nitro_edges(graphs: PackedGraphs) -> Tensor:
    """[edges]: N-H where N has three neighbours, two of them H and none O; N-O where two of three are O.

    This is exactly the published ground truth.
    """
    kinds = graphs.schema.node_types
    source, target = graphs.global_edge_index
    is_a = {atom: graphs.x[:, 0] == kinds.index(atom) for atom in ("N", "H", "O")}
    count = {atom: torch.bincount(target[mask[source]], minlength=len(graphs.x)) for atom, mask in is_a.items()}
    nitrogen = is_a["N"] & (torch.bincount(target, minlength=len(graphs.x)) == 3)
    amino = nitrogen & (count["H"] == 2) & (count["O"] == 0)
    nitro = nitrogen & (count["O"] == 2)

    def bonds(centre: Tensor, end: Tensor) -> Tensor:
        return (centre[source] & end[target]) | (centre[target] & end[source])

    return bonds(amino, is_a["H"]) | bonds(nitro, is_a["O"])


# ------------------------------------------------------------------------ the text files


def _required_files(name: str) -> str:
    return ", ".join(f"{name}_{part}.txt" for part in ("A", "graph_indicator", "graph_labels"))


def read_numbers(
    place: Path, name: str, what: str, *, columns: int | None = None, rows: int | None = None,
    optional: bool = False, whole: bool = True,
) -> Any:  # fmt: skip
    """One file as an array [lines, columns], whole numbers unless said otherwise; None if optional and not there."""
    file = f"{name}_{what}.txt"
    if optional and member_bytes(place, file) is None:
        return None
    content = required_bytes(place, file, _required_files(name))
    if not content.strip():
        values = np.zeros((0, columns or 1))
    else:
        import pandas as pd  # slow to import, and only this needs it

        try:
            text = content.decode("utf-8-sig").replace(",", " ")
            values = pd.read_csv(io.StringIO(text), sep=r"\s+", header=None, quoting=3).to_numpy()
        except (ValueError, OverflowError) as error:  # UnicodeDecodeError and pandas' own are ValueErrors
            raise InvalidGraphs(
                f"{file}: {error}", "numbers, the same count in every line", "correct the file"
            ) from error
    if values.dtype.kind not in "iuf" or (whole and not _are_whole(values)):
        raise InvalidGraphs(
            f"{file} with {listed(_strange(values, whole))}",
            f"{'whole ' if whole else ''}numbers, the same count in every line",
            "correct the file",
        )
    if columns is not None and values.shape[1] != columns:
        raise InvalidGraphs(f"{file} with {values.shape[1]} columns", f"{columns} columns", "correct the file")
    if rows is not None and len(values) != rows:
        raise InvalidGraphs(
            f"{file} with {len(values)} lines", f"{rows} lines, as the files it belongs to", "correct the file"
        )
    return values.astype(np.int64) if whole else values.astype(np.float64)


def _are_whole(values: Any) -> bool:
    return bool((np.isfinite(values) & (np.abs(values) < 2**53)).all() and (values == np.floor(values)).all())


def _strange(values: Any, whole: bool) -> list[str]:
    """The first fields that are not what a number should be."""

    def fine(field: Any) -> bool:
        try:
            return float(field).is_integer() or not whole
        except (ValueError, OverflowError):
            return False

    return [
        f"{field!r} in line {line + 1}" for line, row in enumerate(values.tolist()) for field in row if not fine(field)
    ]


def read_labels(place: Path, name: str) -> list[int | str]:
    """One label for each graph: whole numbers, or any words."""
    file = f"{name}_graph_labels.txt"
    content = required_bytes(place, file, _required_files(name))
    words = [line.strip() for line in content.decode("utf-8-sig", errors="replace").splitlines() if line.strip()]
    if not words:
        raise InvalidGraphs(f"an empty {file}", "one label for each graph", "add the labels")
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        return list(words)
    if not all(number.is_integer() for number in numbers):
        raise InvalidGraphs(
            f"{file} with fractions such as {words[0]}", "classes", "a regression target is not a class"
        )
    return [int(number) for number in numbers]


def read_names(place: Path, name: str) -> dict[str, dict[int, str]]:
    """Names of node, edge and class labels, from lines ``number name`` under a heading such as ``Node labels``."""
    found: dict[str, dict[int, str]] = {"node": {}, "edge": {}, "class": {}}
    for file in (f"{name}_label_readme.txt", "README.txt", "readme.txt"):
        section = None
        for line in (member_bytes(place, file) or b"").decode("utf-8", errors="replace").splitlines():
            if heading := re.match(r"\s*(node|edge|class) labels\b", line, flags=re.IGNORECASE):
                section = found[heading[1].lower()]
            elif section is not None and (entry := re.fullmatch(r"\s+(-?\d+)\s+(\S+)\s*", line)):
                section.setdefault(int(entry[1]), entry[2])
            elif line.strip() and not line.strip().lower().startswith("component"):
                section = None
    return found
