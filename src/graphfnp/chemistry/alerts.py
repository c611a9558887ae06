"""Structural alerts for mutagenicity: the toxicophores of Kazius, McGuire and Bursi (J. Med. Chem. 2005), as SMARTS.

The eight general toxicophores first, then most of the specific ones. The patterns are written for this table from
their published descriptions; the detoxifying exceptions of the paper (a sulfonic acid on the ring of an aromatic amine,
say) are left out: an alert here names a group, it is no verdict.
"""

from functools import cache

from rdkit import Chem

ALERTS = {
    "aromatic nitro": "a[NX3+](=O)[O-]",
    "aromatic amine": "a[NX3;H2]",
    "three-membered heterocycle": "[C;r3]1[N,O,S;r3][C;r3]1",
    "nitroso": "[#6,#7][NX2]=[OX1]",
    "unsubstituted heteroatom-bonded heteroatom": "[$([NX3;H2]),$([OX2;H1])][#7,#8;!$(N=O)]",
    "azo-type": "[#6,#7][NX2]=[NX2]",
    "aliphatic halide": "[CX4;!$(C(F)(F)F)][Cl,Br,I]",
    "polycyclic aromatic system": "a1aaa2a(a1)aa1aaaaa1a2",
    "polycyclic aromatic system (angular)": "a1aaa2a(a1)aaa1aaaaa12",
    "polycyclic aromatic system (peri-fused)": "a1aa2aaaa3a2a(a1)aaa3",
    "polycyclic aromatic system (five-membered)": "a1aaa2a(a1)aa1aaaaa12",
    "polycyclic aromatic system (fluoranthene)": "a1aaa2a(a1)~a1aaaa3aaaa~2a13",
    "sulfonate-bonded carbon": "[CX4]O[SX4](=O)=O",
    "aliphatic N-nitro": "[NX3][NX3+](=O)[O-]",
    "alpha,beta-unsaturated aldehyde": "[CX3]=[CX3][CX3;H1]=O",
    "diazonium": "[#6][N+]#N",
    "diazo": "[#6]=[N+]=[N-]",
    "azide": "[#6][N]=[N+]=[N-]",
    "beta-propiolactone": "O=C1CCO1",
    "alpha,beta-unsaturated alkoxy": "[CX3;H1]=[CX3;H1]O[CX4]",
    "1-aryl-2-monoalkyl hydrazine": "a[NX3;H1][NX3;H1][CX4]",
    "aromatic methylamine": "a[NX3;H1][CH3]",
    "ester of aromatic hydroxylamine": "aN[OX2][CX3]=O",
    "nitrogen or sulphur mustard": "[Cl,Br,I][CX4;H2][CX4;H2][N,S]",
}


@cache
def _patterns() -> tuple[tuple[str, Chem.Mol], ...]:
    """Several patterns may have one name, without what stands in brackets."""
    return tuple((name.split(" (")[0], Chem.MolFromSmarts(smarts)) for name, smarts in ALERTS.items())


def alerts_in(molecule: Chem.Mol) -> tuple[str, ...]:
    """Names of the alerts a molecule holds, in the order of the table; open valences are hydrogens."""
    found = (name for name, pattern in _patterns() if molecule.HasSubstructMatch(pattern))
    return tuple(dict.fromkeys(found))
