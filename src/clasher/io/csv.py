"""CSV and TSV with a header, quoted as spreadsheets do it.

Every cell is text: ids stay text, an empty id is missing, empty labels mean unlabelled. A quoted
row may span several lines; its place is its first line. After broken quoting, reading continues at
the next line, so that one stray quote does not swallow what follows.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

from clasher.errors import StreamError
from clasher.io.formats import Held, InputFile, Reading
from clasher.io.label_cells import DoubtfulLabelsError
from clasher.io.lines import Overlong, line_groups, too_long
from clasher.io.records import SKIP, Batch, FaultError, Id, LabelValue, invalid_utf8, missing_column

_Row: TypeAlias = tuple[Id, str, LabelValue | str]  # a plain tuple, since there are so many


def read_delimited(source: InputFile, reading: Reading) -> Iterator[Batch | Held]:
    """Read CSV or TSV, without blank lines."""
    # The csv module has one limit for the whole process: raise it to ours, never lower it.
    csv.field_size_limit(max(csv.field_size_limit(), reading.longest))
    feed = _Feed(line_groups(source, reading), reading.longest)
    delimiter = source.delimiter or ("\t" if source.kind == "tsv" else ",")
    rows = csv.reader(feed, delimiter=delimiter, strict=True)
    try:
        header = _read_row(rows, feed)
    except FaultError as fault:
        raise StreamError(
            f"{source.name} has no readable header: {fault.problem}; {fault.remedy}"
        ) from None
    if header is None:
        return
    if source.delimiter is None:
        delimiter, header = _delimited(header, feed.raw, delimiter, reading)
        rows = csv.reader(feed, delimiter=delimiter, strict=True)
    convert = _converter(header, source.name, reading)
    records: list[_Row] = []
    while True:
        try:
            row = _read_row(rows, feed)
            if row is None:
                break
            records.append(convert(row))
        except DoubtfulLabelsError as error:
            raise error.at(f"{source.name}, record {feed.line}") from None
        except FaultError as fault:
            reading.records += 1
            reading.reject(source.name, feed.line, fault, feed.raw)
        if not feed.waiting or len(records) >= reading.room():
            yield reading.of_records(records)
            records = []
    yield reading.of_records(records)


def _delimited(
    header: list[str], raw: bytes, delimiter: str, reading: Reading
) -> tuple[str, list[str]]:
    """Find the delimiter that gives the wanted columns, or else the most columns."""
    fields = reading.fields
    needs_labels = reading.labelled and reading.required
    wanted = {fields.text or fields.id, fields.labels if needs_labels else fields.text or fields.id}
    if wanted <= set(header):
        return delimiter, header
    found = {delimiter: header}
    for other in (",", ";", "\t", "|"):
        try:
            found[other] = next(csv.reader([raw.decode()], delimiter=other, strict=True))
        except (csv.Error, StopIteration, UnicodeDecodeError):
            continue
        if wanted <= set(found[other]):
            return other, found[other]
    if len(header) == 1:
        delimiter = max(found, key=lambda other: len(found[other]))
    return delimiter, found[delimiter]


def _read_row(rows: Iterator[list[str]], feed: _Feed) -> list[str] | None:
    """Read the next row that is not blank; None at the end."""
    row: list[str] = []
    while not row:
        feed.begin()
        try:
            row = next(rows)
        except StopIteration:
            return None
        except (csv.Error, FaultError) as error:
            feed.give_back()
            if isinstance(error, FaultError):
                raise
            raise FaultError(f"broken quoting: {error}") from None
        if not feed.valid:
            raise invalid_utf8(feed.raw)
    return row


class _Feed:
    """Gives the csv module line after line, and keeps those of the current row."""

    def __init__(self, groups: Iterator[list[bytes]], longest: int) -> None:
        self._groups, self._longest = groups, longest
        self._taken: list[bytes] = []
        self.waiting: deque[bytes] = deque()
        self.line = 1
        self.begin()

    def begin(self) -> None:
        self.line += len(self._taken)
        self._taken.clear()
        self._size, self.valid = 0, True

    def give_back(self) -> None:
        """Read all but the first line of the row again: only that one was bad."""
        self.waiting.extendleft(reversed(self._taken[1:]))
        del self._taken[1:]

    @property
    def raw(self) -> bytes:
        return b"\n".join(getattr(line, "head", line) for line in self._taken)

    def __iter__(self) -> _Feed:
        return self

    def __next__(self) -> str:
        while not self.waiting:
            self.waiting.extend(next(self._groups))
        line = self.waiting.popleft()
        self._taken.append(line)
        self._size += len(line)
        if isinstance(line, Overlong) or self._size > self._longest:
            raise too_long(self._longest)
        try:
            return line.decode() + "\n"
        except UnicodeDecodeError:
            # The row is bad, but its end can still be found.
            self.valid = False
            return line.decode("utf-8", "surrogateescape") + "\n"


def _converter(header: list[str], source: str, reading: Reading) -> Callable[[list[str]], _Row]:
    """Find the wanted columns; return a function from row to record."""
    at: dict[str, int] = {}
    for option, field, is_needed in reading.wanted():
        if header.count(field) > 1:
            raise StreamError(f"{source} has {header.count(field)} columns {field!r}; rename them")
        if field in header:
            at[option] = header.index(field)
        elif is_needed:
            raise missing_column(source, field, option, header)
    text, labels, own = map(at.get, ("text", "labels", "id"))

    def convert(row: list[str]) -> _Row:
        if len(row) != len(header):
            problem = f"the row has {len(row)} cells where the header has {len(header)}"
            raise FaultError(problem, f"quote cells that hold separators or line ends, or {SKIP}")
        found = None if labels is None else reading.judge_labels(row[labels])
        reading.records += 1
        number = reading.records if own is None else row[own] or reading.records
        return number, "" if text is None else row[text], found

    return convert
