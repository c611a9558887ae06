"""Structures into graphs with the features of their schema, and back; what a decoder leaves open is repaired."""

from collections.abc import Sequence
from typing import Any

import torch
from rdkit import Chem, rdBase
from torch import Tensor

from graphfnp.chemistry.atoms import BOND_TYPES
from graphfnp.chemistry.molecule_arrays import featurise
from graphfnp.chemistry.read_rows import typed_arrays
from graphfnp.chemistry.sketches import molecule_or_sketch, place_double_bonds, sketch, structure_to_mol, written
from graphfnp.chemistry.smiles import packed
from graphfnp.errors import InvalidGraphs, listed
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs, Schema
from graphfnp.graphs.structure import Structure


def graphs_from_structures(
    structures: Sequence[Structure], schema: Schema, y: Tensor | Sequence[int] | None = None
) -> PackedGraphs:
    """The structures as graphs, with the features that graphs of this schema have."""
    labels = torch.full((len(structures),), UNLABELLED) if y is None else torch.as_tensor(y, dtype=torch.long)
    if schema.has_atom_features:
        with rdBase.BlockLogs():
            arrays = featurise(molecule_or_sketch(structure, schema) for structure in structures)
        return packed(arrays, labels, schema)
    tensors: dict[str, Any] = {
        name: torch.from_numpy(one) for name, one in typed_arrays(structures, len(schema.edge_sizes)).items()
    }
    if schema.needs_x:
        tensors["x"] = _given_features(structures, schema)
    elif schema.counts_degrees:
        tensors["x"] = None
    return PackedGraphs.build(**tensors, y=labels, schema=schema)


def structures_from_graphs(graphs: PackedGraphs) -> list[Structure]:
    """The types and edges of every graph; each pair of neighbours once, loops left out."""
    kinds = torch.zeros(len(graphs.x), dtype=torch.long) if graphs.node_type is None else graphs.node_type
    edge_kinds = torch.zeros(graphs.edge_index.shape[1]) if graphs.edge_attr is None else graphs.edge_attr[:, 0]
    low, high = graphs.edge_index.amin(0).tolist(), graphs.edge_index.amax(0).tolist()
    typed = list(zip(low, high, edge_kinds.long().tolist(), strict=True))
    node_kinds, nodes, edges = kinds.tolist(), graphs.node_ptr.tolist(), graphs.edge_ptr.tolist()
    number = torch.float if graphs.schema.is_continuous else torch.long
    words, structures = words_of(graphs), []
    for index in range(len(graphs)):
        unique = {(i, j): kind for i, j, kind in typed[edges[index] : edges[index + 1]] if i < j}
        start, end = nodes[index], nodes[index + 1]
        structures.append(
            Structure(
                node_type=tuple(node_kinds[start:end]),
                edges=tuple((i, j, kind) for (i, j), kind in sorted(unique.items())),
                x=graphs.x[start:end].to(number) if graphs.schema.needs_x else None,
                names=words[index],
            )
        )
    return structures


def words_of(graphs: PackedGraphs) -> list[tuple[str, ...]]:
    """The words of each sentence, one for each node; nothing where nodes are no words."""
    if graphs.schema.kind != "text" or graphs.text is None:
        return [()] * len(graphs)
    texts = [tuple(text.split()) for text in graphs.text]
    return [words if len(words) == size else () for words, size in zip(texts, graphs.sizes, strict=True)]


def structure_to_smiles(structure: Structure, schema: Schema) -> str | None:
    """Canonical SMILES without explicit hydrogens; None if the structure is no molecule."""
    return written(structure_to_mol(structure, schema))


def _given_features(structures: Sequence[Structure], schema: Schema) -> Tensor:
    without = [index for index, structure in enumerate(structures) if structure.x is None]
    if without:
        raise InvalidGraphs(
            f"structures without node features: {listed(without)}",
            f"x of {schema.num_columns} columns, since the schema's features do not follow from the structure",
            "decode the features too",
        )
    return torch.cat([structure.x for structure in structures if structure.x is not None])


def repaired(structure: Structure, schema: Schema) -> Structure:
    """The structure itself or, if it is no molecule, with its aromatic bonds made single and double where they must.

    Whether an aromatic ring closes and has a Kekule form cannot be decided bond by bond. Atoms keep their valence, so
    that a structure drawn under the valence rules always ends as a molecule.
    """
    if structure_to_mol(structure, schema) is not None:
        return structure
    molecule = sketch(structure, schema)
    Chem.FastFindRings(molecule)
    for bond in molecule.GetBonds():
        if bond.GetIsAromatic() and not bond.IsInRing():
            bond.SetBondType(Chem.BondType.SINGLE)
            bond.SetIsAromatic(False)
    for atom in molecule.GetAtoms():
        atom.SetIsAromatic(any(bond.GetIsAromatic() for bond in atom.GetBonds()))
    place_double_bonds(molecule)  # an atom left over keeps its single bonds and gets a hydrogen
    kekule = _with_bonds_of(molecule, structure, schema)
    with rdBase.BlockLogs():
        if Chem.SanitizeMol(molecule, catchErrors=True) != Chem.SanitizeFlags.SANITIZE_NONE:
            return structure
    aromatic = _with_bonds_of(molecule, structure, schema)
    return aromatic if structure_to_mol(aromatic, schema) is not None else kekule


def _with_bonds_of(molecule: Chem.Mol, structure: Structure, schema: Schema) -> Structure:
    names = {kind: name for name, kind in BOND_TYPES.items()}
    bonds = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), names[bond.GetBondType()]) for bond in molecule.GetBonds()]
    edges = sorted((min(i, j), max(i, j), schema.edge_types.index(name)) for i, j, name in bonds)
    return Structure(structure.node_type, tuple(edges), structure.x)
