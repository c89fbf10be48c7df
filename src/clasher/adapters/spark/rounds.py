"""Tasks that put documents to shards, and make one answer of theirs: see ``clasher.shards``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clasher import shards as core
from clasher.adapters.spark.columns import in_pieces
from clasher.adapters.spark.shard_files import Shards
from clasher.adapters.spark.staging import BUCKETS, COUNTS, as_lists, hashed_of
from clasher.errors import SettingError
from clasher.hashing import Hashed, Hasher
from clasher.labels import LabelSets
from clasher.shards import Best, Labels, Passed, Shard, Values

KEY, SHARD = "key", "shard"
NEAR, TWO = ("near_labels", "near_values"), ("two_labels", "two_values")
ANSWER = ("labels", "values", "chosen")
Answer: TypeAlias = tuple[Labels, Values, pa.Array]
"""What one shard says of all documents."""

_latest: dict[str, Shard] = {}
"""The shard that this process has used last."""


def loaded(shards: Shards, number: int) -> Shard:
    """A shard, read once per process while it is asked for."""
    digest = shards.digests[number]
    if digest not in _latest:
        _latest.clear()
        _latest[digest] = shards.read(number)
    return _latest[digest]


def lists(values: Any, kind: pa.DataType) -> pa.ListArray:
    """Rows of a matrix as lists."""
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.reshape(-1), kind))


def matrix(column: pa.Array, width: int, kind: Any) -> Any:
    """The other way round."""
    return pc.list_flatten(column).to_numpy(zero_copy_only=False).astype(kind).reshape(-1, width)


@dataclass(frozen=True)
class Hash:
    """A task: hashes documents, so that shards need not; deeper sketches ask for their words."""

    shards: Shards
    text: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of a key and a text in; with a text, rows of a key and hashed lists out."""
        settings = self.shards.model_settings()
        hasher = Hasher(settings.dimensions, settings.seed, settings.analyzer)
        for rows in in_pieces(batches):
            rows = rows.filter(rows.column(self.text).is_valid())
            texts = rows.column(self.text)
            columns = [texts] if settings.depth > 1 else as_lists(hasher.hash_many(texts))
            names = [self.text] if settings.depth > 1 else [BUCKETS, COUNTS]
            yield pa.RecordBatch.from_arrays([rows.column(KEY), *columns], [KEY, *names])


@dataclass(frozen=True)
class Ask:
    """A task: has a shard answer; all rows of a partition are put to the same one."""

    shards: Shards
    text: str
    what: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of hashed documents and what was told of them in, rows of answers out."""
        for rows in in_pieces(batches):
            shard = loaded(self.shards, rows.column(SHARD)[0].as_py())
            answer = ASKED[self.what](shard, self._hashed(shard, rows), rows)
            if isinstance(answer, Best):
                columns = [*_best(answer), pa.nulls(len(rows), pa.list_(pa.int32()))]
            else:
                best = Best(answer.best[:, None], answer.value[:, None])
                columns = [*_best(best), _ragged(answer.indptr, answer.ids)]
            yield pa.RecordBatch.from_arrays(
                [rows.column(KEY), rows.column(SHARD), *columns], [KEY, SHARD, *ANSWER]
            )

    def _hashed(self, shard: Shard, rows: pa.RecordBatch) -> Hashed:
        if shard.settings.depth > 1:
            return shard.hash_many(rows.column(self.text))
        return hashed_of(rows, shard.hash_many([]).analysis)


def _best(found: Best) -> list[pa.Array]:
    return [lists(found.labels, pa.int32()), lists(found.values, pa.float64())]


def _ragged(indptr: Any, ids: Any) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), pa.array(ids, pa.int32()))


def _told(rows: pa.RecordBatch, names: tuple[str, str], width: int) -> Best:
    labels, values = (rows.column(name) for name in names)
    return Best(matrix(labels, width, np.int32), matrix(values, width, np.float64))


ASKED: dict[str, Callable[[Shard, Hashed, pa.RecordBatch], Best | Passed]] = {
    "nearest": lambda shard, hashed, rows: shard.nearest(hashed),
    "linear": lambda shard, hashed, rows: shard.linear(hashed),
    "scores": lambda shard, hashed, rows: shard.scores(hashed, _told(rows, NEAR, 4)),
    "look": lambda shard, hashed, rows: shard.look(
        hashed, _told(rows, NEAR, 4), _told(rows, TWO, 2)
    ),
}
WIDTHS = {"nearest": (4, 5), "scores": (2, 2), "linear": (1, 1), "look": (1, 1)}
"""How many labels and values each answer has."""
TOLD: dict[str, tuple[tuple[str, str], Callable[[list[Best]], Best]]] = {
    "nearest": (NEAR, core.nearest_of),
    "scores": (TWO, core.best_of),
}
"""What answers become before the next round, and under which names."""


@dataclass(frozen=True)
class Combine:
    """A task: makes one answer of those of all shards, to be told to all or to be the last."""

    shards: Shards
    what: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of a key and a list of answers in; what is told, or label sets, out."""
        for rows in batches:
            answers = self._answers(rows)
            found = self._told(answers) if self.what in TOLD else self._sets(answers)
            columns = [rows.column(KEY), *found.values()]
            yield pa.RecordBatch.from_arrays(columns, [KEY, *found])

    def _told(self, answers: list[Answer]) -> dict[str, pa.Array]:
        """What all shards are told, and which has the first of the labels."""
        names, merge = TOLD[self.what]
        found = merge([Best(*answer[:2]) for answer in answers])
        owner = core.owner_of(self.shards.firsts, found.labels[:, 0])
        return dict(zip(names, _best(found), strict=True)) | {SHARD: pa.array(owner)}

    def _sets(self, answers: list[Answer]) -> dict[str, pa.Array]:
        """The labels that pass."""
        passed = [
            Passed(_ends(chosen), _values(chosen), labels[:, 0], values[:, 0])
            for labels, values, chosen in answers
        ]
        return {"predicted": _named(self.shards, *core.passed_of(passed))}

    def _answers(self, rows: pa.RecordBatch) -> list[Answer]:
        """The answers of each shard to all documents."""
        count, entries = len(self.shards), rows.column("answers")
        lengths = pc.list_value_length(entries).to_numpy(zero_copy_only=False)
        if (lengths != count).any():
            own = rows.column(KEY)[int(np.argmax(lengths != count))].as_py()
            raise SettingError(f"ids must tell rows apart, and {own!r} comes more than once")
        flat = pc.list_flatten(entries)
        labels, values, chosen = (flat.field(name) for name in ANSWER)
        wide, deep = WIDTHS[self.what]
        found = []
        for number in range(count):
            own = pa.array(np.arange(number, len(flat), count))
            found.append(
                (
                    matrix(labels.take(own), wide, np.int32),
                    matrix(values.take(own), deep, np.float64),
                    chosen.take(own),
                )
            )
        return found


def _ends(column: pa.Array) -> Any:
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _values(column: pa.Array) -> Any:
    return pc.list_flatten(column).to_numpy(zero_copy_only=False).astype(np.int32)


@dataclass(frozen=True)
class Regions:
    """A task: has the shard of each document's nearest region tell its label set."""

    shards: Shards

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of what was told of the nearest region in, label sets out."""
        for rows in in_pieces(batches):
            shard = loaded(self.shards, rows.column(SHARD)[0].as_py())
            indptr, ids = shard.regions(_told(rows, NEAR, 4).labels[:, 0])
            columns = [rows.column(KEY), _named(self.shards, indptr, ids)]
            yield pa.RecordBatch.from_arrays(columns, [KEY, "predicted"])


def _named(shards: Shards, indptr: Any, ids: Any) -> pa.ListArray:
    return LabelSets(shards.labels, ids, indptr).to_arrow()
