"""The exceptions that clasher raises on purpose.

    ClasherError
     ├── SettingError (ValueError)        a parameter is unknown or has a bad value
     ├── TextError (TypeError)            a document is not text
     ├── LabelError (ValueError)          labels have a bad form
     │    ├── LabelCapacityError          the stream has more labels than ``max_labels``
     │    ├── UnknownLabelError (KeyError)  a vocabulary does not have the label
     │    └── TermError                   a term of a vocabulary is bad
     ├── NotLearntError (LookupError)     the model does not have the document to change
     ├── StreamError                      a stream cannot be opened, or is empty
     │    ├── RecordError (ValueError)    one record is bad: where, which field, what to do
     │    ├── UnreachableError            a server does not answer now, but may later
     │    ├── CommitRefusedError          another consumer owns the documents learnt here
     │    └── MissingDatasetError         a corpus is missing, or a part of it
     ├── ModelFileError                   a file is not an intact model
     ├── ServiceError                     a service cannot do what it was asked for
     │    ├── BusyError                   too much is waiting; try again later
     │    ├── StoppedError                the service is closed, or its disk has failed
     │    ├── UnknownDocumentError (LookupError)  no document has this id
     │    ├── ConflictError               another answer was given in the meantime
     │    ├── RefusedError (ValueError)   a change does not fit the current labels
     │    └── FolderError                 a data folder is in use, or not valid
     └── MissingExtraError (ImportError)  an optional library is missing or too old

Each message says what is wrong, where, and what to do about it.
"""

import difflib
import math
from collections.abc import Iterable
from typing import Self


class ClasherError(Exception):
    """The base of all exceptions of clasher."""


class SettingError(ClasherError, ValueError):
    """A parameter is unknown or has a bad value."""

    @classmethod
    def of(cls, parameter: str, must_be: str, got: object, owner: str = "Clasher") -> Self:
        """Build the sentence used for every parameter."""
        who = f"The {parameter!r} parameter of {owner}"
        return cls(f"{who} must be {must_be}. Got {got!r} instead.")


class TextError(ClasherError, TypeError):
    """A document is not text, or not features where the model learns from features."""


class LabelError(ClasherError, ValueError):
    """Labels have a bad form."""


class LabelCapacityError(LabelError):
    """The stream has more labels than ``max_labels``."""


class UnknownLabelError(LabelError, KeyError):
    """A vocabulary does not have the label; the message suggests the nearest one."""

    __str__ = Exception.__str__  # a KeyError would show its message in quotes


class TermError(LabelError):
    """A term of a vocabulary is bad.

    Attributes
    ----------
    problem : str
        What is wrong.
    remedy : str
        What to do.
    number : int | None
        The place of the term in a list, counted from 1.

    >>> print(TermError("the name is empty", "write one", 3))
    term 3: the name is empty; write one
    """

    def __init__(self, problem: str, remedy: str, number: int | None = None) -> None:
        where = "" if number is None else f"term {number}: "
        super().__init__(f"{where}{problem}; {remedy}")
        self.problem, self.remedy, self.number = problem, remedy, number


class NotLearntError(ClasherError, LookupError):
    """The model does not have the document that is to be unlearnt or labelled."""


class StreamError(ClasherError):
    """A stream cannot be opened, has an unknown format, or has no record."""


class RecordError(StreamError, ValueError):
    """One record of a stream is bad.

    Attributes
    ----------
    source : str
        The file, or ``-`` for standard input.
    position : int
        The line or row, counted from 1.
    problem : str
        What is wrong.
    remedy : str
        What to do.
    raw : bytes | None
        The record as it was read, if known.

    >>> print(RecordError("news.jsonl", 3, "field 'text' is missing", "name it with --text FIELD"))
    news.jsonl, record 3: field 'text' is missing; name it with --text FIELD
    """

    def __init__(
        self, source: str, position: int, problem: str, remedy: str, raw: bytes | None = None
    ) -> None:
        super().__init__(f"{source}, record {position}: {problem}; {remedy}")
        self.source, self.position = source, position
        self.problem, self.remedy, self.raw = problem, remedy, raw


class UnreachableError(StreamError):
    """The server of a stream does not answer now, but may later."""


class CommitRefusedError(StreamError):
    """Another consumer owns the documents that were learnt here, and will learn them."""


class MissingDatasetError(StreamError):
    """A corpus, or a part of it, is missing; the message says where to get it."""


class ModelFileError(ClasherError):
    """A file is not an intact clasher model."""


class ServiceError(ClasherError):
    """A service cannot do what it was asked for."""


class BusyError(ServiceError):
    """Too much is waiting to be learnt; try again in ``retry_after`` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"too much is waiting to be learnt; try again in {retry_after:g} seconds")
        self.retry_after = retry_after


class StoppedError(ServiceError):
    """A service is closed, or its disk has failed."""


class UnknownDocumentError(ServiceError, LookupError):
    """No document has this id."""


class ConflictError(ServiceError):
    """Another answer was given in the meantime, or with the same key."""


class RefusedError(ServiceError, ValueError):
    """A change does not fit the current labels; nothing was changed."""


class FolderError(ServiceError):
    """A data folder is in use by another process, or is not valid."""


class MissingExtraError(ClasherError, ImportError):
    """An optional library is missing or too old."""

    @classmethod
    def of(cls, what: str, extra: str) -> Self:
        """Say what needs which extra."""
        return cls(f"{what} needs an optional library: pip install 'clasher[{extra}]'")

    @classmethod
    def too_old(cls, library: str, found: str, needed: str, extra: str) -> Self:
        """Say which version of a library is needed."""
        remedy = f"pip install --upgrade 'clasher[{extra}]'"
        return cls(f"{library} {found} is too old, {needed} is needed: {remedy}")


def nearest(name: str, known: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the known name that a misspelt one resembles most, for a hint."""
    return next(iter(difflib.get_close_matches(name, list(known), 1, similarity)), None)


def is_integer(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    """Tell whether a value is an integer within bounds; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value: object, least: float, most: float) -> bool:
    """Tell whether a value is a number within bounds; NaN, True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def require_positive(owner: str, parameter: str, value: object) -> None:
    """Refuse a parameter that is not a positive integer."""
    require(is_integer(value, 1), parameter, "a positive integer", value, owner)


def require(holds: bool, parameter: str, must_be: str, got: object, owner: str = "Clasher") -> None:
    """Refuse the value of a parameter unless a condition holds."""
    if not holds:
        raise SettingError.of(parameter, must_be, got, owner)
