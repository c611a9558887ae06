"""Scaffold splits: molecules with the same Bemis-Murcko scaffold stay together."""

from collections.abc import Sequence

import torch
from rdkit import Chem, rdBase
from torch import Tensor

from graphfnp.datasets.dataset import Split
from graphfnp.datasets.split import FRACTIONS, cut_offs, percent
from graphfnp.graphs.packed import UNLABELLED
from graphfnp.randomness import stream


def scaffold_split(
    smiles: Sequence[str], fractions: Sequence[float] = FRACTIONS, y: Tensor | None = None, chirality: bool = True
) -> Split:
    """Groups sorted by (size, first index) descending, filled greedily into train, validation, test: deterministic.

    ``chirality`` tells stereoisomers of a scaffold apart. It moves BBBP's positives from 82/55/52 to 84/41/53 % and
    BACE's from 43/56/61 to 40/86/53 %, so the split says which it is.
    """
    groups = sorted(_scaffold_groups(smiles, y, chirality), key=lambda group: (len(group), group[0]), reverse=True)
    return _filled(groups, fractions, how=f"{_name(chirality)} {percent(fractions)}")


def balanced_scaffold_split(
    smiles: Sequence[str],
    seed: int = 0,
    fractions: Sequence[float] = FRACTIONS,
    y: Tensor | None = None,
    chirality: bool = True,
) -> Split:
    """Groups in random order, after those larger than half the smaller of validation and test, which train."""
    groups = _scaffold_groups(smiles, y, chirality)
    count = sum(map(len, groups))
    train_end, validation_end = cut_offs(count, fractions)
    large = min(validation_end - train_end, count - validation_end) / 2
    shuffled = [groups[i] for i in torch.randperm(len(groups), generator=stream(seed, "scaffold split")).tolist()]
    shuffled.sort(key=lambda group: len(group) <= large)
    return _filled(shuffled, fractions, how=f"balanced {_name(chirality)} {percent(fractions)}, seed {seed}")


def scaffold_of(smiles: str, chirality: bool = True) -> str:
    """The Bemis-Murcko scaffold's SMILES; '' for a molecule without rings, itself where RDKit finds none."""
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles  # slow to import, and only splits need it

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        try:
            return MurckoScaffoldSmiles(mol=molecule, includeChirality=chirality) if molecule else smiles
        except (RuntimeError, ValueError):  # a scaffold RDKit cannot sanitise
            return smiles


def _name(chirality: bool) -> str:
    return "scaffold" if chirality else "scaffold without chirality"


def _scaffold_groups(smiles: Sequence[str], y: Tensor | None, chirality: bool) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for index, one in enumerate(smiles):
        if y is None or int(y[index]) != UNLABELLED:
            groups.setdefault(scaffold_of(one, chirality), []).append(index)
    return list(groups.values())


def _filled(groups: Sequence[list[int]], fractions: Sequence[float], how: str) -> Split:
    train_end, validation_end = cut_offs(sum(map(len, groups)), fractions)
    train, validation, test = [], [], []  # type: list[int], list[int], list[int]
    for group in groups:
        if len(train) + len(group) <= train_end:
            train += group
        elif len(train) + len(validation) + len(group) <= validation_end:
            validation += group
        else:
            test += group
    train_part, validation_part, test_part = (torch.tensor(sorted(part)).long() for part in (train, validation, test))
    return Split(train_part, validation_part, test_part, how)
