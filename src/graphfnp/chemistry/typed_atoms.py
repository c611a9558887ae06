"""Molecules as typed atoms, every hydrogen a node (Mutagenicity). Imports no torch."""

from rdkit import Chem

from graphfnp.chemistry.atoms import BOND_TYPES, read_token
from graphfnp.chemistry.sketches import Names

Typed = tuple[tuple[int, ...], tuple[tuple[int, int, int], ...]]  # node types; edges (i, j, edge type) with i < j


def typed_atoms(molecule: Chem.Mol, schema: Names) -> Typed | str:
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
    return tuple(kinds), tuple(sorted(edges))
