"""The rows of a file as chunks of SMILES, read as a stream: where a chunk begins depends on the file alone."""

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from graphfnp.datasets.columns import molecule_share, smiles_column
from graphfnp.datasets.table_files import (
    START,
    QuoteNotes,
    cell_text,
    check_no_workbook,
    check_parquet,
    csv_rows,
    delimiter_of,
    encoding_of,
    text_table,
    undeclared,
)
from graphfnp.errors import InvalidGraphs, MissingData
from graphfnp.files import exists
from graphfnp.graphs.descriptors import check_columns
from graphfnp.prediction.arrow import column

CHUNK = 2048  # rows that are scored together: part of the result's last digits, hence not a setting
HEAD = 500  # rows looked at to find the column of SMILES
LONGEST_LINE = 2**22  # letters
BLOCK = 2**20  # letters read at a time
TEXT_KINDS = (".csv", ".tsv", ".tab", ".txt", ".smi", ".smiles")
# What the readers of gzip and Parquet raise for files that are broken.
_BROKEN = (OSError, EOFError, ValueError, OverflowError, MemoryError, zlib.error, pa.ArrowException)


@dataclass(frozen=True)
class Chunk:
    """CHUNK rows of a file, fewer at its end."""

    number: int
    start: int  # row of the first
    texts: tuple[str, ...]
    reasons: dict[int, str] = field(default_factory=dict)  # why a row, counted from the chunk's first, is unreadable
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # descriptors that stand beside the texts


def can_stream(path: Path) -> bool:
    """Is this a kind of file that is read row by row?"""
    return exists(path) and path.is_file() and _kind(path) in (*TEXT_KINDS, ".parquet")


class MoleculeFile:
    """A CSV, TSV, .smi (these also gzipped) or Parquet file with a column of SMILES.

    Every line from the header to the last that says something is a row, also an empty one, which has no SMILES.
    ``chunks`` gives the SMILES and the cells of the columns called ``beside``, ``columns`` all cells of the same rows,
    to be carried beside the records.
    """

    def __init__(self, path: Path, smiles: str | None = None, beside: Sequence[str] = ()) -> None:
        if not can_stream(path):
            raise MissingData(f"{path}", f"a file that ends in {', '.join(TEXT_KINDS)} or .parquet", "check the path")
        check_no_workbook(path)
        self.path, self.kind, self.notes, self.beside = path, _kind(path), QuoteNotes(), tuple(beside)
        self.assumed: tuple[str, ...] = ()  # to name the columns
        try:
            self.sha256 = self._digest()
            self._describe(smiles)
        except _BROKEN as error:
            raise InvalidGraphs(f"{path.name}: {error}", "a readable file", "check the file") from error
        check_columns(self.beside, self.schema.names, path.name)

    def chunks(self) -> Iterator[Chunk]:
        """All rows in order; ``notes`` says afterwards where quotes were not closed."""
        self.notes = QuoteNotes()
        rows = self._parquet_cells() if self.kind == ".parquet" else self._text_cells()
        number = 0
        while cells := self._next(rows):
            texts, *others = zip(*cells, strict=True)
            yield _chunk(number, texts, dict(zip(self.beside, others, strict=True)))
            number += 1

    @property
    def _places(self) -> list[int]:
        """Of the SMILES, and of the columns beside them."""
        return [self.column, *map(self.schema.names.index, self.beside)]

    def columns(self) -> Iterator[pa.Table]:
        """All columns of the file as they are, CHUNK rows at a time: texts, or the types of a Parquet file."""
        if self.kind == ".parquet":
            yield from self._parquet_columns()
            return
        names, rows = [field.name for field in self.schema], self._text_rows()
        while some := self._next(rows):
            cells = [[_readable(row[i].strip()) if i < len(row) else "" for row in some] for i in range(len(names))]
            yield pa.Table.from_arrays([column(texts, pa.string()) for texts in cells], schema=self.schema)

    def _parquet_columns(self) -> Iterator[pa.Table]:
        import pyarrow.parquet as pq

        waiting = pa.Table.from_batches([], self.schema)  # empty_table would import pandas
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(CHUNK):  # a column of categories ends a batch where its row group ends
                waiting = pa.concat_tables([waiting, pa.Table.from_batches([batch]).replace_schema_metadata(None)])
                while len(waiting) >= CHUNK:
                    yield waiting[:CHUNK]
                    waiting = waiting[CHUNK:]
        if len(waiting):
            yield waiting

    def _next(self, rows: Iterator[Any]) -> list[Any]:
        try:
            return list(islice(rows, CHUNK))
        except _BROKEN as error:
            raise InvalidGraphs(f"{self.path.name}: {error}", "a file that is whole", "check the file") from error

    def is_changed(self) -> bool:
        """Did somebody write to the file since its rows were first looked at, or take it away?"""
        try:
            return self._digest() != self.sha256
        except OSError:
            return True

    # ---------------------------------------------------------------- what the file is like

    def _digest(self) -> str:
        with open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _describe(self, smiles: str | None) -> None:
        """Which column holds the SMILES, is there a header, and about how many rows are there."""
        if self.kind == ".parquet":
            import pyarrow.parquet as pq  # slow to import, and only such files need it

            with pq.ParquetFile(self.path) as file:
                check_parquet(file, self.path.stat().st_size, self.path.name)
                head = next(file.iter_batches(HEAD), None)
                self.num_rows, names = file.metadata.num_rows, list(file.schema_arrow.names)
            cells = [] if head is None else [[cell_text(v) for v in column.to_pylist()] for column in head.columns]
            table, self.names = text_table(names, list(zip(*cells, strict=True))), names
            self.schema = file.schema_arrow.remove_metadata()
        else:
            self.num_rows = self._count()
            with self._open() as file:
                first = next((line for line in bounded_lines(file) if line.strip()), "")
            self.delimiter = delimiter_of(first, self.kind)
            said = (row for row in self._records() if any(cell.strip() for cell in row))
            sample = list(islice(said, HEAD + 1))
            if not sample:
                raise InvalidGraphs(f"the empty file {self.path.name}", "a header and data rows", "check the file")
            table = text_table(sample[0], sample[1:])
        if self.is_smi:
            self.column, self.header = 0, sample[0][0].lower() == "smiles"
            self.schema = pa.schema([("smiles", pa.string()), ("name", pa.string())])
        else:
            name = smiles_column(table, smiles)
            self.column = table.names.index(name)
            guessed = self.kind != ".parquet" and smiles is None
            self.header = not (guessed and len(name) > 1 and molecule_share([name]) == 1)
        if not self.is_smi and self.kind != ".parquet":
            called = table.names if self.header else [f"column {place}" for place in range(1, len(table.names) + 1)]
            self.schema = pa.schema([(_readable(one), pa.string()) for one in called])
            self.assumed = table.notes if self.header else ()
        if self.header and not len(table):
            raise InvalidGraphs(f"{self.path.name} without data rows", "rows under the header", "check the file")

    @property
    def is_smi(self) -> bool:
        return self.kind in (".smi", ".smiles")

    def _count(self) -> int:
        """Lines: a guess at the number of rows that costs a fraction of reading them."""
        lines = 0
        with self._open() as file:
            while block := file.read(BLOCK):
                lines += block.count("\n")
        return max(lines, 1)

    # ---------------------------------------------------------------- reading

    def _open(self) -> IO[str]:
        """The text; bytes that are not UTF-8 become lone surrogates, to be refused row by row."""
        raw: IO[bytes] = gzip.open(self.path) if self.path.suffix.lower() == ".gz" else open(self.path, "rb")  # type: ignore[assignment]  # noqa: SIM115
        start = raw.read(START)
        raw.seek(0)
        return io.TextIOWrapper(raw, encoding_of(start), errors="surrogateescape", newline="")

    def _records(self) -> Iterator[list[str]]:
        """The fields of every line, none for a blank one."""
        with self._open() as file:
            if self.is_smi:
                yield from (line.split(None, 1) for line in bounded_lines(file))
            else:
                yield from csv_rows(undeclared(bounded_lines(file)), self.delimiter, self.notes)

    def _text_rows(self) -> Iterator[list[str]]:
        blank, header, begun = 0, self.header, False
        for row in self._records():
            if not any(cell.strip() for cell in row):
                blank += begun  # a row, if another comes after it
                continue
            yield from ([""] for _ in range(blank))
            blank, begun = 0, True
            if header:
                header = False
            else:
                yield row

    def _text_cells(self) -> Iterator[list[str]]:
        places = self._places
        for row in self._text_rows():
            yield [row[place].strip() if place < len(row) else "" for place in places]

    def _parquet_cells(self) -> Iterator[list[str]]:
        import pyarrow.parquet as pq

        names = [self.names[place] for place in self._places]
        same = [self.names[:place].count(name) for place, name in zip(self._places, names, strict=True)]  # before it
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(CHUNK, columns=names):
                read = batch.schema.names
                places = ([k for k, one in enumerate(read) if one == name] for name in names)
                columns = (batch.column(of_name[k]).to_pylist() for of_name, k in zip(places, same, strict=True))
                yield from ([cell_text(value).strip() for value in row] for row in zip(*columns, strict=True))


def bounded_lines(file: IO[str]) -> Iterator[str]:
    """The lines; of one that is absurdly long only the beginning, which is refused as too long a SMILES."""
    while line := file.readline(LONGEST_LINE):
        whole = line.endswith(("\n", "\r")) or len(line) < LONGEST_LINE
        yield line if whole else f"{line}\n"
        while not whole:
            rest = file.readline(LONGEST_LINE)
            whole = rest.endswith(("\n", "\r")) or len(rest) < LONGEST_LINE


def _kind(path: Path) -> str:
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _readable(text: str) -> str:
    """Text that was no UTF-8 as Windows would show it."""
    if text.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in text):
        return text
    return text.encode("utf-8", "surrogateescape").decode("cp1252", "replace")


def _chunk(number: int, texts: Sequence[str], columns: Mapping[str, tuple[str, ...]]) -> Chunk:
    """With a reason for each text that was no UTF-8; it is shown as Windows would."""
    shown, reasons = list(texts), dict[int, str]()
    for place, text in enumerate(texts):
        if text.isascii():
            continue
        wrong = [ord(letter) - 0xDC00 for letter in text if "\udc80" <= letter <= "\udcff"]
        if wrong:
            shown[place] = _readable(text)
            reasons[place] = f"text that is not UTF-8 (byte 0x{wrong[0]:02X})"
    return Chunk(number, number * CHUNK, tuple(shown), reasons, columns)
