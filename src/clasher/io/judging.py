"""What is wrong with a record, said precisely.

Readers take whole batches on a faster way, and come here for those in which a record fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from clasher.errors import LabelError, StreamError
from clasher.io.records import Fields, Id, LabelValue, Record
from clasher.label_names import check_name, normal_states

_PASS_OVER: Final = "mend it, or pass over bad records with --on-error skip"
_MISSING: Final = object()
_DELIMITER: Final = re.compile(r"[^\w. -]")


class FaultError(Exception):
    """What is wrong with a record, before its place in the stream is known."""

    def __init__(self, problem: str, remedy: str = _PASS_OVER, raw: bytes | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.raw = raw


def invalid_utf8(raw: bytes) -> FaultError:
    r"""Say where a record stops being UTF-8.

    >>> print(invalid_utf8(b"na\xefve"))
    invalid UTF-8 at byte 3
    """
    place = ""
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        place = f" at byte {error.start + 1}"
    return FaultError(
        f"invalid UTF-8{place}",
        "name the encoding of the file, such as --encoding cp1252, or pass over bad records with "
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
    """Check one record value by value and say precisely what is wrong with it.

    Where the labels are not ``required``, a record without their field is unlabelled. Without
    ``splitting``, labels that are one text stay so unless they are a list.

    >>> judge({"text": "oil", "labels": 3}, Fields(), labelled=True)
    Traceback (most recent call last):
    clasher.io.judging.FaultError: field 'labels' holds a number, not labels
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
    """Read labels that are written as one text; a list may hold what is no label."""
    try:
        return fields.split(text) if splitting else fields.listed(text)
    except LabelError as error:
        raise _no_labels(error, fields) from None


def check_labels(labels: LabelValue, fields: Fields) -> None:
    """Refuse labels that are blank, and a yes and a no to one label."""
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
    """The kind of a value in the words of JSON, not of Python."""
    names = {bool: "true or false", int: "a number", float: "a number", str: "text"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")


def _instead(values: Mapping[str, Any]) -> str:
    return f" (there is {listing(values)})" if values else " (the record is empty)"


def listing(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Some names for a message, not too many.

    >>> listing(["title", "body"])
    "'title', 'body'"
    """
    shown = ", ".join(repr(name[:40]) for name, _ in zip(names, range(8), strict=False))
    return shown + (", …" if len(names) > 8 else "")


def missing_column(source: str, field: str, option: str, names: Sequence[str]) -> StreamError:
    """A table without a column that is needed: no record of it can be read."""
    found = f"its columns are {listing(names)}" if names else "it has no columns"
    remedy = f"name the right one with --{option} FIELD"
    if len(names) == 1 and _DELIMITER.search(names[0]):
        remedy += ", or what stands between columns with --delimiter"
    return StreamError(f"{source} has no column {field!r}, {found}; {remedy}")
