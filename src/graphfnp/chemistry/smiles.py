"""SMILES to graphs of a schema, in bulk: a row that is no molecule becomes a Problem, never an exception."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from rdkit import rdBase
from torch import Tensor

from graphfnp.chemistry.atoms import ATOM_COLUMNS, BOND_COLUMNS, BOND_TYPES, TOKENS
from graphfnp.chemistry.descriptors import VERSION as DESCRIPTORS
from graphfnp.chemistry.molecule_arrays import VERSION, Arrays
from graphfnp.chemistry.read_rows import Target
from graphfnp.chemistry.reading import read_molecules, target_of
from graphfnp.chemistry.standardise import forms_in
from graphfnp.errors import InvalidConfig, InvalidRun
from graphfnp.files import read_tensors, write_tensors
from graphfnp.graphs.descriptors import columns_in, table_values, with_values
from graphfnp.graphs.packed import UNLABELLED, Origin, PackedGraphs, Schema
from graphfnp.graphs.problem import Problem, Read

Made = tuple[Arrays, list[Problem]]
STANDARD = "standard form 1"  # change it with what standardising does: caches are keyed by it
_NO_TENSORS = ("row", "form", "form_ptr")


def cached_arrays(folder: Path | str | None, content: Iterable[str], make: Callable[[], Made]) -> Made:
    """``make()``, kept in ``folder`` under the sha256 of ``content`` if it may be; what cannot be read is made anew."""
    if folder is None:
        return make()
    digest = hashlib.sha256()
    for text in content:  # the length keeps ["ab", "c"] and ["a", "bc"] apart
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    path = Path(folder) / f"{digest.hexdigest()}.safetensors"
    try:
        tensors, records = read_tensors(path)
        return {name: tensor.numpy() for name, tensor in tensors.items()}, [Problem(**record) for record in records]
    except (InvalidRun, TypeError):
        arrays, problems = make()
        tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
        with suppress(OSError):  # a home that may not be written, or a full disk
            write_tensors(path, tensors, [asdict(problem) for problem in problems])
        return arrays, problems


def graphs_from_smiles(
    smiles: Sequence[object],
    y: Tensor | Sequence[int] | None = None,
    schema: Schema | None = None,
    processes: int = 1,
    cache: Path | str | None = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> Read:
    """The molecules of a list as graphs of this schema, by default that of :func:`molecule_schema`.

    ``y`` has a label for every row; ``processes`` > 1 shares the work out; ``cache`` is a folder that keeps the result.
    ``columns`` hold the values of the descriptors that the schema names; a row without one of them is refused.
    """
    given = [one if isinstance(one, str) else "" if _missing(one) else str(one) for one in smiles]
    schema = schema or molecule_schema()
    if not reads_smiles(schema):
        raise InvalidConfig("SMILES", f"graphs of kind {schema.kind}, which the model was trained on", "give graphs")
    target = target_of(schema)
    made_by = (VERSION, STANDARD, DESCRIPTORS, rdBase.rdkitVersion, repr(target))
    values, reasons = table_values(columns_in(schema.descriptors), columns or {}, len(given))
    read = ["" if row in reasons else one for row, one in enumerate(given)]
    arrays, problems = cached_arrays(cache, (*made_by, *read), lambda: _read(read, target, processes))
    problems = [_told(problem, given, reasons) for problem in problems]
    arrays = with_values(arrays, values[arrays["row"]])
    rows = torch.from_numpy(arrays["row"])
    if not len(rows):
        return Read(None, rows, tuple(problems))
    labels = torch.full((len(given),), UNLABELLED) if y is None else torch.as_tensor(y, dtype=torch.long)
    graphs = packed(arrays, labels[rows], schema, [given[row] for row in rows.tolist()])
    return Read(graphs, rows, tuple(problems))


def packed(arrays: Arrays, y: Tensor, schema: Schema, text: Sequence[str] | None = None) -> PackedGraphs:
    """Featurised molecules as PackedGraphs; the text of a standardised one is its standard form."""
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items() if name not in _NO_TENSORS}
    forms, origin = forms_in(arrays), None
    if forms is not None and text is not None:
        origin = tuple(
            Origin(one, ", ".join(form.changes) if form else "") for one, form in zip(text, forms, strict=True)
        )
        text = [form.smiles if form else one for one, form in zip(text, forms, strict=True)]
    return PackedGraphs.build(**tensors, y=y, schema=schema, text=text, origin=origin)


def _told(problem: Problem, given: Sequence[str], reasons: Mapping[int, str]) -> Problem:
    """With what was given, and with the reason of a row that was not read for its columns."""
    row = problem.row
    return Problem(row, given[row], reasons.get(row, problem.reason) if given[row].strip() else problem.reason)


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _read(smiles: list[str], target: Target, processes: int) -> tuple[Arrays, list[Problem]]:
    arrays, refused = read_molecules(smiles, target, processes)
    return arrays, [Problem(row, smiles[row], why) for row, why in refused]


def molecule_schema(
    class_names: tuple[str, ...] = ("0", "1"), standardise: bool = False, descriptors: tuple[str, ...] = ()
) -> Schema:
    """The schema of every molecule graph made here."""
    return Schema(
        class_names=class_names,
        kind="molecule",
        node_sizes=tuple(column.size for column in ATOM_COLUMNS),
        edge_sizes=tuple(column.size for column in BOND_COLUMNS),
        node_types=TOKENS,
        edge_types=(*BOND_TYPES, "other"),
        features="molecule",
        standardise=standardise,
        descriptors=descriptors,
    )


def reads_smiles(schema: Schema) -> bool:
    """Can a SMILES be written in this schema: does it name elements and bonds?"""
    return schema.has_atom_features or (
        schema.kind == "molecule" and schema.features == "types" and "C" in schema.node_types
    )
