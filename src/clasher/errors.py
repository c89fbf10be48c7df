"""Everything clasher raises on purpose.

    ClasherError
     ├── SettingError (ValueError)        a parameter out of range or unknown
     ├── TextError (TypeError)            something that is not text where text belongs
     ├── LabelError (ValueError)          labels of the wrong kind
     │    └── LabelCapacityError          more labels than ``max_labels``
     ├── NotLearntError (LookupError)     something to take back or to label that is not there
     ├── StreamError                      a stream that cannot be opened or is empty
     │    ├── RecordError (ValueError)    one bad record: where, which field, what to do
     │    ├── UnreachableError            a server that does not answer now, and may later
     │    ├── CommitRefusedError          what was learnt belongs to somebody else by now
     │    └── MissingDatasetError         a corpus that is not there, or not all of it
     ├── ModelFileError                   a file that is not an intact model
     ├── ServiceError                     what a service cannot do
     │    ├── BusyError                   not now: more is waiting than may wait
     │    ├── StoppedError                no more: it is closed, or its disk has failed
     │    ├── UnknownDocumentError (LookupError)  an id that no document is kept under
     │    ├── ConflictError               something else was said in the meantime
     │    ├── RefusedError (ValueError)   what was asked for does not fit the labels of now
     │    └── FolderError                 a data folder in use, or not what it should be
     └── MissingExtraError (ImportError)  an optional library that is missing or too old

Each message says what is wrong, where, and what to do about it.
"""

from __future__ import annotations

import math


class ClasherError(Exception):
    """The root of the tree: catch this to catch them all."""


class SettingError(ClasherError, ValueError):
    """A parameter is unknown or out of its range."""

    @classmethod
    def of(cls, parameter: str, wanted: str, got: object, owner: str = "Clasher") -> SettingError:
        """The one sentence used for every parameter.

        >>> print(SettingError.of("dimensions", "a positive integer", -1))
        The 'dimensions' parameter of Clasher must be a positive integer. Got -1 instead.
        """
        return cls(f"The {parameter!r} parameter of {owner} must be {wanted}. Got {got!r} instead.")


class TextError(ClasherError, TypeError):
    """Something that is not text stands where text belongs."""


class LabelError(ClasherError, ValueError):
    """Labels are given in a form that has no meaning."""


class LabelCapacityError(LabelError):
    """The stream has more labels than ``max_labels`` admits."""


class NotLearntError(ClasherError, LookupError):
    """A document that is to be taken back, or to get its labels, is not in the model."""


class StreamError(ClasherError):
    """A stream cannot be opened, has an unknown format, or holds no record."""


class RecordError(StreamError, ValueError):
    """One record of a stream is bad.

    Attributes
    ----------
    source : str
        The file the record stands in, ``-`` for standard input.
    position : int
        Its line, or its row in a table, counted from 1.
    problem : str
        What is wrong, in one sentence without the place.
    remedy : str
        What to do about it.
    raw : bytes | None
        The record as it was read, where it can be had.

    >>> print(RecordError("news.jsonl", 3, "field 'text' is missing", "name it with --text FIELD"))
    news.jsonl, record 3: field 'text' is missing; name it with --text FIELD
    """

    def __init__(
        self, source: str, position: int, problem: str, remedy: str, raw: bytes | None = None
    ) -> None:
        super().__init__(f"{source}, record {position}: {problem}; {remedy}")
        self.source = source
        self.position = position
        self.problem = problem
        self.remedy = remedy
        self.raw = raw


class UnreachableError(StreamError):
    """The other end of a stream does not answer now, and may later."""


class CommitRefusedError(StreamError):
    """Somebody else has got what was learnt here, and will learn it."""


class MissingDatasetError(StreamError):
    """A corpus is not where it was looked for, or not all of it: what to get, and from whom."""


class ModelFileError(ClasherError):
    """A file is not an intact clasher model."""


class ServiceError(ClasherError):
    """A service cannot do what it was asked for."""


class BusyError(ServiceError):
    """More is waiting than may wait; come again in ``retry_after`` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"too much is waiting to be learnt; try again in {retry_after:g} seconds")
        self.retry_after = retry_after


class StoppedError(ServiceError):
    """A service takes nothing more: it was closed, or its disk has failed."""


class UnknownDocumentError(ServiceError, LookupError):
    """No document is kept under this id."""


class ConflictError(ServiceError):
    """Something else was said in the meantime, or under the same key."""


class RefusedError(ServiceError, ValueError):
    """What was asked for does not fit the labels that there are now; nothing was changed."""


class FolderError(ServiceError):
    """A data folder is in use by another process, or is not what it should be."""


class MissingExtraError(ClasherError, ImportError):
    """An optional library is needed and not installed, or too old."""

    @classmethod
    def of(cls, what: str, extra: str) -> MissingExtraError:
        """Say what needs which extra.

        >>> print(MissingExtraError.of("Writing a report", "report"))
        Writing a report needs an optional library: pip install 'clasher[report]'
        """
        return cls(f"{what} needs an optional library: pip install 'clasher[{extra}]'")

    @classmethod
    def too_old(cls, library: str, found: str, wanted: str, extra: str) -> MissingExtraError:
        """Say which version of a library is needed.

        >>> print(MissingExtraError.too_old("River", "0.15.0", "0.22", "river"))
        River 0.15.0 is too old, 0.22 is needed: pip install --upgrade 'clasher[river]'
        """
        remedy = f"pip install --upgrade 'clasher[{extra}]'"
        return cls(f"{library} {found} is too old, {wanted} is needed: {remedy}")


def is_integer(value: object, least: float = -math.inf, most: float = math.inf) -> bool:
    """Tell whether a value is an integer within bounds; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def is_number(value: object, least: float, most: float) -> bool:
    """Tell whether a value is a number within bounds; NaN, True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def require_positive(owner: str, parameter: str, value: object) -> None:
    """Refuse a parameter that is not a positive integer."""
    if not is_integer(value, 1):
        raise SettingError.of(parameter, "a positive integer", value, owner)
