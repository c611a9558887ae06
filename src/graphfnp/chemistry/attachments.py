"""Parts of molecules as chemists write them: a dummy atom wherever a bond was cut."""

from collections.abc import Sequence

from rdkit import Chem, rdBase

from graphfnp.chemistry.sketches import structure_to_mol
from graphfnp.graphs.packed import Schema
from graphfnp.graphs.structure import Structure


def fragment_of(structure: Structure, schema: Schema) -> Chem.Mol | None:
    """The molecule, atoms in the order of nodes, then a dummy atom for every cut bond; None if it is no molecule."""
    molecule = structure_to_mol(structure, schema)
    return None if molecule is None else with_attachments(molecule, structure.cut_bonds)


def fragment_smiles(structure: Structure, schema: Schema) -> str | None:
    """Canonical SMILES without explicit hydrogens, ``*`` at every cut bond."""
    molecule = fragment_of(structure, schema)
    if molecule is None:
        return None
    with rdBase.BlockLogs():
        return Chem.MolToSmiles(Chem.RemoveHs(molecule))


def with_attachments(molecule: Chem.Mol, open_: Sequence[int]) -> Chem.Mol:
    """A dummy atom on each of these atoms, in the place of the hydrogen that filled its valence."""
    grown = Chem.RWMol(molecule)
    for node in open_:
        atom = grown.GetAtomWithIdx(node)
        atom.SetNumExplicitHs(max(0, atom.GetNumExplicitHs() - 1))  # [nH] has its hydrogen written down
        grown.AddBond(node, grown.AddAtom(Chem.Atom(0)), Chem.BondType.SINGLE)
    with rdBase.BlockLogs():
        is_valid = Chem.SanitizeMol(grown, catchErrors=True) == Chem.SanitizeFlags.SANITIZE_NONE
    return grown.GetMol() if is_valid else molecule
