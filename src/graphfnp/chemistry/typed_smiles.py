"""SMILES in the schema of a model: with atom features, or (Mutagenicity) as typed atoms with every hydrogen a node."""

from collections.abc import Sequence

import torch

from graphfnp.chemistry.reading import read_molecules, target_of
from graphfnp.chemistry.smiles import graphs_from_smiles, packed
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import UNLABELLED, Schema
from graphfnp.graphs.problem import Problem, Read


def reads_smiles(schema: Schema) -> bool:
    """Can a SMILES be written in this schema: does it name elements and bonds?"""
    return schema.features == "molecule" or (
        schema.kind == "molecule" and schema.features == "types" and "C" in schema.node_types
    )


def graphs_in_schema(smiles: Sequence[str], schema: Schema) -> Read:
    """The molecules of a list as graphs of this schema."""
    if schema.features == "molecule":
        return graphs_from_smiles(smiles, schema=schema)
    if not reads_smiles(schema):
        raise InvalidConfig("SMILES", f"graphs of kind {schema.kind}, which the model was trained on", "give graphs")
    arrays, refused = read_molecules(list(smiles), target_of(schema))
    problems, rows = tuple(Problem(row, smiles[row], why) for row, why in refused), torch.from_numpy(arrays["row"])
    if not len(rows):
        return Read(None, rows, problems)
    text = [smiles[row] for row in rows.tolist()]
    return Read(packed(arrays, torch.full((len(rows),), UNLABELLED), schema, text), rows, problems)
