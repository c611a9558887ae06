"""The user's own table of molecules as a Dataset: no row is lost, and each bad one has its reason."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from graphfnp.chemistry.molecule_arrays import featurise
from graphfnp.chemistry.smiles import graphs_from_smiles, molecule_schema, packed
from graphfnp.chemistry.standardise import counted, told
from graphfnp.datasets.columns import (
    chosen_labels,
    class_list,
    denies,
    label_column,
    label_map,
    label_notes,
    molecule_share,
    read_labels,
    smiles_column,
)
from graphfnp.datasets.dataset import PARTS, Dataset, Split
from graphfnp.datasets.split import (
    NAMES,
    PART_NAMES,
    chosen_split,
    column_split,
    duplicate_groups,
    duplicate_notes,
    scaffold_of,
    scaffold_split,
)
from graphfnp.datasets.table_files import TextTable, read_text_table
from graphfnp.errors import InvalidConfig, InvalidGraphs, listed, plural, shortened
from graphfnp.graphs.descriptors import check_columns, columns_in, descriptor_list
from graphfnp.graphs.packed import UNLABELLED, PackedGraphs

FEWEST_FOR_SCAFFOLDS = 100  # labelled molecules


def read_table(
    source: Path | str | TextTable,
    smiles: str | None = None,
    label: str | None = None,
    split: str | Path | Split | None = None,
    *,
    class_names: Sequence[str] | None = None,
    classes: str | Sequence[str] | None = None,
    map_labels: str | Mapping[str, str] | None = None,
    allow_unlabelled: bool = False,
    duplicates_together: bool = False,
    standardise: bool = False,
    features: str | Sequence[str] | None = None,
    seed: int = 0,
    processes: int = 1,
    cache: Path | str | None = None,
) -> Dataset:
    """CSV, TSV, Parquet, .smi or SDF, plain or gzipped; graphs and problems together are the data rows of the table.

    The settings are those of :func:`~graphfnp.datasets.load.load`. By default the split is a column called split, or
    else what :func:`usual_split` finds; ``allow_unlabelled`` accepts a table without a label column.
    """
    path = None if isinstance(source, TextTable) else Path(source)
    table = source if isinstance(source, TextTable) else read_text_table(Path(source))
    own_name = "table" if path is None else path.name
    molecules = smiles_column(table, smiles)
    if smiles is None and table.smiles is None and len(molecules) > 1 and molecule_share([molecules]) == 1:
        table = _with_header_as_row(table)
        molecules = smiles_column(table)
    if not len(table):
        raise InvalidGraphs(f"{own_name} without data rows", "at least one row under the header", "check the file")
    parts = _split_column(table, split)
    labels = label_column(table, label, taken={molecules, parts or "", *columns_in(descriptor_list(features))})
    if labels is None and not allow_unlabelled:
        raise InvalidConfig(
            f"a table with the columns {listed(table.names, 20)}",
            "one with labels",
            "name the column: --label COLUMN (in Python label=...)",
        )
    wanted = class_list(classes)
    given = chosen_labels(table[labels], label_map(map_labels), wanted) if labels else [""] * len(table)
    try:
        y, names = read_labels(given, labels or "", wanted or class_names)
    except InvalidConfig:
        if label is not None or not allow_unlabelled:
            raise
        labels = None  # a measured value under a usual name
        y, names = read_labels([""] * len(table), "")
    descriptors = descriptor_list(features)
    beside = columns_in(descriptors)
    check_columns(beside, table.names, own_name)
    schema, values = molecule_schema(names, standardise, descriptors), {name: table[name] for name in beside}
    graphs, rows, problems = graphs_from_smiles(table[molecules], y, schema, processes, cache, values)
    problems = tuple(table.refused.get(problem.row, problem) for problem in problems)
    if graphs is None and not allow_unlabelled:  # there is nothing to learn from
        first = problems[0]
        raise InvalidGraphs(
            f"{own_name}, without a readable row, e.g. row {first.row}: {shortened(first.given)!r}: {first.reason}",
            "rows that are molecules, with what is read beside them",
            "correct the rows, or name other columns: --smiles, --features",
        )
    if graphs is None:
        graphs = packed(featurise(()), y[rows], replace(schema, descriptors=()), ())
    notes = [*table.notes, *standard_notes(graphs)]
    if labels and not allow_unlabelled:
        notes += [*label_notes(given), *conflict_notes(graphs, rows)]
        if (smiles is None or label is None) and len(table.names) > 2:
            told = f"SMILES are those of the column {molecules!r}, labels those of {labels!r}"
            notes.append(f"{told}; --smiles and --label choose others")
    if salts := sum("." in smiles for smiles in graphs.text or ()):
        what = "each is one graph as written; --standardise keeps the largest fragment"
        told = "1 row holds" if salts == 1 else f"{salts} rows hold"
        notes.append(f"{told} several molecules, such as salts: {what}")
    if labels and (missing := int((y == UNLABELLED).sum())):
        told = "1 row has" if missing == 1 else f"{missing} rows have"
        notes.append(f"{told} no label in the column {labels!r} (empty, na, nan, null): in no part of the split")
    facts = {
        "origin": own_name,
        **({} if path is None else {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}),
        "SMILES column": molecules,
        "label column": labels or "none",
        **({"notes": "\n".join(notes)} if notes else {}),
    }
    if parts and len(graphs):
        chosen = column_split([table[parts][row] for row in rows.tolist()], graphs.y, seed)
        chosen = duplicate_notes(graphs, replace(chosen, how=f"column {parts!r}"))
    else:
        usual = "random" if allow_unlabelled else usual_split(graphs)  # who only predicts needs no parts
        chosen = chosen_split(graphs, usual if parts else split or usual, seed, duplicates_together)
        if split is None and not allow_unlabelled:
            chosen = replace(chosen, notes=(*chosen.notes, _why(chosen)))
    columns = dict(zip(table.names, table.columns, strict=True))
    return Dataset(own_name, graphs, chosen, problems, rows, facts, columns)


def standard_notes(graphs: PackedGraphs) -> list[str]:
    """What was done to molecules to bring them into their standard form."""
    return [told(counted(one.changes for one in graphs.origin), len(graphs))] if graphs.origin else []


def conflict_notes(graphs: PackedGraphs, rows: torch.Tensor) -> list[str]:
    """A note of the molecules that stand there with several labels, by their rows."""
    groups, labels = duplicate_groups(graphs), graphs.y.tolist()
    found: dict[int, list[int]] = {}
    for graph, group in enumerate([] if groups is None else groups.tolist()):
        if labels[graph] != UNLABELLED:
            found.setdefault(group, []).append(graph)
    several = [same for same in found.values() if len({labels[graph] for graph in same}) > 1]
    if not several:
        return []
    where = listed([" and ".join(str(int(rows[graph])) for graph in same) for same in several], 3)
    what = f"{plural(len(several), 'molecule')} with more than one label"
    return [f"{what}, so no model can be right in every row: rows {where}"]


def usual_split(graphs: PackedGraphs) -> str:
    """By scaffold where the molecules have enough of them and every part gets graphs of two classes; else at random.

    A random split has near twins of the training molecules in the test part, and flatters.
    """
    if not len(graphs) or graphs.text is None or (graphs.y >= 0).sum() < FEWEST_FOR_SCAFFOLDS:
        return "random"
    split = scaffold_split(graphs.text, y=graphs.y)
    parts = [graphs.y[part] for part in (split.train, split.validation, split.test)]
    classes = len(graphs.y[graphs.y >= 0].unique())
    has_scaffolds = sum(bool(scaffold_of(one)) for one in graphs.text) >= len(graphs) / 2
    return "scaffold" if has_scaffolds and all(len(y.unique()) == classes for y in parts) else "random"


def _why(split: Split) -> str:
    if split.how.startswith("scaffold"):
        return "split by scaffold, since new molecules have new scaffolds; --split random gives more optimistic numbers"
    return "split at random: there are too few molecules or scaffolds to have every class in every part by scaffold"


def summary(dataset: Dataset, limit: int = 10) -> str:
    """How many rows became graphs, of which part and class, notes, and which rows did not and why; counted from 0."""
    graphs, split, problems = dataset.graphs, dataset.split, dataset.problems
    names = graphs.schema.class_names
    source = f" from {len(graphs) + len(problems)} rows" if problems else ""
    parts = ", ".join(f"{part} {len(getattr(split, part))}" for part in PARTS)
    counts = ", ".join(f"{name} {count}" for name, count in zip(names, graphs.class_counts.tolist(), strict=True))
    last = f"; metrics of one class are for {names[1]}" if len(names) == 2 else ""
    if last and denies(names[1], names[0]):
        last += f" (with --classes {names[1]},{names[0]} for {names[0]})"
    lines = [
        f"{dataset.name}: {plural(len(graphs), 'graph')}{source}; split {split.how}: {parts}",
        f"classes in their order: {counts or 'none'}{last}",
        *(f"note: {note}" for note in (*dataset.facts.get("notes", "").splitlines(), *split.notes)),
    ]
    if problems:
        lines.append(f"{plural(len(problems), 'row')} could not be read (the first row under the header is row 0):")
        lines += [
            f"  row {problem.row}: {shortened(problem.given)!r}: {problem.reason}" for problem in problems[:limit]
        ]
        if len(problems) > limit:
            more = [problem.row for problem in problems[limit:]]
            lines.append(f"  and {len(more)} more: row{'s' * (len(more) > 1)} {listed(more, 20)}")
    return "\n".join(lines)


def _split_column(table: TextTable, split: str | Path | Split | None) -> str | None:
    """The column named by the user, or one called split that speaks of train and test."""
    if split is not None:
        name = split.removeprefix("column:") if isinstance(split, str) else ""
        return name if name in table.names and name not in NAMES else None
    known = {"", *(alias for aliases in PART_NAMES.values() for alias in aliases)}
    for name in table.names:
        if name.lower() == "split" and {value.lower() for value in table[name]} <= known:
            return name
    return None


def _with_header_as_row(table: TextTable) -> TextTable:
    """A file without a header: what was taken for one is the first row."""
    columns = tuple([name, *column] for name, column in zip(table.header, table.columns, strict=True))
    names = tuple(f"column {place}" for place in range(1, len(columns) + 1))
    return TextTable(names, columns, (*table.notes, "no header: the columns are called 'column 1', 'column 2', ..."))
