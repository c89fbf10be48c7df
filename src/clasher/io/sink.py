"""Predictions and other findings as JSON lines, to a file or to standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from clasher.io.linefile import Closing, LineFile, failure
from clasher.io.records import Id
from clasher.labels import LabelSets

STANDARD_OUTPUT: Final = "-"
DECIMALS: Final = 6

_encoder = msgspec.json.Encoder()


class Prediction(msgspec.Struct, omit_defaults=True, gc=False):
    """One line of output."""

    id: Id
    labels: list[str]
    probabilities: dict[str, float] | msgspec.UnsetType = msgspec.UNSET


class LineWriter(Closing):
    """Writes JSON lines batch by batch, each flushed as it is written.

    Parameters
    ----------
    path
        A file, which is replaced, or ``-`` for standard output, which is left open.

    Notes
    -----
    A reader that goes away (``clasher predict … | head``) raises ``BrokenPipeError``: what to do
    about it is the caller's business. Any other failure to write is a ``StreamError``.

    Examples
    --------
    >>> with LineWriter("-") as writer:
    ...     writer.write_lines([{"id": 1, "cluster": 7}])
    {"id":1,"cluster":7}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        self._file = None if name == STANDARD_OUTPUT else LineFile(name, "wb", name)

    def write_lines(self, values: Sequence[Any]) -> None:
        """Write a line for each value."""
        self._write(_encoder.encode_lines(values))

    def close(self) -> None:
        """Close the file; standard output stays open."""
        if self._file is not None:
            self._file.close()

    def _write(self, lines: bytes) -> None:
        if self._file is None:
            print_lines(lines)
        else:
            self._file.write(lines)


class PredictionWriter(LineWriter):
    """Writes the predictions of a model.

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
        self._write(encode_predictions(ids, labels, probabilities, names))


def encode_predictions(
    ids: Sequence[Id],
    labels: LabelSets,
    probabilities: npt.NDArray[np.floating[Any]] | None = None,
    names: Sequence[str] = (),
) -> bytes:
    r"""JSON lines of id, labels in the order of their texts, and probabilities to six decimals.

    >>> encode_predictions([1], LabelSets.of([["oil"]]), np.array([[0.25]]), ["oil"])
    b'{"id":1,"labels":["oil"],"probabilities":{"oil":0.25}}\n'
    """
    lists = sorted_lists(labels)
    if probabilities is None:
        lines = [Prediction(own, found) for own, found in zip(ids, lists, strict=True)]
    else:
        # As float64: a rounded float32 would be written with all the digits of its expansion.
        rows = np.round(np.asarray(probabilities, np.float64), DECIMALS).tolist()
        lines = [
            Prediction(own, found, dict(zip(names, row, strict=True)))
            for own, found, row in zip(ids, lists, rows, strict=True)
        ]
    return _encoder.encode_lines(lines)


def sorted_lists(sets: LabelSets) -> list[list[str]]:
    """The positive labels of each document, sorted by text.

    >>> sorted_lists(LabelSets.of([["oil", "gold"], None]))
    [['gold', 'oil'], []]
    """
    documents = sets.documents[sets.yes]
    used, label = np.unique(sets.ids[sets.yes], return_inverse=True)
    texts = [sets.names[number] for number in used]
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.argsort(np.array(order, np.int64))[label]
    flat = [texts[order[i]] for i in rank[np.lexsort((rank, documents))].tolist()]
    ends = np.searchsorted(documents, np.arange(len(sets) + 1)).tolist()
    return [flat[start:end] for start, end in pairwise(ends)]


def print_lines(lines: bytes) -> None:
    """Write to standard output, and flush it."""
    try:
        if hasattr(sys.stdout, "buffer"):
            sys.stdout.buffer.write(lines)
        else:  # a notebook or a test has put a stream of text in its place
            sys.stdout.write(lines.decode())
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise failure("standard output", error) from error
