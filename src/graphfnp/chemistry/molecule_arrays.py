"""RDKit molecules to flat feature arrays: few calls per atom, everything else in bulk."""

import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from rdkit import Chem
from rdkit.Chem import rdqueries

from graphfnp.chemistry.atoms import ATOM_COLUMNS, BOND_COLUMNS, Column, column_number, token_codes

VERSION = (
    "molecule features 1, reading 3"  # change it with the features or with what is refused: caches are keyed by it
)
Arrays = dict[str, np.ndarray]

_ORDERS = {1.0: Chem.BondType.SINGLE, 2.0: Chem.BondType.DOUBLE, 3.0: Chem.BondType.TRIPLE, 1.5: Chem.BondType.AROMATIC}


def _chiral_atom() -> Chem.Mol:
    query = Chem.RWMol()
    query.AddAtom(rdqueries.HasChiralTagQueryAtom())
    return query.GetMol()


_CHIRAL = _chiral_atom()
CHIRALITY, DEGREE = column_number("chirality"), column_number("degree")
HYDROGENS, TOKEN = len(ATOM_COLUMNS), len(ATOM_COLUMNS) + 1  # columns of what is known of a kind
MOST_KINDS = 10_000  # kept; molecules have a few hundred


class _Kinds(dict):
    """Numbers feature tuples in the order they come, and translates each once, however many atoms have it."""

    def __init__(self, translate: Callable[[list[tuple]], np.ndarray]) -> None:
        self.translate, self.table = translate, translate([])

    def __missing__(self, kind: tuple) -> int:
        self[kind] = number = len(self)
        return number

    def rows(self) -> np.ndarray:
        """[kinds, columns], int16."""
        if len(self) > len(self.table):
            self.table = np.concatenate([self.table, self.translate(list(self)[len(self.table) :])])
        return self.table


def _atom_rows(kinds: list[tuple]) -> np.ndarray:
    """The feature columns, but chirality and degree, which are not the kind's; then hydrogens, and the token."""
    values = np.array(kinds, dtype=np.int64).reshape(-1, 7).T
    number, charge, hydrogens, radicals, hybridisation, aromatic, ring = values
    later = np.zeros_like(number)
    codes = _codes(ATOM_COLUMNS, (number, later, later, charge, hydrogens, radicals, hybridisation, aromatic, ring))
    return np.column_stack([codes, hydrogens.astype(np.int16), token_codes(number, charge)])


def _bond_rows(kinds: list[tuple]) -> np.ndarray:
    values = [(_ORDERS.get(order, 0), *rest) for order, *rest in kinds]
    return _codes(BOND_COLUMNS, np.array(values, dtype=np.int64).reshape(-1, 3).T)


def _codes(columns: Sequence[Column], values: Iterable[np.ndarray]) -> np.ndarray:
    return np.stack([column.codes(value) for column, value in zip(columns, values, strict=True)], axis=1)


class _Known(threading.local):
    """The kinds met so far, for the next call; of one thread, as two would give a number twice."""

    def __init__(self) -> None:
        self.atoms, self.bonds = _Kinds(_atom_rows), _Kinds(_bond_rows)

    def kinds(self) -> tuple[_Kinds, _Kinds]:
        """Of atoms and bonds; forgotten where somebody sends absurd ones."""
        if len(self.atoms) + len(self.bonds) > MOST_KINDS:
            self.__init__()  # type: ignore[misc]
        return self.atoms, self.bonds


_known = _Known()


def featurise(molecules: Iterable[Chem.Mol]) -> Arrays:
    """x, node_type, edge_index, edge_attr, node_ptr and edge_ptr of the molecules; a bond is two directed edges.

    RDKit's enumerations are slow to fetch, so chirality is asked only of the atoms a query finds, and stereo only of
    double bonds. A bond's type is its order: dative bonds count as single.
    """
    Atom, Bond = Chem.Atom, Chem.Bond
    atom_kinds, bond_kinds = _known.kinds()
    atoms: list[int] = []
    chiral: list[tuple[int, int]] = []
    bonds: list[int] = []
    begins: list[int] = []
    ends: list[int] = []
    node_ptr, bond_ptr = [0], [0]
    for molecule in molecules:
        here = list(map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms())))
        for (index,) in molecule.GetSubstructMatches(_CHIRAL, maxMatches=len(here)):
            chiral.append((len(atoms) + index, int(here[index].GetChiralTag())))
        properties = (
            map(Atom.GetAtomicNum, here),
            map(Atom.GetFormalCharge, here),
            map(Atom.GetTotalNumHs, here),
            map(Atom.GetNumRadicalElectrons, here),
            map(Atom.GetHybridization, here),
            map(Atom.GetIsAromatic, here),
            map(Atom.IsInRing, here),
        )
        atoms += [atom_kinds[kind] for kind in zip(*properties, strict=True)]
        links = list(map(molecule.GetBondWithIdx, range(molecule.GetNumBonds())))
        begins += map(Bond.GetBeginAtomIdx, links)
        ends += map(Bond.GetEndAtomIdx, links)
        orders, conjugated = map(Bond.GetBondTypeAsDouble, links), map(Bond.GetIsConjugated, links)
        bonds += [
            bond_kinds[order, link.GetStereo() if order == 2.0 else 0, conjugates]
            for order, conjugates, link in zip(orders, conjugated, links, strict=True)
        ]
        node_ptr.append(len(atoms))
        bond_ptr.append(len(bonds))
    ends_of_bonds = np.array([begins, ends], dtype=np.int64)
    first_atom = np.repeat(np.array(node_ptr[:-1], dtype=np.int64), np.diff(bond_ptr))
    neighbours = np.bincount((ends_of_bonds + first_atom).ravel(), minlength=len(atoms))
    known = atom_kinds.rows()[atoms]
    x = known[:, : len(ATOM_COLUMNS)].copy()
    x[:, DEGREE] = ATOM_COLUMNS[DEGREE].codes(neighbours + known[:, HYDROGENS])
    if chiral:
        where, tags = zip(*chiral, strict=True)
        x[list(where), CHIRALITY] = ATOM_COLUMNS[CHIRALITY].codes(np.array(tags))
    return {
        "x": x,
        "node_type": known[:, TOKEN].copy(),
        "edge_index": np.stack([ends_of_bonds, ends_of_bonds[::-1]], axis=-1).reshape(2, -1),
        "edge_attr": bond_kinds.rows()[bonds].repeat(2, axis=0),
        "node_ptr": np.array(node_ptr),
        "edge_ptr": 2 * np.array(bond_ptr),
    }


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Several featurised lists as one."""
    return {
        name: np.concatenate([[0], *(np.diff(part[name]) for part in parts)]).cumsum()
        if name.endswith("_ptr")
        else np.concatenate([part[name] for part in parts], axis=-1 if name == "edge_index" else 0)
        for name in parts[0]
    }
