"""SMILES in the schema of a model: with atom features, or (Mutagenicity) as typed atoms with every hydrogen a node."""

from collections.abc import Sequence

import torch
from rdkit import Chem, rdBase
from torch import Tensor

from graphfnp.datasets.atoms import BOND_TYPES, read_token
from graphfnp.datasets.dataset import Problem
from graphfnp.datasets.read_smiles import read_molecule
from graphfnp.datasets.smiles import graphs_from_smiles
from graphfnp.datasets.structures import graphs_from_structures
from graphfnp.errors import InvalidConfig
from graphfnp.graphs import PackedGraphs, Schema
from graphfnp.rationales import Structure

Read = tuple[PackedGraphs | None, Tensor, tuple[Problem, ...]]


def reads_smiles(schema: Schema) -> bool:
    """Can a SMILES be written in this schema: does it name elements and bonds?"""
    return schema.features == "molecule" or (
        schema.kind == "molecule" and schema.features == "types" and "C" in schema.node_types
    )


def graphs_in_schema(smiles: Sequence[str], schema: Schema) -> Read:
    """The graphs, the row of each, and the rows that are no molecule of this schema; None if no row is one."""
    if schema.features == "molecule":
        return graphs_from_smiles(smiles, schema=schema)
    if not reads_smiles(schema):
        raise InvalidConfig("SMILES", f"graphs of kind {schema.kind}, which the model was trained on", "give graphs")
    structures: list[Structure] = []
    rows: list[int] = []
    problems: list[Problem] = []
    for row, one in enumerate(smiles):
        with rdBase.BlockLogs():
            molecule = read_molecule(one)
            found = molecule if isinstance(molecule, str) else typed_atoms(molecule, schema)
        if isinstance(found, str):
            problems.append(Problem(row, one, found))
        else:
            structures.append(found)
            rows.append(row)
    if not rows:
        return None, torch.tensor(rows, dtype=torch.long), tuple(problems)
    graphs = graphs_from_structures(structures, schema)
    named = PackedGraphs.build(
        graphs.x, graphs.edge_index, graphs.node_ptr, graphs.edge_ptr, graphs.y, schema,
        graphs.edge_attr, graphs.node_type, text=[smiles[row] for row in rows],
    )  # fmt: skip
    return named, torch.tensor(rows), tuple(problems)


def typed_atoms(molecule: Chem.Mol, schema: Schema) -> Structure | str:
    """Heavy atoms in their order, hydrogens after them where they are nodes; charges go where names carry none."""
    molecule = Chem.AddHs(molecule) if "H" in schema.node_types else Chem.Mol(molecule)
    if "aromatic" not in schema.edge_types:
        Chem.Kekulize(molecule, clearAromaticFlags=True)
    known = {read_token(name): kind for kind, name in enumerate(schema.node_types)}
    charged = any(charge for _, charge in known)
    bonds = {BOND_TYPES[name]: kind for kind, name in enumerate(schema.edge_types) if name in BOND_TYPES}
    kinds = []
    for atom in molecule.GetAtoms():
        kind = known.get((atom.GetAtomicNum(), atom.GetFormalCharge() if charged else 0))
        if kind is None:
            return f"{atom.GetSymbol()}, an element that the model was not trained on"
        kinds.append(kind)
    edges = []
    for bond in molecule.GetBonds():
        if bond.GetBondType() not in bonds:
            return f"a bond of type {str(bond.GetBondType()).lower()}, which the model was not trained on"
        ends = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        edges.append((ends[0], ends[1], bonds[bond.GetBondType()]))
    return Structure(tuple(kinds), tuple(sorted(edges)))
