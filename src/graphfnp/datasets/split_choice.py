"""A split by its name: random, scaffold, balanced_scaffold, degree_shift, or a saved file."""

import json
from dataclasses import replace
from pathlib import Path

import torch

from graphfnp.datasets.dataset import PARTS, Split
from graphfnp.datasets.duplicates import duplicate_notes
from graphfnp.datasets.split import degree_shift_split
from graphfnp.datasets.tables import split_molecules
from graphfnp.errors import InvalidConfig
from graphfnp.graphs.packed import PackedGraphs

ALIASES = {"random_scaffold": "balanced_scaffold"}
NAMES = ("random", "scaffold", "balanced_scaffold", "degree_shift")


def chosen_split(
    graphs: PackedGraphs, how: str | Path | Split, seed: int = 0, duplicates_together: bool = False
) -> Split:
    """The split that ``how`` names, or that it holds."""
    if isinstance(how, Split):
        return _checked(how, graphs)
    how = ALIASES.get(str(how), str(how))
    if how == "degree_shift":
        return duplicate_notes(graphs, degree_shift_split(graphs))
    if "scaffold" in how and how in NAMES and (graphs.text is None or graphs.schema.kind != "molecule"):
        raise InvalidConfig(f"a {how} split of graphs without SMILES", "molecules given as SMILES", "use random")
    if how in NAMES:
        return split_molecules(graphs, how, seed, duplicates_together)
    if Path(how).is_file():
        try:
            return _checked(Split.from_json(json.loads(Path(how).read_text())), graphs)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidConfig(f"{how}: {error}", "a split.json of a run", "check the file") from error
    raise InvalidConfig(f"split {how!r}", f"{', '.join(NAMES)} or a split.json", "choose one of these")


def limited(split: Split, limit: int) -> Split:
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
