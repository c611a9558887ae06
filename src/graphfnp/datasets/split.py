"""Splits: random, stratified, by scaffold, by a column, by degree shift; and a note of what is in two parts."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import torch
from rdkit import Chem, rdBase
from torch import Tensor

from graphfnp.datasets.dataset import PARTS, Split, read_split
from graphfnp.errors import InvalidConfig, listed
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs
from graphfnp.kinds.kind_of import kind_of
from graphfnp.randomness import stream

NAMES = ("random", "scaffold", "balanced_scaffold", "random_scaffold", "degree_shift")
FRACTIONS = (0.8, 0.1, 0.1)
DENSE, SPARSE = 1.76785714, 1.57142857  # directed edges per node of Graph-SST2's training and test graphs
PART_NAMES = {
    "train": ("train", "training"),
    "validation": ("valid", "validation", "val", "dev"),
    "test": ("test", "testing"),
}


def chosen_split(
    graphs: PackedGraphs, how: str | Path | Split, seed: int = 0, duplicates_together: bool = False
) -> Split:
    """The split that ``how`` names, or that it holds, with a note of what is in more than one part."""
    if isinstance(how, Split):
        return _checked(how, graphs)
    if how == "random":
        groups = duplicate_groups(graphs) if duplicates_together else None
        return duplicate_notes(graphs, random_split(graphs.y, seed=seed, groups=groups))
    if how == "degree_shift":
        return duplicate_notes(graphs, degree_shift_split(graphs))
    if how in NAMES:
        if graphs.smiles is None:
            raise InvalidConfig(f"a {how} split of graphs without SMILES", "molecules given as SMILES", "use random")
        if how == "scaffold":
            return scaffold_split(graphs.smiles, graphs.y)
        return balanced_scaffold_split(graphs.smiles, seed, y=graphs.y)
    if Path(how).is_file():
        return _checked(read_split(Path(how)), graphs)
    raise InvalidConfig(
        f"split {str(how)!r}", f"one of {', '.join(NAMES)}, a split.json, or a column of a table", "choose one of these"
    )


def _checked(split: Split, graphs: PackedGraphs) -> Split:
    numbers = torch.cat([split.train, split.validation, split.test])
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= len(graphs)):
        raise InvalidConfig(
            f"a split with graph numbers {int(numbers.min())} to {int(numbers.max())}",
            f"numbers 0 to {len(graphs) - 1}",
            "check that the split belongs to these graphs",
        )
    return split


def random_split(
    y: Tensor, fractions: Sequence[float] = FRACTIONS, seed: int = 0, groups: Tensor | None = None
) -> Split:
    """A seeded stratified split; graphs of one group stay together, unlabelled graphs are in no part.

    The groups of each class are shuffled and spread evenly over [0, 1]; merging the classes by that position and
    cutting gives every part the class balance of the whole.
    """
    labelled = torch.where(y != UNLABELLED)[0]
    group = torch.arange(len(labelled)) if groups is None else groups[labelled].unique(return_inverse=True)[1]
    size = torch.bincount(group)
    label = torch.empty(len(size), dtype=y.dtype).scatter_(0, group.flip(0), y[labelled].flip(0))
    order = torch.randperm(len(size), generator=stream(seed, "split"))
    position = torch.empty(len(size), dtype=torch.double)
    for value in label.unique():
        members = order[label[order] == value]
        end = size[members].cumsum(0)
        position[members] = (end - size[members].double() / 2) / end[-1]
    order = order[torch.argsort(position[order], stable=True)]
    start = torch.empty_like(size)
    start[order] = size[order].cumsum(0) - size[order]
    train_end, validation_end = cut_offs(len(labelled), fractions)
    start = start[group]
    return Split(
        train=labelled[start < train_end],
        validation=labelled[(start >= train_end) & (start < validation_end)],
        test=labelled[start >= validation_end],
        how=f"random {percent(fractions)}, stratified, seed {seed}{'' if groups is None else ', duplicates together'}",
    )


def column_split(values: Sequence[object], y: Tensor | None = None, seed: int = 0) -> Split:
    """The parts a column of the user's file names; an empty field or a missing label is in no part."""
    names = ["" if value is None or value != value else str(value).strip().lower() for value in values]
    known = {name: part for part, aliases in PART_NAMES.items() for name in aliases}
    unknown = sorted({name for name in names if name and name not in known})
    if unknown:
        raise InvalidConfig(
            f"a split column with the values {listed(unknown)}",
            "train, valid (or validation, val) and test, or an empty field",
            "rename the values, or choose another column",
        )
    usable = [True] * len(names) if y is None else (y != UNLABELLED).tolist()
    parts = {
        part: torch.tensor(
            [i for i, name in enumerate(names) if usable[i] and known.get(name) == part], dtype=torch.long
        )
        for part in PART_NAMES
    }
    if not len(parts["train"]):
        raise InvalidConfig("a split column that names no training rows", "rows marked train", "check the column")
    notes: tuple[str, ...] = ()
    if not len(parts["validation"]):
        train = parts["train"]
        held_out = random_split(torch.zeros(len(train)) if y is None else y[train], (0.9, 0.1, 0.0), seed)
        parts |= {"train": train[held_out.train], "validation": train[held_out.validation]}
        notes = (f"the column names no validation rows: {len(held_out.validation)} training rows were held out",)
    return Split(**parts, how="column", notes=notes)


def degree_shift_split(graphs: PackedGraphs) -> Split:
    """Dense graphs train, sparse graphs test: d = directed edges / nodes, d >= 1.7679 or d <= 1.5714 (Graph-SST2).

    Graphs with two directed edges or fewer, and those in between, are in no part; validation is the first tenth of the
    dense graphs.
    """
    edges = graphs.edge_ptr.diff()
    density = edges / graphs.sizes
    usable = (edges > 2) & (graphs.y != UNLABELLED)
    dense = torch.where(usable & (density >= DENSE))[0]
    held_out = int(0.1 * len(dense))
    return Split(
        train=dense[held_out:],
        validation=dense[:held_out],
        test=torch.where(usable & (density <= SPARSE))[0],
        how=f"degree shift: directed edges per node >= {DENSE} train, <= {SPARSE} test",
    )


def cut_offs(count: int, fractions: Sequence[float]) -> tuple[int, int]:
    """Where train and validation end: int(f_train * n), int((f_train + f_valid) * n); three graphs fill three parts."""
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-6:
        raise InvalidConfig(
            f"fractions {tuple(fractions)}", "three numbers from 0 to 1 with sum 1", "e.g. (0.8, 0.1, 0.1)"
        )
    if count < 3:
        return count, count
    wanted = [int(fraction > 0) for fraction in fractions]
    train_end = min(int(fractions[0] * count), count - wanted[1] - wanted[2])
    validation_end = max(int((fractions[0] + fractions[1]) * count + 1e-9), train_end + wanted[1])
    return train_end, min(validation_end, count - wanted[2])


def percent(fractions: Sequence[float]) -> str:
    """'80/10/10'."""
    return "/".join(f"{100 * fraction:g}" for fraction in fractions)


def scaffold_split(smiles: Sequence[str], y: Tensor | None = None) -> Split:
    """Groups sorted by (size, first index) descending, filled greedily into train, validation, test: deterministic.

    Stereoisomers of a scaffold are told apart, which moves BBBP's positives from 82/55/52 to 84/41/53 % and BACE's from
    43/56/61 to 40/86/53 %.
    """
    groups = sorted(_scaffold_groups(smiles, y), key=lambda group: (len(group), group[0]), reverse=True)
    return _filled(groups, FRACTIONS, how=f"scaffold {percent(FRACTIONS)}")


def balanced_scaffold_split(
    smiles: Sequence[str], seed: int = 0, fractions: Sequence[float] = FRACTIONS, y: Tensor | None = None
) -> Split:
    """Groups in random order, after those larger than half the smaller of validation and test, which train."""
    groups = _scaffold_groups(smiles, y)
    count = sum(map(len, groups))
    train_end, validation_end = cut_offs(count, fractions)
    large = min(validation_end - train_end, count - validation_end) / 2
    shuffled = [groups[i] for i in torch.randperm(len(groups), generator=stream(seed, "scaffold split")).tolist()]
    shuffled.sort(key=lambda group: len(group) <= large)
    return _filled(shuffled, fractions, how=f"balanced scaffold {percent(fractions)}, seed {seed}")


@lru_cache(maxsize=1 << 16)  # a split is tried before it is chosen, and RDKit's time grows with the cube of the atoms
def scaffold_of(smiles: str) -> str:
    """The Bemis-Murcko scaffold's SMILES; '' for a molecule without rings, itself where RDKit finds none."""
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles  # slow to import, and only splits need it

    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles)
        if molecule and not molecule.GetRingInfo().NumRings():
            return ""
        try:
            return MurckoScaffoldSmiles(mol=molecule, includeChirality=True) if molecule else smiles
        except (RuntimeError, ValueError):  # a scaffold RDKit cannot sanitise
            return smiles


def _scaffold_groups(smiles: Sequence[str], y: Tensor | None) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for index, one in enumerate(smiles):
        if y is None or int(y[index]) != UNLABELLED:
            groups.setdefault(scaffold_of(one), []).append(index)
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


def duplicate_groups(graphs: PackedGraphs) -> Tensor | None:
    """[graphs]: equal numbers for the same molecule (canonical SMILES) or sentence; None: the graphs have no text."""
    if graphs.text is None:
        return None
    keys = kind_of(graphs.schema).canonical(graphs.text)
    numbers: dict[str, int] = {}
    return torch.tensor([numbers.setdefault(key, len(numbers)) for key in keys], dtype=torch.long)


def seen_before(graphs: PackedGraphs, texts: Sequence[str]) -> Tensor:
    """bool [graphs]: is the same molecule (canonical SMILES) or sentence among the texts?"""
    if graphs.text is None:
        return torch.zeros(len(graphs), dtype=torch.bool)
    kind = kind_of(graphs.schema)
    known = set(kind.canonical(texts))
    return torch.tensor([one in known for one in kind.canonical(graphs.text)], dtype=torch.bool)


def duplicate_notes(graphs: PackedGraphs, split: Split) -> Split:
    """The same split, with a note of the molecules or sentences that are in more than one part."""
    groups = duplicate_groups(graphs)
    if groups is None:
        return split
    members = {part: set(groups[getattr(split, part)].tolist()) for part in PARTS}
    shared = {(a, b): members[a] & members[b] for a, b in combinations(PARTS, 2)}
    several = set().union(*shared.values())
    if not several:
        return split
    where = ", ".join(f"{a} and {b} {len(both)}" for (a, b), both in shared.items() if both)
    noun = kind_of(graphs.schema).noun
    note = f"{len(several)} {noun}{'s are' if len(several) > 1 else ' is'} in more than one part ({where})"
    return replace(split, notes=(*split.notes, note))
