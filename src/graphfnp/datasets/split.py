"""Splits that need no chemistry: random and stratified, by a column of the user's file, by degree shift."""

from collections.abc import Sequence

import torch
from torch import Tensor

from graphfnp.datasets.dataset import Split
from graphfnp.errors import InvalidConfig, listed
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs
from graphfnp.randomness import stream

FRACTIONS = (0.8, 0.1, 0.1)
DENSE, SPARSE = 1.76785714, 1.57142857  # directed edges per node of Graph-SST2's training and test graphs
PART_NAMES = {
    "train": ("train", "training"),
    "validation": ("valid", "validation", "val", "dev"),
    "test": ("test", "testing"),
}


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
    density = edges / graphs.node_ptr.diff()
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
