"""Rows that tests of scoring share."""

import random

AMINES = ["CN", "CCN", "CCCN", "CC(C)N", "NCCN", "CCC(C)N", "CCCCN", "NC1CCCC1", "NC1CCCCC1", "c1cc[nH]c1"]
OTHERS = ["CO", "CCO", "CCCO", "CC(C)O", "OCCO", "CCC(C)O", "CCCCO", "OC1CCCC1", "CC(=O)Oc1ccccc1C(=O)O", "C[C@H](F)Cl"]
POLYMER = "C" * 2000
BROKEN = {  # row: bytes of its SMILES
    3: b"",
    97: b"C1CC",
    98: b"not a molecule",
    250: "C\u00e9C".encode("latin-1"),
    251: b"\xff\xfe\xfa",
    400: POLYMER.encode(),
    633: b"CN(C)(C)(C)C",
    640: b"   ",
    998: b"c1cccc1",
    999: ("CC" * 30000).encode(),
}


def rows(count: int, seed: int = 0) -> list[str]:
    return random.Random(seed).choices(AMINES + OTHERS, k=count)


def with_broken_rows(count: int) -> bytes:
    lines = [BROKEN.get(row, text.encode()) + f",m{row}".encode() for row, text in enumerate(rows(count))]
    return b"\n".join([b"smiles,name", *lines, b""])
