"""What a decoder leaves unfinished: aromatic bonds that no ring can bear."""

from rdkit import Chem, rdBase

from graphfnp.chemistry.atoms import BOND_TYPES
from graphfnp.chemistry.kekule import place_double_bonds
from graphfnp.chemistry.sketches import sketch, structure_to_mol
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Structure


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
