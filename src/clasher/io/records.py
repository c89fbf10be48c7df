"""Records, batches of records, and the faults of bad ones.

A record has a text, labels and an id. Labels are a list of text, a mapping label → bool, null for
an unlabelled document, or one text, which ``clasher.io.label_cells`` reads. A blank text means
unlabelled too, since CSV writes null this way, unless ``Fields(blank_is_none=True)`` says that the
document has no label; so does a lone separator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from clasher.errors import SettingError, StreamError
from clasher.io import label_cells
from clasher.labels import UNLABELLED, LabelSets

Id: TypeAlias = int | str
LabelValue: TypeAlias = list[str] | dict[str, bool] | None

SKIP: Final = "skip bad records with --on-error skip"
_FIX: Final = f"fix it, or {SKIP}"
_DELIMITER: Final = re.compile(r"[^\w. -]")
_LABEL_COLUMN: Final = pa.large_list(pa.large_string())


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of the fields of a record.

    A dot reaches into nested fields (``payload.body``); a field of that exact name comes first.

    Parameters
    ----------
    text
        The field of the text; ``None`` for a stream of labels alone, whose texts are empty.
    labels
        The field of the labels; ignored if the stream is read without labels.
    id
        The field of the id. A record without one gets its number in the stream, counted from 1;
        ``None`` numbers all records.
    separator
        The separator of labels written as one text. ``None``: a text may be a JSON or Python list,
        and ``|`` separates; ``open_stream`` also detects ``;`` and ``,``.
    labels_json
        Read labels written as one text as JSON only.
    blank_is_none
        Whether a blank text says that the document has no label, instead of unknown ones.

    Examples
    --------
    >>> Fields(text="payload.body", separator=",").split("oil, gold,")
    ['oil', 'gold']
    """

    text: str | None = "text"
    labels: str = "labels"
    id: str | None = "id"
    separator: str | None = None
    labels_json: bool = False
    blank_is_none: bool = False

    def __post_init__(self) -> None:
        for parameter in ("text", "labels", "id", "separator"):
            value = getattr(self, parameter)
            is_good = isinstance(value, str) and value
            if not is_good and (value is not None or parameter == "labels"):
                raise SettingError(
                    f"the {parameter!r} of a stream must be non-empty text. Got {value!r} instead."
                )
        if self.labels_json and self.separator is not None:
            both = f"--labels-json and --label-separator {self.separator!r}"
            raise SettingError(f"{both} exclude each other; leave one out")
        if len({self.text, self.labels, self.id}) < 3:
            got = f"Got {self.text!r}, {self.labels!r} and {self.id!r}."
            raise SettingError(f"text, labels and id must be different fields. {got}")

    def split(self, text: str) -> LabelValue:
        """Read the labels in one text; None if unlabelled. Refuse a text of doubtful form."""
        value = self.listed(text)
        if not isinstance(value, str):
            return value
        label_cells.refuse_doubtful(value)
        return label_cells.split(value, label_cells.DEFAULT_SEPARATOR)

    def listed(self, text: str) -> LabelValue | str:
        """Parse a text that can be read on its own; return others unchanged.

        >>> Fields().listed('["oil"]'), Fields().listed("oil;gas"), Fields().listed(" ")
        (['oil'], 'oil;gas', None)
        """
        if label_cells.is_blank(text):
            return [] if self.blank_is_none else None
        if self.separator is not None:
            return label_cells.split(text, self.separator)
        return label_cells.read_json(text) if self.labels_json else label_cells.read_list(text)


class Record(NamedTuple):
    """A good record. Without an id it gets its number; labels are text until they can be split."""

    id: Id | None
    text: str
    labels: LabelValue | str


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive records of a stream.

    Attributes
    ----------
    ids : list of int or str
    texts : pyarrow.LargeStringArray
    labels : LabelSets
        All unlabelled if the stream is read without labels.

    Examples
    --------
    >>> batch = Batch.of([7], ["oil prices rise"], ["oil|energy"], Fields())
    >>> len(batch), batch.labels[0] == {"energy", "oil"}
    (1, True)
    """

    ids: list[Id]
    texts: pa.LargeStringArray
    labels: LabelSets

    @classmethod
    def of(
        cls,
        ids: list[Id],
        texts: Sequence[str],
        labels: Sequence[LabelValue | str] | None,
        fields: Fields,
    ) -> Batch:
        """Make a batch of columns with good values."""
        if labels is None:
            return cls(ids, pa.array(texts, pa.large_string()), unlabelled(len(ids)))
        kinds = set(map(type, labels))
        if str in kinds:
            labels = [fields.split(value) if isinstance(value, str) else value for value in labels]
        # Through Arrow, unless there are mappings.
        sets = LabelSets.of(labels if dict in kinds else pa.array(labels, _LABEL_COLUMN))
        return cls(ids, pa.array(texts, pa.large_string()), sets)

    def only(self, places: Sequence[int]) -> Batch:
        """Select the records at some places."""
        texts = self.texts.take(pa.array(places, pa.int64()))
        labels = LabelSets.of([self.labels.as_given(at) for at in places])
        return Batch([self.ids[at] for at in places], texts, labels)

    @classmethod
    def empty(cls) -> Batch:
        """Make a batch without records."""
        return cls([], pa.array([], pa.large_string()), unlabelled(0))

    def __len__(self) -> int:
        return len(self.ids)


def unlabelled(documents: int) -> LabelSets:
    """Make the labels of unlabelled documents."""
    known = np.full(documents, UNLABELLED, np.uint8)
    return LabelSets([], np.zeros(0, np.int32), np.zeros(documents + 1, np.int64), known=known)


def numbered(ids: Sequence[Id | None], spare: Iterable[Id]) -> list[Id]:
    """Fill in missing ids from ``spare``, which has one for each record."""
    if None not in ids:
        return list(ids)  # type: ignore[arg-type]
    return [other if own is None else own for own, other in zip(ids, spare, strict=False)]


class FaultError(Exception):
    """A bad record, before its place in the stream is known."""

    def __init__(self, problem: str, remedy: str = _FIX, raw: bytes | None = None) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.raw = problem, remedy, raw


def invalid_utf8(raw: bytes) -> FaultError:
    """Say where a record is not UTF-8."""
    place = ""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        place = f" at byte {error.start + 1}"
    remedy = f"name the encoding of the file, such as --encoding cp1252, or {SKIP}"
    return FaultError(f"invalid UTF-8{place}", remedy)


def listing(names: Sequence[str] | Mapping[str, Any]) -> str:
    """List some names for a message."""
    shown = ", ".join(repr(name[:40]) for name, _ in zip(names, range(8), strict=False))
    return shown + (", …" if len(names) > 8 else "")


def missing_column(source: str, field: str, option: str, names: Sequence[str]) -> StreamError:
    """Return the error for a table without a needed column."""
    found = f"its columns are {listing(names)}" if names else "it has no columns"
    remedy = f"name the right one with --{option} FIELD"
    if len(names) == 1 and _DELIMITER.search(names[0]):
        remedy += ", or the separator of columns with --delimiter"
    return StreamError(f"{source} has no column {field!r}, {found}; {remedy}")
