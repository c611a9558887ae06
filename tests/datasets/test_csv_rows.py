"""Quotes: cells of many lines stay one cell, and a quote that was left open swallows no row."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphfnp.datasets.table_files import QuoteNotes, csv_rows, read_text_table, text_table
from graphfnp.scoring.rows import MoleculeFile

TWELVE = [f"{'C' * (k + 1)},n{k}" for k in range(12)]


def rows_of(text: str) -> tuple[list[list[str]], QuoteNotes]:
    notes = QuoteNotes()
    return list(csv_rows(io.StringIO(text, newline=""), ",", notes)), notes


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.lists(st.lists(st.text('ab",\n\r é', max_size=6), min_size=2, max_size=4), max_size=6))
def test_what_a_csv_writer_writes_is_read_as_the_csv_reader_reads_it(table) -> None:
    written = io.StringIO(newline="")
    csv.writer(written).writerows(table)
    expected = list(csv.reader(io.StringIO(written.getvalue(), newline="")))
    found, notes = rows_of(written.getvalue())
    assert found == expected
    assert not notes.open


@pytest.mark.parametrize("strays", [(3,), (3, 9), (0, 1), (2, 5, 8), (11,)])
def test_stray_quotes_swallow_no_row(tmp_path: Path, strays: tuple[int, ...]) -> None:
    lines = [line.replace(",", ',"') if row in strays else line for row, line in enumerate(TWELVE)]
    path = tmp_path / "in.csv"
    path.write_text("\n".join(["smiles,name", *lines, ""]))
    file = MoleculeFile(path)
    (chunk,) = file.chunks()
    assert chunk.texts == tuple("C" * (k + 1) for k in range(12))
    table = read_text_table(path)
    assert list(table["smiles"]) == list(chunk.texts)
    for notes in (file.notes.sentences(), table.notes):
        assert "not closed" in notes[0]
        assert all(str(row + 2) in notes[0] for row in strays)  # counted with the header, from 1


def test_a_stray_quote_and_a_real_cell_of_two_lines_are_three_rows(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    for text in ('CCO,"a\nCCN,"two\nlines"\nCO,c\n', 'CCN,"two\nlines"\nCCO,"a\nCO,c\n'):
        path.write_text(f"smiles,name\n{text}")
        (chunk,) = MoleculeFile(path).chunks()
        assert sorted(chunk.texts) == ["CCN", "CCO", "CO"]
        assert len(read_text_table(path)) == 3


def test_a_pair_of_strays_that_looks_like_one_cell_is_reported() -> None:
    """Nobody can know: it is read as written, and said."""
    found, notes = rows_of('smiles,name\nCCO,"a\nCCN,b\nCO,c"\nC,d\n')
    assert len(found) == 3
    assert "line 2" in notes.sentences()[0]
    assert "look like rows" in notes.sentences()[0]


def test_a_quote_that_never_closes_costs_no_second_reading_of_a_long_file() -> None:
    lines = ['CCO,"open'] + ["C,x"] * 5000
    found, notes = rows_of("\n".join(lines * 2))
    assert len(found) == 10002
    assert notes.open == [1, 5002]


def test_a_name_with_a_separator_of_unicode_begins_no_row_of_a_smi_file(tmp_path: Path) -> None:
    path = tmp_path / "in.smi"
    path.write_text("CCO a\u2028b\nCCN c\x0bd\nCO e\n")
    (chunk,) = MoleculeFile(path).chunks()
    assert list(read_text_table(path)["smiles"]) == list(chunk.texts) == ["CCO", "CCN", "CO"]


def test_no_column_is_lost_under_the_name_of_another() -> None:
    table = text_table(["a (column 3)", "a", "a"], [["1", "2", "3"]])
    assert [table[name] for name in table.names] == [["1"], ["2"], ["3"]]
