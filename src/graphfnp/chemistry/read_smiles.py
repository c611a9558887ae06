"""SMILES to molecules, with RDKit's reason where there is no molecule."""

import re
import unicodedata

from rdkit import Chem, rdBase

from graphfnp.chemistry.complexity import MOST_CYCLES, MOST_NEIGHBOURS, MOST_RINGS, too_complex

LETTERS_PER_ATOM = 20  # more than any atom takes with its bonds, brackets and ring numbers
_FOREIGN = re.compile(r"[^!-~]")  # RDKit drops some of these, and would read another molecule than was written
_RING_NUMBER = re.compile(r"\[[^]]*\]|(%\d\d|%\(\d+\)|\d)")


def read_molecule(smiles: str, most_atoms: int | None = None) -> Chem.Mol | str:
    """The molecule, or why there is none."""
    smiles = smiles.strip()
    if not smiles:
        return "no SMILES given"
    if most_atoms is not None and len(smiles) > LETTERS_PER_ATOM * most_atoms:  # not worth the minutes of parsing
        return f"a SMILES of {len(smiles)} letters, too long for a molecule of {most_atoms} atoms"
    if foreign := _FOREIGN.search(smiles):
        return f"{_named(foreign[0])} at position {foreign.start() + 1}: SMILES are written in ASCII, without blanks"
    try:
        if reason := _too_complex(smiles):
            return reason
        molecule = Chem.MolFromSmiles(smiles)
    except (ValueError, RuntimeError) as error:
        return str(error)
    if molecule is None:
        with rdBase.CaptureErrorLog() as log:  # once more, to hear why
            Chem.MolFromSmiles(smiles)
        return logged_reason(log.messages)
    count = molecule.GetNumAtoms()
    if most_atoms is not None and count > most_atoms:
        return f"a molecule of {count} atoms, more than the limit of {most_atoms}"
    if reason := too_many_cycles(molecule):
        return reason
    return molecule if count else "a molecule without atoms"


def _named(letter: str) -> str:
    name = unicodedata.name(letter, "a control character" if unicodedata.category(letter) == "Cc" else "no character")
    return f"{letter!a} ({name.lower()})"


def too_many_cycles(molecule: Chem.Mol) -> str | None:
    """What took long to find would take as long each time it is asked for again."""
    cycles = molecule.GetRingInfo().NumRings()
    return f"{cycles} smallest rings, more than the limit of {MOST_CYCLES}" if cycles > MOST_CYCLES else None


def _too_complex(smiles: str) -> str | None:
    """Asked of the edges alone, without a search for rings, where the text has brackets or ring numbers enough."""
    rings = len(smiles) > MOST_RINGS and sum(map(bool, _RING_NUMBER.findall(smiles))) > 2 * MOST_RINGS
    if not rings and smiles.count("(") < MOST_NEIGHBOURS - 2:
        return None
    spelled = Chem.MolFromSmiles(smiles, sanitize=False)
    if spelled is None:
        return None
    return too_complex(spelled.GetNumAtoms(), [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in spelled.GetBonds()])


def logged_reason(messages: str) -> str:
    """What RDKit's error log says, without its clock, its frames and its drawing of the position."""
    plain = (re.sub(r"^\[[\d:]+\]", "", line).strip() for line in messages.splitlines())
    lines = [line for line in plain if line and line != "****" and not line.endswith("-condition Violation")]
    place = re.search(r"around position \d+", messages)
    if not lines:
        return "RDKit finds no molecule in it"
    return f"{lines[0]} ({place[0]})" if place else lines[0]
