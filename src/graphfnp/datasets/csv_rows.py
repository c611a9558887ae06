"""Rows of a CSV text, read line by line: a quote that was left open costs its own line, not the lines after it."""

import csv
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

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
