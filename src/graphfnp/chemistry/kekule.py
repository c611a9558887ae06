"""Where the double bonds of aromatic rings go when nobody said where the hydrogens are."""

from rdkit import Chem

_MUST, _MAY = 100, 1  # a carbon without its double bond is no molecule; a nitrogen without one has a hydrogen


def place_double_bonds(molecule: Chem.RWMol) -> bool:
    """Turn aromatic bonds into single and double ones, in place; False if some atom is left without its double bond.

    RDKit cannot do it for pyrrole, whose hydrogen a graph of heavy atoms does not show. A matching of greatest weight
    over the aromatic bonds covers every atom that needs a double bond, then as many of the neutral nitrogens as can be;
    those left over carry the hydrogen.
    """
    import networkx as nx  # slow to import, and only odd drawings need it

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
