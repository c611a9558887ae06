"""Table files as columns of text: CSV, TSV, Parquet, .smi and SDF, plain or gzipped, whatever their encoding."""

import csv
import io
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfnp.chemistry.reading import smiles_of_records
from graphfnp.datasets.archives import gunzipped, unpacked_limit
from graphfnp.errors import InvalidGraphs, MissingData
from graphfnp.graphs.problem import Problem

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

MOST_LINES, MOST_LETTERS = 1000, 1_000_000  # of one cell; a quote that closes later was left open
SHOWN_LINES = 10


@dataclass
class QuoteNotes:
    """Lines where quotes are not what they should be."""

    open: list[int] = field(default_factory=list)  # opened and not closed: read as rows of their own
    swallowed: list[int] = field(default_factory=list)  # cells of many lines, of which some look like rows

    def sentences(self) -> tuple[str, ...]:
        found = []
        if self.open:
            found.append(f"a quote is not closed, so the line was read as a row of its own: {_lines(self.open)}")
        if self.swallowed:
            found.append(f"a quoted cell holds lines that look like rows, is a quote missing? {_lines(self.swallowed)}")
        return tuple(found)


def csv_rows(lines: Iterable[str], delimiter: str, notes: QuoteNotes) -> Iterator[list[str]]:
    """The fields of every row, none for a blank line.

    A cell may hold line breaks if its closing quote is followed by the delimiter or the end of the line. If it is not,
    or does not come soon, the quote was a stray one: its line is a row, and the next line begins another.
    """
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    rest, again, width, number = iter(lines), deque[str](), 0, 0
    while (line := again.popleft() if again else next(rest, None)) is not None:
        number += 1
        if '"' not in line:
            plain = line.rstrip("\r\n")
            row = plain.split(delimiter) if plain else []
        else:
            taken = _taken(line, again, rest, delimiter)
            if taken is None:
                notes.open.append(number)
                row = next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])
            else:
                row = next(csv.reader(taken, delimiter=delimiter), [])
                if width > 1 and any(len(one.split(delimiter)) == width for one in taken[1:]):
                    notes.swallowed.append(number)
                number += len(taken) - 1
        width = width or len(row)
        yield row


def _taken(line: str, again: deque[str], rest: Iterator[str], delimiter: str) -> list[str] | None:
    """The lines of the row that begins here; None if a quote of it is not closed, and then all are given back."""
    taken, text, place = [line], line, 0
    while True:
        place, state = _scan(text, place, delimiter)
        if state == "whole":
            return taken
        more = None
        if state == "open" and len(taken) < MOST_LINES and len(text) < MOST_LETTERS:
            more = again.popleft() if again else next(rest, None)
        if more is None:
            again.extendleft(reversed(taken[1:]))
            return None
        taken.append(more)
        text += more


def _scan(text: str, place: int, delimiter: str) -> tuple[int, str]:
    """From the start of a field: is the row whole, is a quote open (in the field at the place returned), or broken?"""
    while True:
        if text[place : place + 1] == '"':
            end = place + 1
            while (end := text.find('"', end)) >= 0 and text[end + 1 : end + 2] == '"':
                end += 2
            if end < 0:
                return place, "open"
            after = text[end + 1 : end + 2]
            if after not in ("", "\r", "\n", delimiter):
                return place, "broken"
            if after != delimiter:
                return place, "whole"
            place = end + 2
        else:
            found = text.find(delimiter, place)
            if found < 0:
                return place, "whole"
            place = found + 1


def _lines(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:SHOWN_LINES]))
    more = f" and {len(numbers) - SHOWN_LINES} more" if len(numbers) > SHOWN_LINES else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{more}"


ROWS_A_BYTE = 1  # of a Parquet file, at most: equal rows pack well, but not for ever
_DECLARED = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
START = 4  # bytes that tell the encoding


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


def read_text_table(path: Path) -> TextTable:
    """Every data row of the file; short rows are filled up, and a blank line among them is a row without values."""
    content, kind = file_content(path)
    if kind == ".parquet":
        return _parquet(path, content)
    text, notes = decoded(content)
    if kind in (".sdf", ".sd"):
        return _sdf(path, text, notes)
    if kind in (".smi", ".smiles"):
        rows = _between([line.strip().split(None, 1) for line in io.StringIO(text, newline="")])
        if rows and rows[0][0].lower() == "smiles":
            rows = rows[1:]
        return replace(text_table(["smiles", "name"], rows, notes), smiles="smiles")
    rows, more_notes = _rows(text, kind)
    if not rows:
        raise InvalidGraphs(f"the empty file {path.name}", "a header and data rows", "check the file")
    return text_table(rows[0], rows[1:], (*notes, *more_notes))


def file_content(path: Path) -> tuple[bytes, str]:
    """The bytes, unpacked, and the suffix without .gz."""
    if path.is_fifo():
        raise MissingData(f"{path}, which is a pipe", "a file", "save it as one, or pipe into `graphfnp predict RUN -`")
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
    """InvalidGraphs for JSON, and for a file of a spreadsheet program, whatever its name: it is no text."""
    with open(path, "rb") as file:
        start = file.read(8)
    is_zipped = start.startswith(b"PK\x03\x04") and path.suffix.lower() not in (".zip", ".gz")
    is_json = path.suffix.lower() in (".json", ".jsonl")
    if is_json or is_zipped or start == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise InvalidGraphs(
            f"{path.name}, which is {'JSON' if is_json else 'a workbook of a spreadsheet program'}",
            "a table as text: .csv, .tsv, .smi, or .parquet, .sdf",
            "write a CSV, or read it in Python and pass graphfnp.load the molecules or graphs"
            if is_json
            else "open it there and save the sheet as CSV (UTF-8)",
        )


def encoding_of(start: bytes) -> str:
    """Of a text with these first START bytes: UTF-8, or UTF-16, also without its mark, where every other byte is 0."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    zeros = [byte == 0 for byte in start[:START]]
    if zeros == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros == [True, False, True, False] else "utf-8-sig"


def decoded(content: bytes) -> tuple[str, tuple[str, ...]]:
    """The text; UTF-8 unless the bytes say otherwise, with a note where the encoding had to be guessed."""
    try:
        return content.decode(encoding_of(content[:START])).removeprefix("\ufeff"), ()
    except UnicodeDecodeError as error:
        return content.decode("cp1252", "replace"), (f"read as cp1252: {error}",)


def _rows(text: str, kind: str) -> tuple[list[list[str]], tuple[str, ...]]:
    delimiter, notes = delimiter_of(next((line for line in text.splitlines() if line.strip()), ""), kind), QuoteNotes()
    rows = list(csv_rows(undeclared(io.StringIO(text, newline="")), delimiter, notes))
    return _between(rows), notes.sentences()


def _between(rows: list[list[str]]) -> list[list[str]]:
    """From the first row that says something to the last; blank lines between are rows, as in scoring."""
    said = [place for place, row in enumerate(rows) if any(cell.strip() for cell in row)]
    return rows[said[0] : said[-1] + 1] if said else []


def delimiter_of(first_line: str, kind: str) -> str:
    if declared := _DECLARED.fullmatch(first_line):
        return declared[1]
    between = re.sub(r'"[^"]*"', "", first_line)  # a quoted name may hold any
    return "\t" if kind in (".tsv", ".tab") else max(",;\t", key=between.count)


def undeclared(lines: Iterable[str]) -> Iterator[str]:
    """The lines; a first one that declares the delimiter, as spreadsheet programs write it, is blank."""
    begun = False
    for line in lines:
        yield "\n" if not begun and _DECLARED.fullmatch(line) else line
        begun = begun or bool(line.strip())


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], notes: tuple[str, ...] = ()) -> TextTable:
    """Rows of any length under any header as a table."""
    names: list[str] = []
    for place, given in enumerate(header, 1):
        name = given.strip() or f"column {place}"
        while name in names:
            name += f" (column {place})"
        names.append(name)
    if any(first != given.strip() for first, given in zip(names, header, strict=True) if given.strip()):
        notes = (*notes, "a column name occurs twice: the first keeps it, the others are called 'name (column n)'")
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


STRUCTURE, TITLE = "SMILES of the record", "title"
_END = re.compile(r"^\$\$\$\$.*\n?", re.MULTILINE)
# Its name, and its lines to a blank one, or to the next name where a sloppy writer has left the blank line out.
_PROPERTY = re.compile(r"^>.*?<([^>\n]+)>.*\n((?:(?!>.*<[^>\n]+>).+\n?)*)", re.MULTILINE)


def _sdf(path: Path, text: str, notes: tuple[str, ...]) -> TextTable:
    """SMILES and properties of every record; a record RDKit refuses is a row with RDKit's reason."""
    records = [record for record in _END.split(re.sub("\r\n?", "\n", text)) if record.strip()]
    if not records:
        raise InvalidGraphs(f"the empty file {path.name}", "SDF records", "check the file")
    properties = [{name: value.strip() for name, value in _PROPERTY.findall(record)} for record in records]
    names = list(dict.fromkeys(name for some in properties for name in some))
    titles = [record.partition("\n")[0].strip() for record in records]
    has_titles = any(titles)
    rows, refused = [], {}
    for row, ((smiles, reason), some) in enumerate(zip(smiles_of_records(records), properties, strict=True)):
        if reason:
            refused[row] = Problem(row, titles[row], reason)
        rows.append([smiles, *([titles[row]] if has_titles else []), *(some.get(name, "") for name in names)])
    header = [STRUCTURE, *([TITLE] if has_titles else []), *names]
    return replace(text_table(header, rows, notes), smiles=STRUCTURE, refused=refused)
