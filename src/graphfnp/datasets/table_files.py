"""Table files as columns of text: CSV, TSV, Parquet and .smi, plain or gzipped, whatever their encoding."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfnp.datasets.archives import gunzipped, unpacked_limit
from graphfnp.datasets.csv_rows import QuoteNotes, csv_rows
from graphfnp.errors import InvalidGraphs, MissingData
from graphfnp.graphs.problem import Problem

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

ROWS_A_BYTE = 1  # of a Parquet file, at most: equal rows pack well, but not for ever
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TextTable:
    """Columns of equal length under distinct names; an empty text is a missing value."""

    names: tuple[str, ...]
    columns: tuple[Sequence[str], ...]
    notes: tuple[str, ...] = ()  # what had to be assumed to read the file
    header: tuple[str, ...] = ()  # the names as the file gives them
    smiles: str | None = None  # the column of SMILES, where the kind of file says which
    refused: Mapping[int, Problem] = field(default_factory=dict)  # rows that the file itself does not give a molecule

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, name: str) -> Sequence[str]:
        return self.columns[self.names.index(name)]


def read_text_table(path: Path, encoding: str | None = None) -> TextTable:
    """Every data row of the file; short rows are filled up, and a blank line among them is a row without values."""
    content, kind = file_content(path)
    if kind == ".parquet":
        return _parquet(path, content)
    text, notes = decoded(content, encoding)
    if kind in (".smi", ".smiles"):
        rows = _between([line.strip().split(None, 1) for line in text.splitlines()])
        if rows and rows[0][0].lower() == "smiles":
            rows = rows[1:]
        return replace(text_table(["smiles", "name"], rows, notes), smiles="smiles")
    rows, more_notes = _rows(text, kind)
    if not rows:
        raise InvalidGraphs(f"the empty file {path.name}", "a header and data rows", "check the file")
    return text_table(rows[0], rows[1:], (*notes, *more_notes))


def file_content(path: Path) -> tuple[bytes, str]:
    """The bytes, unpacked, and the suffix without .gz."""
    if not path.is_file():
        raise MissingData(f"no file {path}", "a file", "check the path")
    suffix = path.suffix.lower()
    check_no_workbook(path)
    if suffix != ".gz":
        return path.read_bytes(), suffix
    try:
        return gunzipped(path), Path(path.stem).suffix.lower()
    except MissingData as error:
        raise InvalidGraphs(error.given, error.expected, error.to_do) from error


def check_no_workbook(path: Path) -> None:
    """InvalidGraphs for a file of a spreadsheet program, whatever its name: it is no text."""
    with open(path, "rb") as file:
        start = file.read(8)
    is_zipped = start.startswith(b"PK\x03\x04") and path.suffix.lower() not in (".zip", ".gz")
    if is_zipped or start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise InvalidGraphs(
            f"{path.name}, which is a workbook of a spreadsheet program",
            "a table as text: .csv, .tsv, .smi, or .parquet, .sdf",
            "open it there and save the sheet as CSV (UTF-8)",
        )


def decoded(content: bytes, encoding: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The text; UTF-8 unless the bytes say otherwise, with a note where the encoding had to be guessed."""
    if encoding is None and content.startswith(_UTF16):
        encoding = "utf-16"
    try:
        return content.decode(encoding or "utf-8-sig").removeprefix("\ufeff"), ()
    except (UnicodeDecodeError, LookupError) as error:
        for guess in ("cp1252", "latin-1"):
            try:
                return content.decode(guess), (f"read as {guess}: {error}",)
            except UnicodeDecodeError:
                continue
    raise AssertionError("latin-1 decodes any bytes")


def _rows(text: str, kind: str) -> tuple[list[list[str]], tuple[str, ...]]:
    delimiter, notes = delimiter_of(next((line for line in text.splitlines() if line.strip()), ""), kind), QuoteNotes()
    rows = list(csv_rows(io.StringIO(text, newline=""), delimiter, notes))
    return _between(rows), notes.sentences()


def _between(rows: list[list[str]]) -> list[list[str]]:
    """From the first row that says something to the last; blank lines between are rows, as in scoring."""
    said = [place for place, row in enumerate(rows) if any(cell.strip() for cell in row)]
    return rows[said[0] : said[-1] + 1] if said else []


def delimiter_of(first_line: str, kind: str) -> str:
    return "\t" if kind in (".tsv", ".tab") else max(",;\t", key=first_line.count)


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], notes: tuple[str, ...] = ()) -> TextTable:
    """Rows of any length under any header as a table."""
    names: list[str] = []
    for place, given in enumerate(header, 1):
        name = given.strip() or f"column {place}"
        names.append(name if name not in names else f"{name} (column {place})")
    if any(first != given.strip() for first, given in zip(names, header, strict=True) if given.strip()):
        notes = (*notes, "a column name occurs twice: the first is meant, the others are called 'name (column n)'")
    columns = tuple([row[i].strip() if i < len(row) else "" for row in rows] for i in range(len(names)))
    return TextTable(tuple(names), columns, notes, tuple(header))


def _parquet(path: Path, content: bytes) -> TextTable:
    import pyarrow as pa  # slow to import, and only such files need it
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
        check_parquet(file, len(content), path.name)
        table = file.read()
        rows = list(zip(*([cell_text(v) for v in column.to_pylist()] for column in table.columns), strict=True))
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise InvalidGraphs(f"{path.name}: {error}", "a Parquet file", "check the file") from error
    return text_table(table.column_names, rows)


def check_parquet(file: "ParquetFile", size: int, name: str) -> None:
    """A file of a few bytes may say that it holds more than the memory does."""
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    unpacked = sum(group.total_byte_size for group in groups)
    if unpacked > unpacked_limit(size) or file.metadata.num_rows > ROWS_A_BYTE * max(size, 1 << 20):
        raise InvalidGraphs(
            f"{name}: {size} bytes that unpack to {file.metadata.num_rows} rows of {unpacked} bytes",
            "a table of honest data",
            "do not use this file, or write it again as CSV",
        )


def cell_text(value: object) -> str:
    """A value of a typed table as text; a missing one is empty."""
    if value is None or value != value:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
