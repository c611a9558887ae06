"""SMILES to molecule graphs, in bulk: a row that is no molecule becomes a Problem, never an exception."""

import math
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from rdkit import rdBase
from torch import Tensor

from graphfnp.datasets.array_cache import cached_arrays
from graphfnp.datasets.atoms import ATOM_COLUMNS, BOND_COLUMNS, BOND_TYPES, TOKENS
from graphfnp.datasets.dataset import Problem
from graphfnp.datasets.molecule_arrays import VERSION, Arrays, joined
from graphfnp.datasets.read_smiles import featurise_smiles, read_molecule
from graphfnp.graphs import UNLABELLED, PackedGraphs, Schema

__all__ = ["graphs_from_smiles", "packed", "read_molecule"]

CHUNK = 2000  # molecules a process takes at a time


def graphs_from_smiles(
    smiles: Sequence[object],
    y: Tensor | Sequence[int] | None = None,
    schema: Schema | None = None,
    processes: int = 1,
    cache: Path | str | None = None,
) -> tuple[PackedGraphs | None, Tensor, tuple[Problem, ...]]:
    """The graphs, the row of each, and the rows that are no molecule; None if no row is one.

    ``y`` has a label for every row; ``processes`` > 1 shares the work out; ``cache`` is a folder that keeps the result.
    """
    given = [one if isinstance(one, str) else "" if _missing(one) else str(one) for one in smiles]
    arrays, problems = cached_arrays(
        cache, [VERSION, rdBase.rdkitVersion, *given], lambda: _in_chunks(given, processes)
    )
    rows = torch.from_numpy(arrays["row"])
    if not len(rows):
        return None, rows, tuple(problems)
    labels = torch.full((len(given),), UNLABELLED) if y is None else torch.as_tensor(y, dtype=torch.long)
    graphs = packed(arrays, labels[rows], schema or molecule_schema(), [given[row] for row in rows.tolist()])
    return graphs, rows, tuple(problems)


def packed(arrays: Arrays, y: Tensor, schema: Schema, text: Sequence[str] | None = None) -> PackedGraphs:
    """Featurised molecules as PackedGraphs."""
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items() if name != "row"}
    return PackedGraphs.build(**tensors, y=y, schema=schema, text=text)


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _in_chunks(smiles: list[str], processes: int) -> tuple[Arrays, list[Problem]]:
    starts = range(0, max(len(smiles), 1), CHUNK)
    chunks = [smiles[start : start + CHUNK] for start in starts]
    if processes > 1 and len(chunks) > 1:
        with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
            results = list(pool.map(featurise_smiles, starts, chunks))
    else:
        results = list(map(featurise_smiles, starts, chunks))
    return joined([arrays for arrays, _ in results]), [Problem(*refusal) for _, some in results for refusal in some]


def molecule_schema(class_names: tuple[str, ...] = ("0", "1")) -> Schema:
    """The schema of every molecule graph made here."""
    return Schema(
        class_names=class_names,
        kind="molecule",
        node_sizes=tuple(column.size for column in ATOM_COLUMNS),
        edge_sizes=tuple(column.size for column in BOND_COLUMNS),
        node_types=TOKENS,
        edge_types=(*BOND_TYPES, "other"),
        features="molecule",
    )
