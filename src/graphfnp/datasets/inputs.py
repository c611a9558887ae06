"""What a user's list may hold - SMILES, RDKit molecules, graphs of PyG or NetworkX, PackedGraphs - as PackedGraphs."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from rdkit import Chem, rdBase

from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema
from graphfnp.errors import InvalidConfig, InvalidGraphs, listed, plural, shortened
from graphfnp.graphs.descriptors import check_columns, columns_in, descriptor_list
from graphfnp.graphs.networkx_graphs import from_networkx, is_networkx
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs, Schema, concatenate
from graphfnp.graphs.problem import Problem, Read
from graphfnp.graphs.pyg import from_data_list, is_batch, is_data, is_dataset

if TYPE_CHECKING:
    from torch_geometric.data import Data


def graphs_from_inputs(
    inputs: Any,
    class_names: Sequence[str],
    standardise: bool = False,
    features: str | Sequence[str] | None = None,
    schema: Schema | None = None,
) -> Read:
    """Unlabelled graphs of these classes.

    A molecule is read by way of its SMILES, so that both mean the same graph. PackedGraphs keep their schema, and so do
    ``Data`` that :func:`graphfnp.to_data_list` made; the schema of other ``Data`` is found in the list itself.
    Columns that ``features`` name stand in the table beside the one of molecules. Molecules are featurised as
    ``schema`` says, if one is given.
    """
    names, descriptors = tuple(class_names), descriptor_list(features) if schema is None else schema.descriptors
    if isinstance(inputs, PackedGraphs):
        return _every_row(_unlabelled(inputs, names), standardise, descriptors)
    inputs, columns = _apart(inputs, columns_in(descriptors))
    items = items_of(inputs)
    if items and all(isinstance(item, PackedGraphs) for item in items):
        packs = [_unlabelled(item, names) for item in items]
        if (other := next((row for row, one in enumerate(packs) if one.schema != packs[0].schema), None)) is not None:
            raise InvalidGraphs(
                f"PackedGraphs with another schema in row {other} than in row 0", "one schema for all",
                "pack all graphs together, or give the Data themselves",
            )  # fmt: skip
        return _every_row(concatenate(packs), standardise, descriptors)
    if items and all(map(is_data, items)):
        graphs = _unlabelled(from_data_list([_without_label(item) for item in items], names), names)
        return _every_row(graphs, standardise, descriptors)
    if items and all(map(is_networkx, items)):
        graphs = _unlabelled(from_networkx(items, [None] * len(items), names), names)
        return _every_row(graphs, standardise, descriptors)
    belongs = next((kind for kind in (is_data, is_networkx) if items and kind(items[0])), _is_molecule)
    wrong = next((row for row, item in enumerate(items) if not belongs(item)), None)
    if wrong is not None:
        raise InvalidGraphs(
            f"a {type(items[wrong]).__name__} in row {wrong}"
            + (f", a {type(items[0]).__name__} in row 0" if wrong and items[0] is not None else ""),
            "SMILES strings, RDKit molecules, PyG Data, NetworkX graphs or PackedGraphs, of one kind",
            "pass a list of them, e.g. the SMILES column of a table",
        )
    schema = schema or molecule_schema(names, standardise, descriptors)
    return graphs_from_smiles([_smiles(item) for item in items], schema=schema, columns=columns)


def label_column(given: Any) -> np.ndarray:
    """[rows]: classes, of one kind and each there, of a list, an array, a Series or a table of one column."""
    import pandas as pd
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import column_or_1d

    if given is None:
        raise ValueError("GraphFNPClassifier requires y to be passed, but the target y is None")
    labels = column_or_1d(given.to_numpy() if hasattr(given, "to_numpy") else given, warn=True)  # Int64 stays whole
    if labels.dtype == object:
        labels = pd.Series(labels).infer_objects().to_numpy()  # True and False in a column that had gaps once
    if labels.dtype == object:
        if len(missing := np.flatnonzero(pd.isna(labels))):
            raise InvalidGraphs(f"no label in row {listed(missing)}", "a label in every row", "leave these rows out")
        if len({isinstance(label, str) for label in labels}) > 1:
            raise InvalidGraphs("labels of which some are text and some are not", "one kind", "write y.astype(str)")
    check_classification_targets(labels)
    return labels


def smiles_in(inputs: Any) -> list[str] | None:
    """Of a list, an array or a Series of SMILES or RDKit molecules, "" where one is missing; None of anything else."""
    if not isinstance(inputs, Iterable) or isinstance(inputs, str | Mapping | PackedGraphs) or is_dataset(inputs):
        return None
    items = items_of(inputs)
    if not items or not all(map(_is_molecule, items)):
        return None
    return ["" if item is None or item != item else str(_smiles(item)) for item in items]


def described(problems: Sequence[Problem]) -> str:
    """Which rows could not be read, and why the first few could not."""
    rows = listed([problem.row for problem in problems], 20)
    reasons = listed([f"{shortened(one.given)!r} in row {one.row}: {one.reason}" for one in problems], 3)
    return f"{plural(len(problems), 'row')} that could not be read: {rows} ({reasons})"


def _apart(inputs: Any, names: Sequence[str]) -> tuple[Any, dict[str, list[Any]]]:
    """The molecules of a table, and its columns of features."""
    if not names:
        return inputs, {}
    known = [str(name) for name in getattr(inputs, "columns", ())]
    if not known:
        raise InvalidGraphs(
            f"a {type(inputs).__name__}", f"a DataFrame with molecules and the columns {listed(names, 20)}",
            "pass such a table: frame[['smiles', ...]]",
        )  # fmt: skip
    check_columns(names, known, "a table")
    place = {name: known.index(name) for name in names}  # a name may be a number in the table
    return inputs[[own for own, name in zip(inputs.columns, known, strict=True) if name not in place]], {
        name: inputs.iloc[:, k].tolist() for name, k in place.items()
    }


def items_of(inputs: Any) -> list[Any]:
    """A list, an array, a Series, or a table of one column."""
    if is_batch(inputs):
        raise InvalidGraphs("a batch of graphs", "a list with a Data for each", "pass batch.to_data_list()")
    if isinstance(inputs, str | bytes | Chem.Mol) or is_data(inputs) or is_networkx(inputs):
        raise InvalidGraphs(f"one {type(inputs).__name__}", "a list of them", "put it in a list: [x]")
    if not isinstance(inputs, Iterable) or isinstance(inputs, Set):  # rows have an order
        raise InvalidGraphs(f"a {type(inputs).__name__}", "a list of molecules or graphs", "pass such a list")
    if hasattr(inputs, "to_pylist"):  # pyarrow's
        inputs = inputs.to_pylist()
    elif hasattr(inputs, "to_numpy"):
        inputs = inputs.to_numpy()
    if isinstance(inputs, np.ndarray) and inputs.ndim != 1:
        if inputs.ndim != 2 or inputs.shape[1] != 1:
            raise InvalidGraphs(
                f"an array of shape {inputs.shape}", "one column of molecules or graphs", "pass that column alone"
            )
        inputs = inputs[:, 0]
    return [None if type(item).__name__ == "NAType" else item for item in inputs]  # pandas is not imported to ask it


def _is_molecule(item: Any) -> bool:
    """Also a missing value: it is a row that cannot be read, not a wrong kind of input."""
    return item is None or isinstance(item, str | Chem.Mol) or (isinstance(item, float) and item != item)


def _smiles(item: Any) -> Any:
    if not isinstance(item, Chem.Mol):
        return item
    with rdBase.BlockLogs():
        return Chem.MolToSmiles(item)


def _without_label(item: "Data") -> "Data":
    """The labels are given apart; what ``y`` holds may be anything."""
    return type(item)(**{name: value for name, value in item.to_dict().items() if name != "y"})


def _unlabelled(graphs: PackedGraphs, class_names: tuple[str, ...]) -> PackedGraphs:
    y = torch.full((len(graphs),), UNLABELLED)
    return replace(graphs, y=y, schema=replace(graphs.schema, class_names=class_names))


def _every_row(graphs: PackedGraphs, standardise: bool, descriptors: tuple[str, ...]) -> Read:
    own = graphs.schema
    if (standardise and not own.standardise) or (descriptors and descriptors != own.descriptors):
        asked = f"features={','.join(descriptors)!r}" if descriptors != own.descriptors else "standardise"
        raise InvalidConfig(f"{asked} for graphs as they are", "SMILES", "leave it out, or give SMILES")
    return Read(graphs, torch.arange(len(graphs)))
