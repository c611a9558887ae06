"""RDKit's descriptors of a molecule, to stand beside its graph."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from rdkit import Chem

from graphfnp.chemistry.molecule_arrays import Arrays
from graphfnp.graphs.descriptors import RDKIT, RDKIT_NAMES

VERSION = "descriptors 1"  # change it with the names: caches are keyed by it


def descriptors_of(smiles: str, asked: Sequence[str]) -> list[float] | str:
    """In the order of RDKIT_NAMES, or why there are none; nothing if nothing is asked for."""
    if RDKIT not in asked:
        return []
    molecule = Chem.MolFromSmiles(smiles.strip())
    try:
        values = [float(function(molecule)) for function in _functions()]
    except (ArithmeticError, ValueError, RuntimeError) as error:
        return f"RDKit finds no descriptors of it ({str(error).splitlines()[0]})"
    for name, value in zip(RDKIT_NAMES, values, strict=True):
        if not math.isfinite(value):
            return f"its descriptor {name} is {value}, no finite number"
    return values


@cache
def _functions() -> list[Any]:
    from rdkit.Chem import Descriptors  # slow to import, and few models ask for it

    return [getattr(Descriptors, name) for name in RDKIT_NAMES]


def descriptor_arrays(rows: Sequence[Sequence[float]], asked: Sequence[str]) -> Arrays:
    """Beside the arrays of graphs."""
    if RDKIT not in asked:
        return {}
    return {"descriptors": np.array(rows, dtype=np.float32).reshape(-1, len(RDKIT_NAMES))}
