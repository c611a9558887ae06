"""SMILES to molecule graphs, in bulk: a row that is no molecule becomes a Problem, never an exception."""

import math
import multiprocessing
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch
from rdkit import Chem, rdBase
from torch import Tensor

from graphfnp.datasets.array_cache import cached_arrays
from graphfnp.datasets.atoms import molecule_schema
from graphfnp.datasets.dataset import Problem
from graphfnp.datasets.molecule_arrays import VERSION, Arrays, featurise, joined
from graphfnp.graphs import UNLABELLED, PackedGraphs, Schema

CHUNK = 2000  # molecules a process takes at a time
Featurised = tuple[Arrays, list[Problem]]


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


def read_molecule(smiles: str) -> Chem.Mol | str:
    """The molecule, or why there is none."""
    smiles = smiles.strip()
    if not smiles:
        return "no SMILES given"
    try:
        molecule = Chem.MolFromSmiles(smiles)
    except (ValueError, RuntimeError) as error:  # e.g. text that is no UTF-8
        return str(error)
    if molecule is None:
        with rdBase.CaptureErrorLog() as log:  # once more, to hear why
            Chem.MolFromSmiles(smiles)
        return logged_reason(log.messages)
    return molecule if molecule.GetNumAtoms() else "a molecule without atoms"


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def logged_reason(messages: str) -> str:
    """What RDKit's error log says, without its clock, its frames and its drawing of the position."""
    plain = (re.sub(r"^\[[\d:]+\]", "", line).strip() for line in messages.splitlines())
    lines = [line for line in plain if line and line != "****" and not line.endswith("-condition Violation")]
    place = re.search(r"around position \d+", messages)
    if not lines:
        return "RDKit finds no molecule in it"
    return f"{lines[0]} ({place[0]})" if place else lines[0]


def _featurise_chunk(start: int, smiles: list[str]) -> Featurised:
    """The molecules of one chunk; rows are counted from ``start``."""
    problems: list[Problem] = []
    rows: list[int] = []

    def molecules() -> Iterable[Chem.Mol]:
        for row, one in enumerate(smiles, start):
            read = read_molecule(one)
            if isinstance(read, str):
                problems.append(Problem(row, one, read))
            else:
                rows.append(row)
                yield read

    with rdBase.BlockLogs():
        arrays = featurise(molecules())
    return arrays | {"row": np.array(rows, dtype=np.int64)}, problems


def _in_chunks(smiles: list[str], processes: int) -> Featurised:
    starts = range(0, max(len(smiles), 1), CHUNK)
    chunks = [smiles[start : start + CHUNK] for start in starts]
    if processes > 1 and len(chunks) > 1:
        with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
            results = list(pool.map(_featurise_chunk, starts, chunks))
    else:
        results = [_featurise_chunk(start, chunk) for start, chunk in zip(starts, chunks, strict=True)]
    return joined([arrays for arrays, _ in results]), [problem for _, some in results for problem in some]
