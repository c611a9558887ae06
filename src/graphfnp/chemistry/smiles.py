"""SMILES to molecule graphs, in bulk: a row that is no molecule becomes a Problem, never an exception."""

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from rdkit import rdBase
from torch import Tensor

from graphfnp.chemistry.array_cache import cached_arrays
from graphfnp.chemistry.atoms import ATOM_COLUMNS, BOND_COLUMNS, BOND_TYPES, TOKENS
from graphfnp.chemistry.molecule_arrays import VERSION, Arrays
from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.read_smiles import read_molecule
from graphfnp.chemistry.reading import read_molecules
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs, Schema
from graphfnp.graphs.problem import Problem, Read

__all__ = ["graphs_from_smiles", "packed", "read_molecule"]


def graphs_from_smiles(
    smiles: Sequence[object],
    y: Tensor | Sequence[int] | None = None,
    schema: Schema | None = None,
    processes: int = 1,
    cache: Path | str | None = None,
) -> Read:
    """The molecules of a list.

    ``y`` has a label for every row; ``processes`` > 1 shares the work out; ``cache`` is a folder that keeps the result.
    """
    given = [one if isinstance(one, str) else "" if _missing(one) else str(one) for one in smiles]
    arrays, problems = cached_arrays(cache, [VERSION, rdBase.rdkitVersion, *given], lambda: _read(given, processes))
    rows = torch.from_numpy(arrays["row"])
    if not len(rows):
        return Read(None, rows, tuple(problems))
    labels = torch.full((len(given),), UNLABELLED) if y is None else torch.as_tensor(y, dtype=torch.long)
    graphs = packed(arrays, labels[rows], schema or molecule_schema(), [given[row] for row in rows.tolist()])
    return Read(graphs, rows, tuple(problems))


def packed(arrays: Arrays, y: Tensor, schema: Schema, text: Sequence[str] | None = None) -> PackedGraphs:
    """Featurised molecules as PackedGraphs."""
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items() if name != "row"}
    return PackedGraphs.build(**tensors, y=y, schema=schema, text=text)


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _read(smiles: list[str], processes: int) -> tuple[Arrays, list[Problem]]:
    arrays, refused = read_molecules(smiles, Target(), processes)
    return arrays, [Problem(row, smiles[row], why) for row, why in refused]


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
