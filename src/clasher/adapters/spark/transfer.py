"""Models on their way between machines, in pieces of their files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from clasher.model import Clasher
from clasher.text.analyzer import Tokenizer

PIECE = 4 * 2**20
SCHEMA = "number bigint, place bigint, content binary"
"""Pieces of models: which model, where in its file, and what stands there."""

_ARROW = pa.schema([("number", pa.int64()), ("place", pa.int64()), ("content", pa.binary())])


def in_pieces(number: int, model: Clasher) -> Iterator[pa.RecordBatch]:
    """A model as rows of pieces; its number tells it from others."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        model.save(path, durable=False)
        with path.open("rb") as file:
            place = 0
            while content := file.read(PIECE):
                row: list[Any] = [[number], [place], [content]]
                yield pa.RecordBatch.from_arrays(
                    [pa.array(own, kind) for own, kind in zip(row, _ARROW.types, strict=True)],
                    schema=_ARROW,
                )
                place += len(content)


class Gathered:
    """Models whose pieces arrive in any order; on disk until they are asked for.

    Examples
    --------
    >>> model = Clasher(1024)
    >>> model.learn("wheat and corn", {"grain"})
    >>> with Gathered(in_pieces(7, model)) as gathered:
    ...     [(number, gathered.take(number).support) for number in gathered.numbers]
    [(7, {'grain': 1})]
    """

    def __init__(
        self, batches: Iterable[pa.RecordBatch], tokenizer: Tokenizer | None = None
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="clasher-")
        self._tokenizer = tokenizer
        self.numbers: list[int] = []
        """The models that have arrived, in order."""
        found: set[int] = set()
        for batch in batches:
            for row in batch.to_pylist():
                found.add(row["number"])
                self._write(row["number"], row["place"], row["content"])
        self.numbers = sorted(found)

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def take(self, number: int) -> Clasher:
        """A model, which is then no longer here."""
        path = self._path(number)
        model = Clasher.load(path, tokenizer=self._tokenizer)
        path.unlink()
        return model

    def _write(self, number: int, place: int, content: bytes) -> None:
        descriptor = os.open(self._path(number), os.O_WRONLY | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.seek(place)
            file.write(content)

    def _path(self, number: int) -> Path:
        return Path(self._folder.name, str(number))
