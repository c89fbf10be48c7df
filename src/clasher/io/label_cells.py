"""Labels written as one text: a list, or names with a separator between them.

``Fields(labels_json=True)`` reads each text as JSON, ``Fields(separator=…)`` splits it there.
Otherwise a JSON list, a JSON object, a Python list or a list without quotes, as databases write it
(``{oil,gas}``), is read as such, and ``|`` separates.
``open_stream`` also splits at ``;`` or ``,`` where the first records show that it separates labels
(``Detection``). Resumed streams and Spark cannot look ahead the same way each time: they never
guess, and refuse a text with ``;`` or ``,`` until an option decides.

Detection looks at the first 1,000 records, however they are cut into batches. A character counts
as a separator where at least 2 % of the texts have it; a comma with a blank after it is common in
names (*Washington, D.C.*), so its pieces must also appear elsewhere, in another position. Blanks
are too common in names to be separators: they only cause a warning.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, TypeAlias

import msgspec

from clasher.errors import LabelError, StreamError
from clasher.text.label_names import check_name, normal_name, normal_states

Listed: TypeAlias = list[str] | dict[str, bool] | None

DEFAULT_SEPARATOR: Final = "|"
WINDOW: Final = 1000  # records that are looked at
WINDOW_BYTES: Final = 64 << 20  # of text, after which no more records are held back
_LOOKS: Final = (20, 50, 100, 200, 500)  # records after which strong evidence is enough
_STRONG: Final = 10  # texts with the separator that are strong evidence
_SHARE: Final = 0.02  # of the texts must have a separator
_LATE: Final = 20  # doubtful texts after the first records that cause a warning
_LONGEST_LITERAL: Final = 1 << 20  # characters of a Python list that are parsed
_REPEATED: Final = 1000  # characters of lists that are remembered
_SEPARATORS: Final = (DEFAULT_SEPARATOR, ";", ",")
_WHITE: Final = {"\t": "tabs separate", "\n": "line ends separate", " ": "blanks separate"}
_BRACKETS: Final = {"[": "]", "{": "}", "(": ")"}
_PIECES: Final = {  # semicolons of HTML entities and commas of numbers separate nothing
    ";": re.compile(r"(?:&#?\w{1,31};|[^;])+"),
    ",": re.compile(r"(?:(?<=\d),(?=\d)|[^,])+"),
}
_ARRAY: Final = re.compile(r"\[\s*(?:(?:'[^']*'|\"[^\"]*\")\s+)+(?:'[^']*'|\"[^\"]*\")\s*\]")
_BROKEN: Final = re.compile(r"""[\[{]\s*["']""")  # a list that was cut off
_PLAIN: Final = re.compile(r"""[\[{](\s*(?:"[^"]*"|[^][{}"',:]+)\s*(?:,|(?=[]}]$)))+[]}]""")
_ITEM: Final = re.compile(r"""\s*(?:"([^"]*)"|([^,]+))\s*(?:,|$)""")
_QUOTED: Final = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class LabelFormWarning(UserWarning):
    """The separator of labels written as one text is uncertain."""


class DoubtfulLabelsError(StreamError):
    """A text may hold one label or several; only an option can decide."""

    def at(self, place: str) -> DoubtfulLabelsError:
        return DoubtfulLabelsError(f"{place}: {self}")


def read_list(text: str) -> Listed | str:
    """Read a text that is a list or an object; return any other unchanged."""
    stripped = text.strip()
    if _BRACKETS.get(stripped[:1]) != stripped[-1:] and stripped != "set()":
        if _BROKEN.match(stripped):
            raise LabelError(f"{_shown(text)} begins like a list of labels, and does not end so")
        return text
    value = (_parsed_again if len(stripped) <= _REPEATED else _parsed)(stripped)
    return checked(value) if isinstance(value, list | dict) else text


def is_blank(text: str) -> bool:
    """Whether a text has no character but white space."""
    return not text or text.isspace()


def read_json(text: str) -> Listed:
    """Read a text that must be a JSON list of text, an object label → bool, a text, or null."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        value = 0
    if not isinstance(value, str | list | dict | None):
        raise LabelError(f"{_shown(text)} is not a JSON list of labels")
    return None if value is None else checked([value] if isinstance(value, str) else value)


def split(text: str, separator: str) -> list[str]:
    """Split a text; empty pieces are dropped."""
    return [name for piece in text.split(separator) if (name := normal_name(piece))]


def refuse_doubtful(text: str) -> None:
    """Refuse a text that may hold several labels, if other records cannot be looked at."""
    if DEFAULT_SEPARATOR in text or (";" not in text and "," not in text):
        return
    separator, _ = _first_doubt([text])
    if separator is not None:
        raise DoubtfulLabelsError(
            f"the labels {_shown(text)} may be one or several; say --label-separator "
            f"'{separator}' if that separates labels, --label-separator '|' if it does not "
            f"(in Python: Fields(separator=…))"
        )


def _first_doubt(
    texts: Collection[str],
    default: tuple[str | None, str] = (None, ""),
    separators: Sequence[str] = _SEPARATORS[1:],
) -> tuple[str | None, str]:
    """Find a character that may separate labels, and a text that has it."""
    each = ((separator, text) for separator in separators for text in texts)
    return next((pair for pair in each if len(pieces(pair[1], pair[0])) > 1), default)


def pieces(text: str, separator: str) -> list[str]:
    """Split a text where the character certainly separates."""
    if separator not in text or separator not in _PIECES:
        return split(text, separator)
    return list(filter(None, map(normal_name, _PIECES[separator].findall(text))))


@dataclass(frozen=True)
class Understood:
    """How the labels of a stream were understood, after its first records.

    Attributes
    ----------
    separator : str | None
        The separator of labels; None if each text is one label or a list.
    records, labels : int
        Records looked at, and different labels in them.
    first : list of str
        The labels of the first labelled record.
    lists : bool
        Whether texts are lists.
    doubt : str | None
        A character that might be a separator; ``cell`` is a text with it.
    is_late : bool
        Whether the doubt came up later; then the other attributes are empty.
    blank : int
        Records with a blank text, if these are more than half; ``records`` are all of the stream.
    """

    separator: str | None
    records: int
    labels: int
    first: Sequence[str]
    lists: bool = False
    doubt: str | None = None
    cell: str = ""
    is_late: bool = False
    blank: int = 0

    def __str__(self) -> str:
        how = "written as lists" if self.lists else "one in each text"
        if self.separator is not None:
            how = f"separated by '{self.separator}'"
        first = ", ".join(map(_shown, self.first[:5])) + (", …" if len(self.first) > 5 else "")
        records = "record" if self.records == 1 else f"{self.records:,} records"
        return (
            f"labels: {self.labels:,} in the first {records}, {how}; "
            f"first record: {first or 'none'}"
        )

    def warning(self, *, at_terminal: bool = False) -> str | None:
        """Say what is doubtful and how to decide it, if anything is."""
        if self.blank:
            option = "--blank-is-none" if at_terminal else "Fields(blank_is_none=True)"
            return (
                f"{self.blank:,} of {self.records:,} records have blank labels, which were taken "
                f"as unknown; if these documents have no label, say {option}"
            )
        if self.doubt is None:
            return None
        option = "--label-separator {!r}" if at_terminal else "Fields(separator={!r})"
        what = _WHITE.get(self.doubt, f"'{self.doubt}' separates")
        return (
            f"{_shown(self.cell)} was taken for one label; if {what} labels, say "
            f"{option.format(self.doubt)}, if not, {option.format(self.separator or '|')}"
        )


OnLabels: TypeAlias = Callable[[Understood], object]


def warn_of(understood: Understood) -> None:
    """Issue a ``LabelFormWarning`` if there is a doubt."""
    if text := understood.warning():
        warnings.warn(text, LabelFormWarning, stacklevel=2)


@dataclass
class Detection:
    """Detects the separator of labels from the first records of a stream."""

    on_labels: OnLabels = warn_of
    separator: str = DEFAULT_SEPARATOR
    is_open: bool = True
    has_text: bool = False  # labels that are all lists need no notice
    records: int = 0
    bytes: int = 0
    _cells: dict[str, int] = field(default_factory=dict)  # different texts, by first appearance
    _listed: set[str] = field(default_factory=set)
    _first: Sequence[str] | str | None = None
    _has_doubtful: bool = False
    _watched: int = _LATE  # doubtful texts after the first records, which have one of these
    _others: Sequence[str] = _SEPARATORS[1:]

    @property
    def holds_back(self) -> bool:
        """Whether sampled records still wait for the separator."""
        return self.is_open and self._has_doubtful

    def look(self, labels: Iterable[Listed | str], sizes: Iterable[int] | None = None) -> None:
        for value, size in zip(labels, sizes or repeat(0), strict=False):
            if not self.is_open:
                return
            self.records += 1
            self.bytes += size
            if value is not None and self._first is None:
                self._first = value if isinstance(value, str) else list(value)
            if isinstance(value, str):
                self.has_text = True
                self._cells[value] = self._cells.get(value, 0) + 1
                self._has_doubtful = self._has_doubtful or ";" in value or "," in value
                if DEFAULT_SEPARATOR in value and not self._has_doubtful:
                    self._decide(DEFAULT_SEPARATOR)
            elif value is not None:
                self._listed.update(value)
            if self.records >= WINDOW or self.bytes > WINDOW_BYTES:
                self.close()
            elif self.records in _LOOKS and self._has_doubtful:
                found, count = self._found()
                if count >= _STRONG:
                    self._decide(found)

    def close(self) -> None:
        if self.is_open:
            self._decide(self._found()[0])

    def watch(self, labels: Iterable[Listed | str]) -> None:
        """Warn where separators begin to appear after the first records."""
        if self._watched >= _LATE:
            return
        texts = (x for x in labels if isinstance(x, str) and self.separator not in x)
        doubtful = [x for x in texts if _first_doubt([x], separators=self._others)[0]]
        self._watched += len(doubtful)
        if self._watched >= _LATE:
            latest = [doubtful[_LATE - self._watched - 1]]
            doubt, cell = _first_doubt(latest, separators=self._others)
            how = Understood(self.separator, 0, 0, [], doubt=doubt, cell=cell, is_late=True)
            self.on_labels(how)

    def _decide(self, found: str | None) -> None:
        self.is_open = False
        self.separator = found or DEFAULT_SEPARATOR
        if not self.has_text:
            return
        names = self._listed.union(*(split(cell, self.separator) for cell in self._cells))
        first = split(self._first, self.separator) if isinstance(self._first, str) else self._first
        doubt, cell = self._doubt() if found is None else (None, "")
        self._watched = 0 if doubt is None else _LATE
        if found is not None:  # commas are common in names
            self._others = "|;".replace(found, "")
        how = (first or [], not self._cells, doubt, cell)
        self.on_labels(Understood(found, self.records, len(names), *how))
        self._cells.clear()
        self._listed.clear()

    def _found(self) -> tuple[str | None, int]:
        """Find the separator in most texts, and their number."""
        found, most = None, 0
        for separator in _SEPARATORS:
            parts = {cell: pieces(cell, separator) for cell in self._cells}
            several = [cell for cell in parts if len(parts[cell]) > 1]
            count = sum(self._cells[cell] for cell in several)
            share = 0 if separator == DEFAULT_SEPARATOR else _SHARE * sum(self._cells.values())
            if count <= most or count < share:
                continue
            if separator == "," and any(", " in cell for cell in parts):
                # Names such as *Smith, John* have first and last pieces of different kinds: of the
                # split texts, half must have a piece that is first in one and not in another.
                both = {part[0] for part in parts.values() if part}
                both &= {own for part in parts.values() for own in part[1:]}
                if sum(both.isdisjoint(parts[cell]) for cell in several) > 0.5 * len(several):
                    continue
            found, most = separator, count
        return found, most

    def _doubt(self) -> tuple[str | None, str]:
        # Words of names rarely are labels of their own.
        several = [cell for cell in self._cells if len(cell.split()) > 1]
        alone = {cell.strip() for cell in self._cells if len(cell.split()) == 1}
        looks = [cell for cell in several if not alone.isdisjoint(cell.split())]
        has_blanks = len(looks) >= max(2, 0.5 * len(several))
        if not has_blanks:
            return _first_doubt(self._cells)
        white = next((x for x in _WHITE if any(x in cell for cell in looks)), " ")
        return _first_doubt(self._cells, (white, next((x for x in looks if white in x), looks[0])))


def _parsed(text: str) -> Any:
    """Parse JSON or a Python literal; None where it is neither."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    if text == "set()":
        return []
    if _ARRAY.fullmatch(text):  # as NumPy prints text; Python would join the pieces
        return [one or other for one, other in _QUOTED.findall(text)]
    if _PLAIN.fullmatch(text):
        return [one or other.strip() for one, other in _ITEM.findall(text[1:-1])]
    if len(text) > _LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # backslashes
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    if isinstance(value, set):
        return sorted(value, key=str)
    return list(value) if isinstance(value, tuple) else value


_parsed_again = lru_cache(4096)(_parsed)  # the same lists come again and again


def checked(labels: list[Any] | dict[Any, Any]) -> Listed:
    """Check a list of labels or an object label → bool, and normalise the names."""
    if isinstance(labels, list):
        return list(map(check_name, labels))
    for name, state in labels.items():
        if not isinstance(state, bool):
            must = f"label {name!r} must be true or false, or be left out"
            raise LabelError(f"{must}. Got {state!r} instead.")
    return normal_states(labels)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
