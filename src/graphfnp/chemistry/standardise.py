"""One way to write a molecule: cleaned, its largest fragment, neutral, its canonical tautomer, as RDKit has them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from rdkit import Chem

from graphfnp.chemistry.molecule_arrays import Arrays
from graphfnp.chemistry.read_smiles import read_molecule

MOST_TAUTOMERS = 200  # and transforms: .1 s of the processor at worst, where a row has .5 s
CLEANED, FRAGMENT, CHARGE, TAUTOMER, TOO_MANY = "cleaned", "fragment", "charge", "tautomer", "too many tautomers"


class StandardForm(NamedTuple):
    smiles: str
    changes: tuple[str, ...] = ()  # what was done to it, in order


def standard_form(smiles: str, most_atoms: int | None = None) -> StandardForm | str:
    """The SMILES of the standard form, or why there is none.

    A molecule with more than MOST_TAUTOMERS keeps the tautomer it has: which of some is chosen depends on the order of
    its atoms.
    """
    molecule = read_molecule(smiles, most_atoms)
    if isinstance(molecule, str):
        return molecule
    clean, choose, neutralise, tautomers = _steps()
    changes, before = [], Chem.MolToSmiles(molecule)
    try:
        for what, step in ((CLEANED, clean), (FRAGMENT, choose), (CHARGE, neutralise)):
            molecule = step(molecule)
            after = Chem.MolToSmiles(molecule)
            changes += [what] if after != before else []
            before = after
        found = tautomers.Enumerate(molecule)
        if str(found.status) != "Completed":
            return StandardForm(before, (*changes, TOO_MANY))
        after = Chem.MolToSmiles(tautomers.PickCanonical(found))
    except (ValueError, RuntimeError) as error:  # what RDKit cannot sanitise on the way
        return f"it cannot be standardised ({str(error).splitlines()[0]})"
    if not after:
        return "nothing is left of it when it is standardised"
    return StandardForm(after, (*changes, TAUTOMER) if after != before else tuple(changes))


@cache
def _steps() -> tuple[Any, Any, Any, Any]:
    from rdkit.Chem.MolStandardize import rdMolStandardize  # slow to import, and few models ask for it

    tautomers = rdMolStandardize.TautomerEnumerator()
    tautomers.SetMaxTautomers(MOST_TAUTOMERS)
    tautomers.SetMaxTransforms(MOST_TAUTOMERS)
    choose, neutralise = rdMolStandardize.LargestFragmentChooser().choose, rdMolStandardize.Uncharger().uncharge
    return rdMolStandardize.Cleanup, choose, neutralise, tautomers


# ---------------------------------------------------------------- beside the arrays of graphs


def form_arrays(forms: Sequence[StandardForm | None]) -> Arrays:
    """As bytes with pointers, which travel and are cached as the features are; None for what was no SMILES."""
    texts = [b"" if form is None else "\t".join([form.smiles, *form.changes]).encode() for form in forms]
    return {
        "form": np.frombuffer(b"".join(texts), dtype=np.uint8),
        "form_ptr": np.cumsum([0, *map(len, texts)]).astype(np.int64),
    }


def forms_in(arrays: Arrays) -> list[StandardForm | None] | None:
    """What :func:`form_arrays` wrote; None if nothing was standardised."""
    if "form" not in arrays:
        return None
    content, ends = arrays["form"].tobytes(), arrays["form_ptr"].tolist()
    lines = [content[a:b].decode().split("\t") for a, b in pairwise(ends)]
    return [StandardForm(smiles, tuple(changes)) if smiles else None for smiles, *changes in lines]


def counted(changes: Iterable[str | None]) -> Counter[str]:
    """How many molecules each change was made to, by the ``changes`` of their records."""
    return Counter(what for one in changes for what in (one or "").split(", ") if what)


def told(counts: Mapping[str, int], molecules: int) -> str:
    """The counts in a sentence."""
    named = [f"{what} {counts[what]}" for what in (CLEANED, FRAGMENT, CHARGE, TAUTOMER) if counts.get(what)]
    kept = f"; {counts[TOO_MANY]} have too many tautomers and keep theirs" if counts.get(TOO_MANY) else ""
    return f"standardised {molecules} molecules; changed: {', '.join(named) or 'none'}{kept}"
