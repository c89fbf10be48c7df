"""Records, batches of them, and what is wrong with a bad one.

A record has a text, labels and an id. Labels are a list of text, a mapping label → bool, null for
an unlabelled document, or one text, which ``clasher.io.label_cells`` reads: a list, or names with a
separator between them. Blanks around a label are stripped and empty pieces dropped. A blank text
means unlabelled too, since CSV writes null this way; a lone separator means "labelled, with
nothing".

Readers decode whole batches; ``judge`` checks the records of a batch that failed one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from clasher.errors import LabelError, SettingError, StreamError
from clasher.io import label_cells
from clasher.labels import UNLABELLED, LabelSets
from clasher.text.label_names import check_name, normal_states

Id: TypeAlias = int | str
LabelValue: TypeAlias = list[str] | dict[str, bool] | None

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

    def __post_init__(self) -> None:
        for parameter in ("text", "labels", "id", "separator"):
            value = getattr(self, parameter)
            if value is None and parameter != "labels":
                continue
            if not isinstance(value, str) or not value:
                raise SettingError(
                    f"the {parameter!r} of a stream must be non-empty text. Got {value!r} instead."
                )
        if self.labels_json and self.separator is not None:
            raise SettingError(
                f"labels are JSON (--labels-json) or separated by {self.separator!r} "
                f"(--label-separator), not both; leave one out"
            )
        if len({self.text, self.labels, self.id}) < 3:
            raise SettingError(
                f"text, labels and id must be different fields. Got {self.text!r}, "
                f"{self.labels!r} and {self.id!r}."
            )

    def split(self, text: str, found: str | None = None) -> LabelValue:
        """Read the labels in one text; a blank one means None, unlabelled.

        ``found`` is the detected separator. Without it, a text that may hold several labels is
        refused.
        """
        value = self.listed(text)
        if not isinstance(value, str):
            return value
        if found is None:
            label_cells.refuse_doubtful(value)
        return label_cells.split(value, found or label_cells.DEFAULT_SEPARATOR)

    def listed(self, text: str) -> LabelValue | str:
        """Read a text that needs no look at others; return any other unchanged.

        >>> Fields().listed('["oil"]'), Fields().listed("oil;gas"), Fields().listed(" ")
        (['oil'], 'oil;gas', None)
        """
        if not text or text.isspace():
            return None
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
        sets = unlabelled(len(ids)) if labels is None else label_sets(labels, fields)
        return cls(ids, pa.array(texts, pa.large_string()), sets)

    @classmethod
    def of_records(cls, records: Sequence[Record], fields: Fields, *, labelled: bool) -> Batch:
        """Make a batch of judged records that have ids."""
        ids: list[Any] = [record.id for record in records]
        labels = [record.labels for record in records] if labelled else None
        return cls.of(ids, [record.text for record in records], labels, fields)

    def only(self, places: Sequence[int]) -> Batch:
        """Select the records at some places."""
        return Batch(
            [self.ids[at] for at in places],
            self.texts.take(pa.array(places, pa.int64())),
            LabelSets.of([self.labels.as_given(at) for at in places]),
        )

    @classmethod
    def empty(cls) -> Batch:
        """Make a batch without records."""
        return cls([], pa.array([], pa.large_string()), unlabelled(0))

    def __len__(self) -> int:
        return len(self.ids)


def unlabelled(documents: int) -> LabelSets:
    """Make the labels of unlabelled documents."""
    return LabelSets(
        [],
        np.zeros(0, np.int32),
        np.zeros(documents + 1, np.int64),
        known=np.full(documents, UNLABELLED, np.uint8),
    )


def label_sets(labels: Sequence[LabelValue | str], fields: Fields) -> LabelSets:
    """Turn a column of label values into label sets, through Arrow unless there are mappings."""
    kinds = set(map(type, labels))
    if str in kinds:
        labels = [fields.split(value) if isinstance(value, str) else value for value in labels]
    return LabelSets.of(labels if dict in kinds else pa.array(labels, _LABEL_COLUMN))


def numbered(ids: Sequence[Id | None], spare: Iterable[Id]) -> list[Id]:
    """Fill in missing ids from ``spare``, which has one for each record."""
    if None not in ids:
        return list(ids)  # type: ignore[arg-type]
    return [other if own is None else own for own, other in zip(ids, spare, strict=False)]


_SKIP: Final = "mend it, or skip bad records with --on-error skip"
_MISSING: Final = object()
_DELIMITER: Final = re.compile(r"[^\w. -]")


class FaultError(Exception):
    """A bad record, before its place in the stream is known."""

    def __init__(self, problem: str, remedy: str = _SKIP, raw: bytes | None = None) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.raw = problem, remedy, raw


def invalid_utf8(raw: bytes) -> FaultError:
    """Say where a record is not UTF-8."""
    place = ""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        place = f" at byte {error.start + 1}"
    return FaultError(
        f"invalid UTF-8{place}",
        "name the encoding of the file, such as --encoding cp1252, or skip bad records with "
        "--on-error skip",
    )


def judge(
    values: Mapping[str, Any],
    fields: Fields,
    *,
    labelled: bool,
    required: bool = True,
    splitting: bool = True,
) -> Record:
    """Check one record and say precisely what is wrong with it.

    Without ``required``, a record without the field of labels is unlabelled. Without ``splitting``,
    only lists are read of labels that are one text.
    """
    labels = _find(values, fields.labels) if labelled else None
    if labels is _MISSING and not required:
        labels = None
    own = None if fields.id is None else _find(values, fields.id)
    return Record(
        None if own is _MISSING else _judge_id(own, fields),
        "" if fields.text is None else _judge_text(_find(values, fields.text), values, fields),
        _judge_labels(labels, values, fields, splitting),
    )


def _find(values: Mapping[str, Any], path: str) -> Any:
    if path in values:
        return values[path]
    found: Any = values
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return _MISSING
        found = found[name]
    return found


def _judge_text(value: Any, values: Mapping[str, Any], fields: Fields) -> str:
    if isinstance(value, str):
        return value
    remedy = "name the field of the text with --text FIELD"
    if value is _MISSING:
        raise FaultError(f"field {fields.text!r} is missing{_instead(values)}", remedy)
    raise FaultError(f"field {fields.text!r} holds {_kind(value)}, not text", remedy)


def read_cell(text: str, fields: Fields, *, splitting: bool) -> LabelValue | str:
    """Read labels written as one text."""
    try:
        return fields.split(text) if splitting else fields.listed(text)
    except LabelError as error:
        raise _no_labels(error, fields) from None


def check_labels(labels: LabelValue, fields: Fields) -> None:
    """Refuse blank labels, and a label that is both true and false."""
    try:
        if isinstance(labels, dict):
            normal_states(labels)
        else:
            for name in labels or ():
                check_name(name)
    except LabelError as error:
        raise _no_labels(error, fields) from None


def _no_labels(error: LabelError, fields: Fields) -> FaultError:
    problem = str(error).removesuffix(" instead.").rstrip(".")
    return FaultError(f"field {fields.labels!r}: {problem}")


def _judge_labels(
    value: Any, values: Mapping[str, Any], fields: Fields, splitting: bool
) -> LabelValue | str:
    if value is None:
        return None
    if isinstance(value, str):
        return read_cell(value, fields, splitting=splitting)
    where = f"field {fields.labels!r}"
    if value is _MISSING:
        raise FaultError(
            f"{where} is missing{_instead(values)}",
            "name the field of the labels with --labels FIELD, write null for unlabelled",
        )
    if not isinstance(value, list | dict):
        raise FaultError(
            f"{where} holds {_kind(value)}, not labels",
            "give a list of text, an object label → true or false, null for unlabelled, or one "
            "text with --label-separator; --labels FIELD names another field",
        )
    for label in value:
        if not isinstance(label, str) or not label:
            got = "empty text" if label == "" else _kind(label)
            raise FaultError(f"{where} holds {got} where a label belongs")
    if isinstance(value, dict):
        for label, state in value.items():
            if not isinstance(state, bool):
                raise FaultError(
                    f"label {label!r} of {where} is {_kind(state)}, not true or false",
                    "leave labels that are not known out of the object",
                )
    check_labels(value, fields)
    return value


def _judge_id(value: Any, fields: Fields) -> Id | None:
    if value is None or (isinstance(value, int | str) and not isinstance(value, bool)):
        return value
    raise FaultError(
        f"field {fields.id!r} holds {_kind(value)}; an id is text or an integer",
        "name the field of the id with --id FIELD",
    )


def _kind(value: Any) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")


def _instead(values: Mapping[str, Any]) -> str:
    return f" (there is {listing(values)})" if values else " (the record is empty)"


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
