"""Structures as RDKit molecules: by the names of the schema, sanitised where RDKit agrees. Imports no torch."""

from collections.abc import Sequence
from typing import Protocol

from rdkit import Chem, rdBase

from graphfnp.chemistry.atoms import BOND_TYPES, read_token
from graphfnp.chemistry.kekule import place_double_bonds

_IMPLICIT_HYDROGENS = {5, 6, 7, 8, 9, 14, 15, 16, 17, 33, 34, 35, 53}  # elements whose missing bonds are hydrogens


class Drawn(Protocol):
    """What a :class:`~graphfnp.graphs.structure.Structure` has."""

    @property
    def node_type(self) -> tuple[int, ...]: ...

    @property
    def edges(self) -> tuple[tuple[int, int, int], ...]: ...

    @property
    def cut_bonds(self) -> tuple[int, ...]: ...


class Names(Protocol):
    """What a :class:`~graphfnp.graphs.packed.Schema` has."""

    @property
    def node_types(self) -> tuple[str, ...]: ...

    @property
    def edge_types(self) -> tuple[str, ...]: ...


def structure_to_mol(structure: Drawn, schema: Names) -> Chem.Mol | None:
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


def sketch(structure: Drawn, schema: Names) -> Chem.RWMol:
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
        _restore_charges(molecule, structure.cut_bonds)
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


def molecule_or_sketch(structure: Drawn, schema: Names) -> Chem.Mol:
    """The molecule; where there is none, the sketch with what RDKit can still say of it."""
    molecule = structure_to_mol(structure, schema)
    if molecule is None:
        molecule = sketch(structure, schema)
        molecule.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(molecule)
        Chem.SetConjugation(molecule)
        Chem.SetHybridization(molecule)
    return molecule
