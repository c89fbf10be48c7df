"""``predict_sharded``: labels split over executors, every document put to all of them.

Shards of a model in a folder that all executors can read: one file each, and what they are.

The folder may be of any file system that Arrow knows (``s3://``, ``gs://``, ``hdfs://``), or a path
that is the same everywhere.

Tasks that put documents to shards, and make one answer of theirs: see ``clasher.runtime.shards``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import safetensors.numpy
from pyarrow import ArrowException, fs
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from safetensors import SafetensorError

from clasher.adapters.spark.batches import BUCKETS, COUNTS, as_lists, hashed_of
from clasher.adapters.spark.predict import Columns, column, in_pieces
from clasher.errors import ModelFileError, SettingError
from clasher.kernels.clash import VECTOR
from clasher.kernels.state import State
from clasher.labels import LabelSets
from clasher.learning import memory
from clasher.model import Clasher
from clasher.runtime import shards as core
from clasher.runtime.shards import Best, Labels, Passed, Shard, Values, split
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer
from clasher.text.hashing import Hashed, Hasher

FORMAT = 1
ABOUT = "shards.json"
BESIDE = ("shard_together", "shard_counts", "shard_gains")
"""What stands in a file beside the arrays of a state."""


@dataclass(frozen=True)
class Shards:
    """What a folder of shards holds.

    Parameters
    ----------
    folder
        Where it is.
    settings
        Those of the model, as plain values.
    labels
        All labels of the model.
    firsts
        The number of the first label of each shard.
    digests
        Of the files.
    tokenizer
        The function that cuts text, where the model has one.
    """

    folder: str
    settings: dict[str, Any]
    labels: list[str]
    firsts: list[int]
    digests: list[str]
    tokenizer: Tokenizer | None = None

    def __len__(self) -> int:
        return len(self.firsts)

    def model_settings(self) -> Settings:
        """The settings of the model."""
        return Settings.of(self.settings, self.tokenizer)

    def read(self, number: int) -> Shard:
        """One of the shards; checked before anything of it is used."""
        where = f"{self.folder}/{_name(number)}"
        content = _content(self.folder, _name(number))
        if _digest(content) != self.digests[number]:
            raise ModelFileError(
                f"{where}: is not the file that was written; write the shards anew"
            )
        stop = [*self.firsts, len(self.labels)][number + 1]
        arrays = safetensors.numpy.load(content)
        return _shard(self, number, stop - self.firsts[number], arrays, where)


def write_shards(model: Clasher, folder: str | os.PathLike[str], shards: int) -> Shards:
    """Split a model by its labels into a folder.

    >>> import tempfile
    >>> model = Clasher(1024)
    >>> model.learn_many(["wheat", "gold", "oil"] * 5, [{"grain"}, {"metal"}, {"energy"}] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(write_shards(model, folder, 2)), read_shards(folder).firsts
    (2, [0, 1])
    """
    system, place = _place(os.fspath(folder))
    system.create_dir(place, recursive=True)
    firsts, digests = [], []
    for number, shard in enumerate(split(model, shards)):
        beside = (shard.together, shard.counts, shard.gains)
        arrays: dict[str, Any] = shard.state._asdict() | dict(zip(BESIDE, beside, strict=True))
        filled = {name: array for name, array in arrays.items() if array.size}
        content = safetensors.numpy.save(filled)
        _write(system, f"{place}/{_name(number)}", content)
        firsts.append(shard.first)
        digests.append(_digest(content))
    settings, labels = model.settings.to_dict(), model.labels
    about = {
        "format": FORMAT, "settings": settings, "labels": labels, "firsts": firsts,
        "digests": digests,
    }  # fmt: skip
    _write(system, f"{place}/{ABOUT}", msgspec.json.encode(about))  # last: now it counts
    tokenizer = model.settings.analyzer.tokenizer
    return Shards(os.fspath(folder), settings, labels, firsts, digests, tokenizer)


def read_shards(folder: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Shards:
    """What ``write_shards`` wrote into a folder."""
    name = os.fspath(folder)
    try:
        about = msgspec.json.decode(_content(name, ABOUT))
        if about.pop("format") != FORMAT:
            raise ModelFileError(f"{name}: its shards have another format; write them anew")
        return Shards(name, **about, tokenizer=tokenizer)
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{name}/{ABOUT}: is not the index of shards: {error}") from error


def _shard(shards: Shards, number: int, labels: int, arrays: dict[str, Any], where: str) -> Shard:
    settings, total = shards.model_settings(), len(shards.labels)
    room = -(-labels // VECTOR) * VECTOR
    kinds = memory.shapes(settings, room)
    together = (total, labels) if settings.rule == "margin" else (labels, total)
    if settings.rule == "perceptron":
        together = (0, 0)
    for name in ("together", "classes", "blocks", "all_blocks"):
        kinds[name] = ((0,) * len(kinds[name][0]), kinds[name][1])
    kinds |= zip(BESIDE, ((together, np.float32), *[((total,), np.float64)] * 2), strict=True)
    for name, (shape, kind) in kinds.items():
        found = arrays.setdefault(name, np.zeros(shape, kind) if 0 in shape else None)
        if found is None or found.shape != shape or found.dtype != kind:
            raise ModelFileError(f"{where}: array {name!r} is not what the settings ask for")
    beside = [arrays.pop(name) for name in BESIDE]
    return Shard(settings, shards.firsts[number], labels, State(**arrays), *beside)


def _name(number: int) -> str:
    return f"shard-{number:05}.safetensors"


def _place(folder: str) -> tuple[fs.FileSystem, str]:
    if "://" in folder:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(folder)
        return found
    return fs.LocalFileSystem(), os.path.abspath(folder)


def _write(system: fs.FileSystem, path: str, content: bytes) -> None:
    with system.open_output_stream(path) as file:
        file.write(content)


def _content(folder: str, name: str) -> bytes:
    try:
        system, place = _place(folder)
        with system.open_input_stream(f"{place}/{name}") as file:
            content: bytes = file.read()
    except (OSError, ArrowException, SafetensorError) as error:
        raise ModelFileError(
            f"{folder}/{name}: cannot be read; the folder of the shards must be one that every "
            f"executor can read: {error}"
        ) from error
    return content


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()


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


HASHED = "_clasher_buckets array<int>, _clasher_counts array<float>"
ANSWERS = "shard int, labels array<int>, values array<double>, chosen array<int>"
COLUMN_TYPES = {
    "nearest": "near_labels array<int>, near_values array<double>, shard int",
    "scores": "two_labels array<int>, two_values array<double>, shard int",
}
SETS = "predicted array<string>"


def predict_sharded(
    df: DataFrame,
    shards: Shards,
    *,
    id: str,  # noqa: A002
    text: str = "text",
    output: str = "predicted",
) -> DataFrame:
    """Predict with a model that no executor holds as a whole: exactly what it would predict.

    Documents are hashed once and sent to a task per shard, in as many rounds as the rule asks for
    (see ``clasher.runtime.shards``). It pays where a model does not fit beside each core of an
    executor; a model that does is better sent to all of them: ``predict``.

    Parameters
    ----------
    df
        The documents; read once per round, so ``persist`` it where that is dear.
    shards
        What ``write_shards`` wrote, or ``read_shards`` found, in a folder that all executors read.
    id
        A column that tells the rows apart.
    text
        The column of the text; rows without text are left out.
    output
        What to call the column of the labels.

    Returns
    -------
    DataFrame
        The columns ``id`` and ``output``.

    Examples
    --------
    >>> import tempfile
    >>> from clasher import Clasher
    >>> from clasher.adapters.spark import predict_sharded, session, write_shards
    >>> model = Clasher(dimensions=1024)
    >>> model.learn_many(["wheat", "gold", "oil"] * 5, [{"grain"}, {"metal"}, {"energy"}] * 5)
    >>> df = session("local[2]").createDataFrame([(1, "gold"), (2, "oil")], "id int, text string")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = write_shards(model, folder, 2)
    ...     [tuple(row) for row in predict_sharded(df, shards, id="id").orderBy("id").collect()]
    [(1, ['metal']), (2, ['energy'])]
    """
    Columns(text, None, id).select(df)
    kind = df.schema[id].dataType.simpleString()
    rows = df.select(column(id).alias(KEY), column(text).alias("text"))
    settings = shards.model_settings()
    hashed = HASHED if settings.depth == 1 else "text string"
    documents = rows.mapInArrow(Hash(shards, "text"), f"{KEY} {kind}, {hashed}")
    asked = _Rounds(shards, kind)
    if settings.rule == "perceptron":
        found = asked.all("linear", documents)
    elif settings.rule == "margin":
        near = documents.join(asked.all("nearest", documents).drop(SHARD), KEY)
        two = near.join(asked.all("scores", near).drop(SHARD), KEY)
        found = asked.all("look", two)
    else:
        near = asked.all("nearest", documents)
        regions = near.repartitionById(len(shards), sf.col(SHARD))
        found = regions.mapInArrow(Regions(shards), f"{KEY} {kind}, {SETS}")
    return found.select(sf.col(KEY).alias(id), sf.array_sort(sf.col("predicted")).alias(output))


class _Rounds:
    """Puts documents to all shards, and combines what they answer."""

    def __init__(self, shards: Shards, kind: str) -> None:
        self.shards = shards
        self.kind = kind

    def all(self, what: str, documents: DataFrame) -> DataFrame:
        """One round."""
        count = len(self.shards)
        every = sf.explode(sf.sequence(sf.lit(0), sf.lit(count - 1)))
        sent = documents.select("*", every.alias(SHARD)).repartitionById(count, sf.col(SHARD))
        answers = sent.mapInArrow(Ask(self.shards, "text", what), f"{KEY} {self.kind}, {ANSWERS}")
        each = sf.struct(SHARD, "labels", "values", "chosen")
        gathered = answers.groupBy(KEY).agg(sf.sort_array(sf.collect_list(each)).alias("answers"))
        out = f"{KEY} {self.kind}, {COLUMN_TYPES.get(what, SETS)}"
        return gathered.mapInArrow(Combine(self.shards, what), out)
