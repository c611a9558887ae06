"""A split by its name: random, scaffold, balanced_scaffold, degree_shift, column:NAME, or a saved file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from graphfnp.datasets.dataset import PARTS, Split
from graphfnp.datasets.duplicates import duplicate_groups, duplicate_notes
from graphfnp.datasets.scaffold import balanced_scaffold_split, scaffold_split
from graphfnp.datasets.split import column_split, degree_shift_split, random_split
from graphfnp.errors import InvalidConfig, listed
from graphfnp.graphs import PackedGraphs

NAMES = ("random", "scaffold", "balanced_scaffold", "random_scaffold", "degree_shift")  # random_scaffold: another name


def chosen_split(
    graphs: PackedGraphs,
    how: str | Path | Split,
    seed: int = 0,
    keep_duplicates_together: bool = False,
    columns: Mapping[str, Sequence[object]] | None = None,
) -> Split:
    """The split that ``how`` names; ``columns`` are those of the user's file, one value for each graph."""
    if isinstance(how, Split):
        return _checked(how, graphs)
    how = str(how)
    if how == "random":
        groups = duplicate_groups(graphs) if keep_duplicates_together else None
        return duplicate_notes(graphs, random_split(graphs.y, seed=seed, groups=groups))
    if how == "degree_shift":
        return duplicate_notes(graphs, degree_shift_split(graphs))
    if how in NAMES:
        if graphs.text is None or graphs.schema.kind != "molecule":
            raise InvalidConfig(f"a {how} split of graphs without SMILES", "molecules given as SMILES", "use random")
        if how == "scaffold":
            return scaffold_split(graphs.text, y=graphs.y)
        return balanced_scaffold_split(graphs.text, seed=seed, y=graphs.y)
    if how.startswith("column:"):
        name = how.removeprefix("column:")
        if name not in (columns or {}):
            raise InvalidConfig(f"split column {name!r}", f"one of {listed(columns or (), 20)}", "check the name")
        return duplicate_notes(graphs, column_split((columns or {})[name], graphs.y, seed))
    if Path(how).is_file():
        try:
            return _checked(Split.from_json(json.loads(Path(how).read_text())), graphs)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidConfig(f"{how}: {error}", "a split.json of a run", "check the file") from error
    raise InvalidConfig(f"split {how!r}", f"{', '.join(NAMES)}, column:NAME or a split.json", "choose one of these")


def thinned(split: Split, limit: int) -> Split:
    """At most ``limit`` graphs of each part, evenly spaced, so that files sorted by class keep all classes."""
    parts = {part: getattr(split, part) for part in PARTS}
    kept = {
        part: rows[torch.arange(limit) * len(rows) // limit] if len(rows) > limit else rows
        for part, rows in parts.items()
    }
    return replace(split, **kept, how=f"{split.how}, at most {limit} of each part")


def _checked(split: Split, graphs: PackedGraphs) -> Split:
    numbers = torch.cat([split.train, split.validation, split.test])
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= len(graphs)):
        raise InvalidConfig(
            f"a split with graph numbers {int(numbers.min())} to {int(numbers.max())}",
            f"numbers 0 to {len(graphs) - 1}",
            "check that the split belongs to these graphs",
        )
    return split
