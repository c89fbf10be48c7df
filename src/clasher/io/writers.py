"""Output of JSON lines, such as predictions, and the policy for bad records with dead letters."""

import contextlib
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt

from clasher.errors import RecordError, SettingError, StreamError
from clasher.io.records import Id
from clasher.labels import LabelSets


class Closing:
    """Closes itself at the end of a ``with`` block."""

    def close(self) -> None:
        """Close files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


STANDARD_OUTPUT: Final = "-"

_encoder = msgspec.json.Encoder()


class LineWriter(Closing):
    """Writes JSON lines, flushed with each batch.

    A reader that goes away (``clasher predict … | head``) raises ``BrokenPipeError``, any other
    failure a ``StreamError``.

    Parameters
    ----------
    path
        A file, which is replaced, or ``-`` for standard output, which stays open.
    name
        The name of the file in errors.
    append
        Add to the file instead of replacing it.

    Examples
    --------
    >>> with LineWriter("-") as writer:
    ...     writer.write_lines([{"id": 1, "cluster": 7}])
    {"id":1,"cluster":7}
    """

    def __init__(
        self, path: str | os.PathLike[str], name: str | None = None, *, append: bool = False
    ) -> None:
        file = os.fspath(path)
        self._name = name or file
        self._file = None
        if file != STANDARD_OUTPUT:
            with failing(self._name):
                self._file = open(file, "ab" if append else "wb")  # noqa: SIM115

    def write_lines(self, values: Sequence[Any]) -> None:
        """Write a line for each value."""
        self.write_bytes(_encoder.encode_lines(values))

    def write_bytes(self, lines: bytes) -> None:
        """Write encoded lines."""
        if self._file is None:
            print_lines(lines)
            return
        with failing(self._name):
            try:
                self._file.write(lines)
                self._file.flush()
            except OSError:
                # Closing tries to write the rest once more, and fails again.
                with contextlib.suppress(OSError):
                    self._file.close()
                raise

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._file is not None:
            self._file.close()


def print_lines(lines: bytes) -> None:
    """Write to standard output, and flush it."""
    with failing("standard output"):
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(lines)
        else:  # a notebook or a test replaced it by a stream of text
            sys.stdout.write(lines.decode())
        sys.stdout.flush()


def failure(what: str, error: OSError) -> StreamError:
    """Return the error for a file that cannot be written."""
    return StreamError(f"{what} cannot be written: {error.strerror or error}")


@contextlib.contextmanager
def failing(what: str) -> Iterator[None]:
    """Turn errors of writing into a ``StreamError``, except for a reader that goes away."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise failure(what, error) from error


class Prediction(msgspec.Struct, omit_defaults=True, gc=False):
    """A line of output."""

    id: Id
    labels: list[str]
    probabilities: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


class PredictionWriter(LineWriter):
    """Writes the predictions of a model: ids, sorted labels, probabilities with six decimals.

    Examples
    --------
    >>> with PredictionWriter("-") as writer:
    ...     writer.write([1, "b"], LabelSets.of([{"oil", "energy"}, set()]))
    {"id":1,"labels":["energy","oil"]}
    {"id":"b","labels":[]}
    """

    def write(
        self,
        ids: Sequence[Id],
        labels: LabelSets,
        probabilities: npt.NDArray[np.floating[Any]] | None = None,
        names: Sequence[str] = (),
    ) -> None:
        """Write the predictions of one batch; ``probabilities`` is documents × ``names``."""
        lists = sorted_lists(labels)
        scores: list[Any] = [msgspec.UNSET] * len(lists)
        if probabilities is not None:
            # As float64: a rounded float32 would be written with all the digits of its expansion.
            rows = np.round(np.asarray(probabilities, np.float64), 6).tolist()
            scores = [dict(zip(names, row, strict=True)) for row in rows]
        self.write_lines([Prediction(*line) for line in zip(ids, lists, scores, strict=True)])


def sorted_lists(sets: LabelSets) -> list[list[str]]:
    """Return the positive labels of each document, sorted."""
    documents = sets.documents[sets.yes]
    used, label = np.unique(sets.ids[sets.yes], return_inverse=True)
    texts = [sets.names[number] for number in used]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.argsort(np.array(order, np.int64))[label]
    flat = [texts[order[i]] for i in rank[np.lexsort((rank, documents))].tolist()]
    ends = np.searchsorted(documents, np.arange(len(sets) + 1)).tolist()
    return [flat[start:end] for start, end in pairwise(ends)]


_SKIPPING = re.compile(r",? or skip (bad records|it) with --on-error skip$")

SHORTER: Final = (1000, 200, 20)  # characters left of a name or an error where a letter is cut


class BadRecords(Closing):
    r"""The policy for bad records, and the count of those skipped.

    Parameters
    ----------
    policy
        ``"stop"`` raises ``RecordError`` for the first bad record; ``"skip"`` counts it and goes
        on; a path (``pathlib.Path``, so that a misspelt policy is not taken for a file) also
        appends it to that dead-letter file.

    Attributes
    ----------
    skipped, first
        The number of records skipped so far, and the error of the first of them.

    Notes
    -----
    A dead letter is a JSON line ``{"source", "record", "error", "raw"}``, flushed at once:
    the file, the line or row, what is wrong, and the record. In ``raw``, bytes that are not UTF-8
    are written as ``\xff``, a record longer than the limit is cut, and a row of a table is a JSON
    object. ``clasher run`` cuts a letter that is too large for its sink: see ``letter``.

    Examples
    --------
    >>> with BadRecords("skip") as bad:
    ...     bad.handle(RecordError("news.jsonl", 3, "broken JSON", "fix it"))
    >>> bad.skipped
    1
    """

    def __init__(self, policy: Literal["stop", "skip"] | os.PathLike[str] = "stop") -> None:
        if policy not in ("stop", "skip") and not isinstance(policy, os.PathLike):
            known = "'stop', 'skip' or a pathlib.Path of a dead-letter file"
            raise SettingError(
                f"the policy for bad records must be {known}. Got {policy!r} instead."
            )
        self.policy, self.skipped = policy, 0
        self.first: RecordError | None = None
        # Opened at once, so that a file that cannot be written fails before the stream is read.
        self._letters: LineWriter | None = None
        if isinstance(policy, os.PathLike):
            name = f"the dead-letter file {os.fspath(policy)}"
            self._letters = LineWriter(os.path.abspath(policy), name, append=True)

    def handle(self, error: RecordError) -> None:
        """Raise ``error``, or count it and write a dead letter."""
        if self.policy == "stop":
            raise error
        remedy = _SKIPPING.sub("", error.remedy)  # it is done already
        if remedy != error.remedy:
            error = RecordError(error.source, error.position, error.problem, remedy, error.raw)
        self.first = self.first or error
        self.skipped += 1
        if self._letters is not None:
            problem = f"{error.problem}; {error.remedy}"
            found = letter(error.source, error.position, problem, error.raw)
            self._letters.write_bytes(found + b"\n")

    def close(self) -> None:
        """Close the dead-letter file."""
        if self._letters is not None:
            self._letters.close()


def letter(
    source: str, record: str | int, error: str, raw: bytes | None, most: int | None = None
) -> bytes:
    """Encode a dead letter; one of more than ``most`` bytes is cut and gets a digest."""
    # The name of a file need not be Unicode text.
    source = source.encode("utf-8", "backslashreplace").decode()
    content = None if raw is None else raw.decode("utf-8", "backslashreplace")
    fields: dict[str, Any] = {"source": source, "record": record, "error": error, "raw": content}
    whole = _encoder.encode(fields)
    if most is None or len(whole) <= most:
        return whole
    if raw is not None:
        fields |= {"raw": "", "raw_bytes": len(raw), "raw_sha256": sha256(raw).hexdigest()}
    for longest in SHORTER:
        for name in ("source", "record", "error"):
            value = fields[name]
            if isinstance(value, str) and len(value) > max(longest, 64):
                fields[name] = f"{value[:longest]}…"
        if len(_encoder.encode(fields)) <= most:
            break

    def cut(size: int) -> bytes:
        return _encoder.encode(fields | {"raw": content and content[:size]})

    sizes = range(1, min(len(content or ""), most) + 1)
    return cut(bisect_right(sizes, most, key=lambda size: len(cut(size))))
