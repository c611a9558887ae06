"""SMILES to molecules, with the reason where there is none, or none that RDKit could search in time."""

import re
import unicodedata
from collections.abc import Sequence

from rdkit import Chem, rdBase

MOST_NEIGHBOURS = 24  # of an atom; chemistry knows 16, and RDKit counts valences in bytes
MOST_RINGS = 100  # independent rings of one ring system: C60 has 31
MOST_CYCLES = (
    4096  # smallest rings that RDKit lists: chains of para-linked rings bent to a circle double them each time
)


def too_complex(num_atoms: int, edges: Sequence[tuple[int, int]]) -> str | None:
    """Why RDKit is not asked, or None: an atom's degree, or edges - atoms + 1 of a ring system, is beyond sense."""
    neighbours: list[list[int]] = [[] for _ in range(num_atoms)]
    for a, b in edges:
        neighbours[a].append(b)
        neighbours[b].append(a)
    most = max(map(len, neighbours), default=0)
    if most > MOST_NEIGHBOURS:
        return f"an atom with {most} neighbours, more than the limit of {MOST_NEIGHBOURS}"
    rings = most_rings(neighbours) if len(edges) > MOST_RINGS else 0
    return f"a ring system of {rings} rings, more than the limit of {MOST_RINGS}" if rings > MOST_RINGS else None


def most_rings(neighbours: Sequence[Sequence[int]]) -> int:
    """The most independent rings, edges - atoms + 1, of a block (biconnected component, by Tarjan)."""
    count, best, clock = len(neighbours), 0, 0
    found, low, position = [0] * count, [0] * count, [0] * count
    edges: list[tuple[int, int]] = []
    for root in range(count):
        if found[root]:
            continue
        clock += 1
        found[root] = low[root] = clock
        path = [(root, -1)]
        while path:
            node, parent = path[-1]
            if position[node] < len(neighbours[node]):
                other = neighbours[node][position[node]]
                position[node] += 1
                if not found[other]:
                    clock += 1
                    found[other] = low[other] = clock
                    edges.append((node, other))
                    path.append((other, node))
                elif other != parent and found[other] < found[node]:
                    edges.append((node, other))
                    low[node] = min(low[node], found[other])
                continue
            path.pop()
            if parent >= 0:
                low[parent] = min(low[parent], low[node])
                if low[node] >= found[parent]:  # a block ends here
                    block: list[tuple[int, int]] = []
                    while not block or block[-1] != (parent, node):
                        block.append(edges.pop())
                    best = max(best, len(block) - len({end for edge in block for end in edge}) + 1)
    return best


LETTERS_PER_ATOM = 20  # more than any atom takes with its bonds, brackets and ring numbers
_FOREIGN = re.compile(r"[^!-~]")  # RDKit drops some of these, and would read another molecule than was written
_REACTION = re.compile(r"(?<!-)>")  # -> is a dative bond
_RING_NUMBER = re.compile(r"\[[^]]*\]|(%\d\d|%\(\d+\)|\d)")


def read_molecule(smiles: str, most_atoms: int | None = None) -> Chem.Mol | str:
    """The molecule, or why there is none."""
    smiles = smiles.strip()
    if not smiles:
        return "no SMILES given"
    if smiles.startswith("InChI="):
        return "an InChI, and SMILES are read: convert it, e.g. by RDKit's MolToSmiles(MolFromInchi(text))"
    if most_atoms is not None and len(smiles) > LETTERS_PER_ATOM * most_atoms:  # not worth the minutes of parsing
        return f"a SMILES of {len(smiles)} letters, too long for a molecule of {most_atoms} atoms"
    if foreign := _FOREIGN.search(smiles):
        if smiles[foreign.start() :].lstrip().startswith("|"):
            return f"a CXSMILES extension after position {foreign.start()}: give the SMILES before the blank alone"
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
        if _REACTION.search(smiles):
            return "a reaction, and one molecule is read: give a reactant or a product alone"
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
    """What RDKit's error log says, without its clock, its frames, the SMILES and its drawing of the position."""
    plain = (
        re.sub(r"^\[[\d:]+\]|,? (while parsing|for input):.*$", "", line).strip() for line in messages.splitlines()
    )
    lines = [line for line in plain if line and line != "****" and not line.endswith("-condition Violation")]
    place = re.search(r"around position \d+", messages)
    if not lines:
        return "RDKit finds no molecule in it"
    return f"{lines[0]} ({place[0]})" if place else lines[0]
