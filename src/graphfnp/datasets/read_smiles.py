"""SMILES to molecules and their feature arrays, with RDKit's reason where there is no molecule."""

import re
from collections.abc import Iterable

import numpy as np
from rdkit import Chem, rdBase

from graphfnp.datasets.molecule_arrays import Arrays, featurise

LETTERS_PER_ATOM = 20  # more than any atom takes with its bonds, brackets and ring numbers
Refusal = tuple[int, str, str]  # row, what was given, why it is no molecule


def featurise_smiles(start: int, smiles: list[str], most_atoms: int | None = None) -> tuple[Arrays, list[Refusal]]:
    """The arrays of the molecules with their ``row``, counted from ``start``, and the rows that are none.

    A molecule of more than ``most_atoms`` atoms (hydrogens are not counted) is refused.
    """
    refusals: list[Refusal] = []
    rows: list[int] = []

    def molecules() -> Iterable[Chem.Mol]:
        for row, one in enumerate(smiles, start):
            read = read_molecule(one, most_atoms)
            if isinstance(read, str):
                refusals.append((row, one, read))
            else:
                rows.append(row)
                yield read

    with rdBase.BlockLogs():
        arrays = featurise(molecules())
    return arrays | {"row": np.array(rows, dtype=np.int64)}, refusals


def read_molecule(smiles: str, most_atoms: int | None = None) -> Chem.Mol | str:
    """The molecule, or why there is none."""
    smiles = smiles.strip()
    if not smiles:
        return "no SMILES given"
    if most_atoms is not None and len(smiles) > LETTERS_PER_ATOM * most_atoms:  # not worth the minutes of parsing
        return f"a SMILES of {len(smiles)} letters, too long for a molecule of {most_atoms} atoms"
    try:
        molecule = Chem.MolFromSmiles(smiles)
    except (ValueError, RuntimeError) as error:  # e.g. text that is no UTF-8
        return str(error)
    if molecule is None:
        with rdBase.CaptureErrorLog() as log:  # once more, to hear why
            Chem.MolFromSmiles(smiles)
        try:
            return logged_reason(log.messages)
        except UnicodeDecodeError:  # RDKit shortens what it quotes, and may cut a letter in two
            return "RDKit finds no molecule in it; SMILES are written in ASCII"
    count = molecule.GetNumAtoms()
    if most_atoms is not None and count > most_atoms:
        return f"a molecule of {count} atoms, more than the limit of {most_atoms}"
    return molecule if count else "a molecule without atoms"


def logged_reason(messages: str) -> str:
    """What RDKit's error log says, without its clock, its frames and its drawing of the position."""
    plain = (re.sub(r"^\[[\d:]+\]", "", line).strip() for line in messages.splitlines())
    lines = [line for line in plain if line and line != "****" and not line.endswith("-condition Violation")]
    place = re.search(r"around position \d+", messages)
    if not lines:
        return "RDKit finds no molecule in it"
    return f"{lines[0]} ({place[0]})" if place else lines[0]
