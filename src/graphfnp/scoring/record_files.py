"""Records to CSV or Parquet files, written in one atomic step with what is known of the model that made them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from graphfnp.datasets.table_files import cell_text
from graphfnp.errors import InvalidConfig
from graphfnp.files import atomic, end_of_link, write_json
from graphfnp.prediction.arrow import column

ENDINGS = (".csv", ".parquet")
ROW_GROUP = 16384  # rows of a Parquet file that are compressed together
_FORMULA = r"^[=+\-@\t\r\n]"
_NUMBER = r"^[+\-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+\-]?[0-9]+)?$"  # which a spreadsheet should read as one
OF_INPUT = " (input)"  # after the name of a user's column that is called as one of the records
_PLAIN = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_null, pa.types.is_string)
METADATA = b"graphfnp"  # where Parquet keeps what a CSV has in a file beside it


def about_file(target: Path) -> Path:
    """Beside a CSV: the model, its calibration, the settings and the counts."""
    return target.with_name(f"{target.name}.about.json")


def check_target(target: Path, source: Path | str | None = None, endings: Sequence[str] = ENDINGS) -> None:
    """Is it a kind of file that is written here, and is it not the input, by whatever name?"""
    if target.suffix not in endings:
        raise InvalidConfig(f"--out {target}", "a .csv, .parquet or .json file", "change the ending")
    if str(target) != str(target).encode(errors="replace").decode():
        raise InvalidConfig(f"--out {target!r}", "a name in UTF-8", "change the name")
    if target.is_dir():
        raise InvalidConfig(f"--out {target}, which is a folder", "a file", "name a file in it")
    if end_of_link(target).is_symlink():
        raise InvalidConfig(f"--out {target}, a link that leads back to itself", "a file", "name another")
    if source is None:
        return
    for written in (target, about_file(target), target.with_name(f"{target.name}.parts")):
        if _same(written, Path(source)):
            raise over_the_input(target)


def over_the_input(target: Path | str) -> InvalidConfig:
    return InvalidConfig(f"--out {target}, which would overwrite the input", "another file", "choose another name")


def _same(one: Path, other: Path) -> bool:
    """Links are followed; where the file system does not tell case apart, both names lead to one file."""
    try:
        return one.samefile(other)
    except (OSError, ValueError):  # one of them is not there
        return one.resolve() == other.resolve()


def write_record_file(
    target: Path, tables: Iterable[pa.Table], about: Mapping[str, Any], raw: bool = False, folder: Path | None = None
) -> None:
    """One table or more, one after the other; the same tables, however they are cut, give the same bytes.

    In a CSV a text that a spreadsheet would take for a formula gets an apostrophe, unless it is to be ``raw``. What is
    not whole yet is in ``folder``, by default beside the target.
    """
    check_target(target)
    first = next(rest := iter(tables))
    tables = chain([first], rest)
    written = end_of_link(target)
    with atomic(written, folder if written == target else None) as temporary:  # a link may lead to another disk
        if target.suffix == ".csv":
            _write_csv(temporary, tables if raw else map(without_formulas, tables))
            write_json(end_of_link(about_file(target)), about)
        else:
            _write_parquet(temporary, tables, first.schema.with_metadata({METADATA: json.dumps(dict(about)).encode()}))


def renamed(own: Sequence[str], taken: Sequence[str]) -> list[str]:
    """A name for each of the input's columns beside the records' own: their own, unless that is taken."""
    names: list[str] = []
    for name in own:
        new = name
        while new in taken or new in names:
            new += OF_INPUT
        names.append(new)
    return names


def column_notes(own: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Which of the input's columns have another name beside the records."""
    pairs = zip(own, renamed(own, taken), strict=True)
    return [f"the column {name!r} of the input is called {new!r}" for name, new in pairs if name != new]


def as_cells(columns: pa.Table) -> pa.Table:
    """Columns for CSV: what is neither number, time nor text of the usual kind, as text."""
    for place, field in enumerate(columns.schema):
        if not any(is_plain(field.type) for is_plain in _PLAIN):
            values = columns[place].to_pylist()
            texts = column([None if one is None else cell_text(one) for one in values], pa.string())
            columns = columns.set_column(place, field.name, texts)
    return columns


def beside(columns: pa.Table, records: pa.Table) -> pa.Table:
    """The input's own columns, then the records; a list that is no text stays what it is."""
    names = renamed(columns.column_names, records.column_names)
    own = [pa.field(name, field.type) for name, field in zip(names, columns.schema, strict=True)]
    return pa.Table.from_arrays([*columns.columns, *records.columns], schema=pa.schema([*own, *records.schema]))


def _write_csv(file: Path, tables: Iterable[pa.Table]) -> None:
    from pyarrow.csv import CSVWriter  # slow to import: only what is written

    first = next(rest := iter(tables))
    with CSVWriter(file, first.schema) as writer:
        for table in chain([first], rest):
            writer.write_table(table)


def without_formulas(table: pa.Table) -> pa.Table:
    """Texts and names that begin with = + - @, a tab or a line break, behind an apostrophe; numbers stay numbers."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            table = table.set_column(place, field, _guarded(table[place]))
    return table.rename_columns(_guarded(column(table.column_names, pa.string())).to_pylist())


def _guarded(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    import pyarrow.compute as pc  # slow to import, and only a CSV needs it

    formula = pc.match_substring_regex(texts, _FORMULA)
    formula = pc.and_not(formula, pc.match_substring_regex(texts, _NUMBER))
    if not pc.any(formula).as_py():
        return texts
    return pc.if_else(formula, pc.binary_join_element_wise("'", texts, ""), texts)


def _write_parquet(file: Path, tables: Iterable[pa.Table], schema: pa.Schema) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        waiting: list[pa.Table] = []
        for table in tables:
            waiting.append(table)
            while sum(map(len, waiting)) >= ROW_GROUP:
                together = pa.concat_tables(waiting)
                writer.write_table(_whole(together[:ROW_GROUP], schema), row_group_size=ROW_GROUP)
                waiting = [together[ROW_GROUP:]] if len(together) > ROW_GROUP else []
        if waiting:
            writer.write_table(_whole(pa.concat_tables(waiting), schema), row_group_size=ROW_GROUP)


def _whole(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """In one piece: how a table was put together must not show in the file."""
    return table.combine_chunks().replace_schema_metadata(schema.metadata)
