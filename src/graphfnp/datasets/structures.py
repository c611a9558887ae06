"""Decoded structures back into graphs with the features of their schema, and graphs into structures."""

from collections.abc import Sequence

import numpy as np
import torch
from rdkit import Chem, rdBase
from torch import Tensor

from graphfnp.datasets.atoms import BOND_TYPES, read_token
from graphfnp.datasets.kekule import place_double_bonds
from graphfnp.datasets.molecule_arrays import featurise
from graphfnp.datasets.smiles import packed
from graphfnp.degrees import degree_feature
from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs import UNLABELLED, PackedGraphs, Schema
from graphfnp.rationales import Structure

_IMPLICIT_HYDROGENS = {5, 6, 7, 8, 9, 14, 15, 16, 17, 33, 34, 35, 53}  # elements whose missing bonds are hydrogens


def graphs_from_structures(
    structures: Sequence[Structure], schema: Schema, y: Tensor | Sequence[int] | None = None
) -> PackedGraphs:
    """The structures as graphs, with the features that graphs of this schema have."""
    labels = torch.full((len(structures),), UNLABELLED) if y is None else torch.as_tensor(y, dtype=torch.long)
    if schema.features == "molecule":
        with rdBase.BlockLogs():
            arrays = featurise(_molecule_or_sketch(structure, schema) for structure in structures)
        return packed(arrays, labels, schema)
    node_type = torch.tensor([kind for structure in structures for kind in structure.node_type], dtype=torch.long)
    node_ptr = _pointer([structure.num_nodes for structure in structures])
    one_way = torch.tensor([edge for structure in structures for edge in structure.edges], dtype=torch.long).view(-1, 3)
    edge_index = torch.stack([one_way[:, :2], one_way[:, [1, 0]]], dim=1).view(-1, 2).T
    edge_ptr = _pointer([2 * len(structure.edges) for structure in structures])
    edge_attr = torch.zeros(edge_index.shape[1], len(schema.edge_sizes), dtype=torch.long)
    edge_attr[:, :1] = one_way[:, 2:].repeat_interleave(2, dim=0)
    return PackedGraphs.build(
        x=_features(structures, schema, node_type, edge_index + node_ptr[:-1].repeat_interleave(edge_ptr.diff())),
        edge_index=edge_index,
        node_ptr=node_ptr,
        edge_ptr=edge_ptr,
        y=labels,
        schema=schema,
        edge_attr=edge_attr if schema.edge_sizes else None,
        node_type=node_type,
    )


def structures_from_graphs(graphs: PackedGraphs) -> list[Structure]:
    """The types and edges of every graph; each pair of neighbours once, loops left out."""
    kinds = torch.zeros(len(graphs.x), dtype=torch.long) if graphs.node_type is None else graphs.node_type
    edge_kinds = torch.zeros(graphs.edge_index.shape[1]) if graphs.edge_attr is None else graphs.edge_attr[:, 0]
    low, high = graphs.edge_index.amin(0).tolist(), graphs.edge_index.amax(0).tolist()
    typed = list(zip(low, high, edge_kinds.long().tolist(), strict=True))
    node_kinds, nodes, edges = kinds.tolist(), graphs.node_ptr.tolist(), graphs.edge_ptr.tolist()
    structures = []
    for index in range(len(graphs)):
        unique = {(i, j): kind for i, j, kind in typed[edges[index] : edges[index + 1]] if i < j}
        start, end = nodes[index], nodes[index + 1]
        structures.append(
            Structure(
                node_type=tuple(node_kinds[start:end]),
                edges=tuple((i, j, kind) for (i, j), kind in sorted(unique.items())),
                x=graphs.x[start:end].float() if graphs.schema.is_continuous else None,
                names=_words(graphs, index, end - start),
            )
        )
    return structures


def _words(graphs: PackedGraphs, index: int, count: int) -> tuple[str, ...]:
    """The words of a sentence's nodes, where each node is one."""
    words = () if graphs.schema.kind != "text" or graphs.text is None else tuple(graphs.text[index].split())
    return words if len(words) == count else ()


def structure_to_mol(structure: Structure, schema: Schema) -> Chem.Mol | None:
    """The molecule the structure spells with the schema's names, atoms in its order; None if RDKit would refuse it."""
    molecule = sketch(structure, schema)
    aromatic = [bond.GetIdx() for bond in molecule.GetBonds() if bond.GetIsAromatic()]
    if aromatic and not place_double_bonds(molecule):
        return None
    with rdBase.BlockLogs():
        if Chem.SanitizeMol(molecule, catchErrors=True) != Chem.SanitizeFlags.SANITIZE_NONE:
            return None
    if not all(molecule.GetBondWithIdx(bond).IsInRing() for bond in aromatic):
        return None
    return molecule.GetMol()


def structure_to_smiles(structure: Structure, schema: Schema) -> str | None:
    """Canonical SMILES without explicit hydrogens; None if the structure is no molecule."""
    molecule = structure_to_mol(structure, schema)
    if molecule is None:
        return None
    with rdBase.BlockLogs():
        return Chem.MolToSmiles(Chem.RemoveHs(molecule))


def _features(structures: Sequence[Structure], schema: Schema, node_type: Tensor, edge_index: Tensor) -> Tensor:
    if schema.features == "degree":
        return degree_feature(edge_index, len(node_type))
    if schema.features == "types":
        return node_type[:, None]
    without = [index for index, structure in enumerate(structures) if structure.x is None]
    if without:
        raise InvalidGraphs(
            f"structures without node features: {listed(without)}",
            f"x of {schema.num_columns} columns, since the schema's features do not follow from the structure",
            "decode the features too",
        )
    return torch.cat([structure.x for structure in structures if structure.x is not None])


def sketch(structure: Structure, schema: Schema) -> Chem.RWMol:
    """Atoms and bonds as the names say, not sanitised; a name that is no element gives a dummy atom."""
    molecule = Chem.RWMol()
    for kind in structure.node_type:
        number, charge = read_token(schema.node_types[kind])
        atom = Chem.Atom(number)
        atom.SetFormalCharge(charge)
        atom.SetNoImplicit(number not in _IMPLICIT_HYDROGENS)
        molecule.AddAtom(atom)
    for i, j, kind in structure.edges:
        name = schema.edge_types[kind]
        bond_type = Chem.BondType.ZERO if name == "other" else BOND_TYPES.get(name, Chem.BondType.SINGLE)
        bond = molecule.GetBondWithIdx(molecule.AddBond(i, j, bond_type) - 1)
        if bond_type == Chem.BondType.AROMATIC:
            bond.SetIsAromatic(True)
            bond.GetBeginAtom().SetIsAromatic(True)
            bond.GetEndAtom().SetIsAromatic(True)
    if all(read_token(name)[1] == 0 for name in schema.node_types):
        _restore_charges(molecule, structure.open)
    return molecule


def _restore_charges(molecule: Chem.RWMol, open_: Sequence[int]) -> None:
    """Names without charges (Mutagenicity) write a nitro group as N with four bonds: it is N+, and its lone O is O-.

    Bonds that were cut count: a nitro group without what it hung on is still one.
    """
    for atom in molecule.GetAtoms():
        orders = [bond.GetBondTypeAsDouble() for bond in atom.GetBonds()]
        if atom.GetAtomicNum() != 7 or sum(orders) + open_.count(atom.GetIdx()) != 4:
            continue
        atom.SetFormalCharge(1)
        for bond in atom.GetBonds():
            other = bond.GetOtherAtom(atom)
            if other.GetAtomicNum() in (8, 16) and other.GetDegree() == 1 and bond.GetBondTypeAsDouble() == 1:
                other.SetFormalCharge(-1)
                break


def _molecule_or_sketch(structure: Structure, schema: Schema) -> Chem.Mol:
    """The molecule; where there is none, the sketch with what RDKit can still say of it."""
    molecule = structure_to_mol(structure, schema)
    if molecule is None:
        molecule = sketch(structure, schema)
        molecule.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(molecule)
        Chem.SetConjugation(molecule)
        Chem.SetHybridization(molecule)
    return molecule


def _pointer(sizes: Sequence[int]) -> Tensor:
    return torch.from_numpy(np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64))
