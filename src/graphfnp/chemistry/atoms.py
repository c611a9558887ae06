"""What the numbers of a molecule graph mean: nine atom features, three bond features, and the tokens of a decoder."""

import re
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from rdkit import Chem


@dataclass(frozen=True)
class Column:
    """One categorical feature: the values told apart, and one more bin for any other value."""

    name: str
    values: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.values) + 1

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Position of each value among ``self.values``, which are sorted; ``len(self.values)`` for any other."""
        known = self._known
        position = np.minimum(known.searchsorted(values), len(known) - 1)
        return np.where(known[position] == values, position, len(known)).astype(np.int16)

    @cached_property
    def _known(self) -> np.ndarray:
        return np.array(self.values)


def _upto(last: int, first: int = 0) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


# Enumerations of RDKit (chirality, hybridisation, stereo) are integers counted from 0.
ATOM_COLUMNS = (
    Column("atomic number", _upto(118)),
    Column("chirality", _upto(8)),
    Column("degree", _upto(10)),
    Column("formal charge", _upto(5, -5)),
    Column("hydrogens", _upto(8)),
    Column("radical electrons", _upto(4)),
    Column("hybridisation", _upto(8)),
    Column("aromatic", (0, 1)),
    Column("in ring", (0, 1)),
)


def column_number(name: str) -> int:
    return [column.name for column in ATOM_COLUMNS].index(name)


BOND_TYPES = {
    "single": Chem.BondType.SINGLE,
    "double": Chem.BondType.DOUBLE,
    "triple": Chem.BondType.TRIPLE,
    "aromatic": Chem.BondType.AROMATIC,
}
BOND_COLUMNS = (
    Column("bond type", tuple(map(int, BOND_TYPES.values()))),
    Column("stereo", _upto(7)),
    Column("conjugated", (0, 1)),
)

# What a decoder may place: element and charge, so that a nitro group can be written (N+, O-).
ORGANIC = ("C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si", "Se", "As", "H", "*")
CHARGED = ("N+", "O-", "N-", "C-", "C+", "O+", "S+", "S-", "P+", "B-", "F-", "Cl-", "Br-", "I-", "H+")
METALS = ("Li+", "Na+", "K+", "Mg+2", "Ca+2", "Zn+2", "Na", "Sn", "Hg", "Pt")
TOKENS = (*ORGANIC, *CHARGED, *METALS, "other")
OTHER_TOKEN = TOKENS.index("other")
_TOKEN = re.compile(r"([A-Z][a-z]?|\*)(?:([+-])(\d*))?")


@cache
def read_token(name: str) -> tuple[int, int]:
    """Atomic number and charge: (7, 1) for 'N+', (20, 2) for 'Ca+2'; what names no element is a dummy atom, (0, 0)."""
    match = _TOKEN.fullmatch(name)
    if match is None or match[1] == "*":
        return 0, 0
    try:
        number = Chem.GetPeriodicTable().GetAtomicNumber(match[1])
    except RuntimeError:
        return 0, 0
    return number, int(match[3] or 1) * (-1 if match[2] == "-" else 1) if match[2] else 0


def token_codes(number: np.ndarray, charge: np.ndarray) -> np.ndarray:
    """Token of each atom; OTHER_TOKEN outside the vocabulary."""
    known = {read_token(name): code for code, name in enumerate(TOKENS) if name != "other"}
    atoms, which = np.unique(np.stack([number, charge]), axis=1, return_inverse=True)
    codes = [known.get((int(atom[0]), int(atom[1])), OTHER_TOKEN) for atom in atoms.T]
    return np.array(codes, dtype=np.int16)[which]
