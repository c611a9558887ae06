"""Structures as RDKit molecules: by the names of the schema, sanitised where RDKit agrees. Imports no torch."""

from collections.abc import Sequence
from typing import Protocol

from rdkit import Chem, rdBase

from graphfnp.chemistry.atoms import BOND_TYPES, read_token
from graphfnp.graphs.structure import Structure

_MUST, _MAY = 100, 1  # a carbon without its double bond is no molecule; a nitrogen without one has a hydrogen


def place_double_bonds(molecule: Chem.RWMol) -> bool:
    """Turn aromatic bonds into single and double ones, in place; False if some atom is left without its double bond.

    RDKit cannot do it for pyrrole, whose hydrogen a graph of heavy atoms does not show. A matching of greatest weight
    over the aromatic bonds covers every atom that needs a double bond, then as many of the neutral nitrogens as can be;
    those left over carry the hydrogen.
    """
    import networkx as nx  # slow to import, and SMILES are read without

    aromatic = [bond for bond in molecule.GetBonds() if bond.GetBondType() == Chem.BondType.AROMATIC]
    atoms = {end.GetIdx(): end for bond in aromatic for end in (bond.GetBeginAtom(), bond.GetEndAtom())}
    weight = {index: _weight(atom) for index, atom in atoms.items() if _spare_valence(atom) > 0}
    graph: nx.Graph = nx.Graph()
    for bond in aromatic:
        ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        if all(end in weight for end in ends):
            graph.add_edge(*ends, weight=sum(weight[end] for end in ends))
    double = {frozenset(pair) for pair in nx.max_weight_matching(graph)}
    for bond in aromatic:
        pair = frozenset((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        bond.SetBondType(Chem.BondType.DOUBLE if pair in double else Chem.BondType.SINGLE)
        bond.SetIsAromatic(False)
    for atom in atoms.values():
        atom.SetIsAromatic(False)
    matched = set().union(*double)
    return all(index in matched for index, value in weight.items() if value == _MUST)


def _weight(atom: Chem.Atom) -> int:
    return _MAY if atom.GetFormalCharge() == 0 and atom.GetAtomicNum() in (7, 15, 33) else _MUST


def _spare_valence(atom: Chem.Atom) -> float:
    """Valence left when each aromatic bond counts one; an ion has the valence of its isoelectronic atom."""
    number = min(max(atom.GetAtomicNum() - atom.GetFormalCharge(), 0), 118)
    orders = [bond.GetBondTypeAsDouble() for bond in atom.GetBonds()]
    used = sum(1 if order == 1.5 else order for order in orders)
    return Chem.GetPeriodicTable().GetDefaultValence(number) - used


_IMPLICIT_HYDROGENS = {5, 6, 7, 8, 9, 14, 15, 16, 17, 33, 34, 35, 53}  # elements whose missing bonds are hydrogens


class Names(Protocol):
    """Names of node and edge types: a :class:`~graphfnp.graphs.packed.Schema`, or what of it reading needs."""

    @property
    def node_types(self) -> tuple[str, ...]: ...

    @property
    def edge_types(self) -> tuple[str, ...]: ...


def structure_to_mol(structure: Structure, schema: Names) -> Chem.Mol | None:
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


def written(molecule: Chem.Mol | None) -> str | None:
    """Canonical SMILES without explicit hydrogens; None of what is no molecule."""
    if molecule is None:
        return None
    with rdBase.BlockLogs():
        return Chem.MolToSmiles(Chem.RemoveHs(molecule))


def sketch(structure: Structure, schema: Names) -> Chem.RWMol:
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


def molecule_or_sketch(structure: Structure, schema: Names) -> Chem.Mol:
    """The molecule; where there is none, the sketch with what RDKit can still say of it."""
    molecule = structure_to_mol(structure, schema)
    if molecule is None:
        molecule = sketch(structure, schema)
        molecule.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(molecule)
        Chem.SetConjugation(molecule)
        Chem.SetHybridization(molecule)
    return molecule
