"""``predict_sharded``: a model split by its labels over executors (see ``clasher.runtime.shards``).

``write_shards`` writes a file per shard, and an index, to a folder that all executors can read: a
path that is the same everywhere, or an address that Arrow knows (``s3://``, ``gs://``,
``hdfs://``). Each document goes to all shards, in as many rounds as the rule needs: in each one,
``Ask`` has every shard answer, and ``Combine`` makes one answer of theirs, for the next round or
as the result.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import safetensors.numpy
from pyarrow import ArrowException, fs
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from safetensors import SafetensorError

from clasher.adapters.spark.columns import (
    HASHED,
    Columns,
    column,
    from_lists,
    hashed_columns,
    hashed_rows,
    in_pieces,
)
from clasher.errors import ModelFileError, SettingError
from clasher.kernels.state import State
from clasher.labels import LabelSets
from clasher.learning import memory
from clasher.model import Clasher
from clasher.runtime import shards as core
from clasher.runtime.shards import Best, Passed, Shard, split
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer
from clasher.text.hashing import Hashed, Hasher

FORMAT = 1
INDEX = "shards.json"
EXTRA = ("shard_together", "shard_counts", "shard_gains")
"""The arrays in the file of a shard that are not of its state."""


@dataclass(frozen=True)
class Shards:
    """The index of a folder of shards.

    Parameters
    ----------
    folder
        The folder.
    settings
        Those of the model, as plain values.
    labels
        All labels of the model.
    firsts
        The number of the first label of each shard.
    digests
        The digests of the files.
    tokenizer
        The function that splits text, if the model has one.
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
        """Return the settings of the model."""
        return Settings.of(self.settings, self.tokenizer)

    def read(self, number: int) -> Shard:
        """Read one of the shards, and check its digest and its arrays."""
        name = _file_name(number)
        content = _read(self.folder, name)
        if _digest(content) != self.digests[number]:
            raise ModelFileError(
                f"{self.folder}/{name}: is not the file that was written; write the shards again"
            )
        arrays: dict[str, Any] = safetensors.numpy.load(content)
        first, stop = [*self.firsts, len(self.labels)][number : number + 2]
        settings, labels = self.model_settings(), stop - first
        for array, (shape, kind) in _shapes(settings, labels, len(self.labels)).items():
            found = arrays.setdefault(array, np.zeros(shape, kind) if 0 in shape else None)
            if found is None or found.shape != shape or found.dtype != kind:
                raise ModelFileError(
                    f"{self.folder}/{name}: array {array!r} does not match the settings"
                )
        extra = [arrays.pop(array) for array in EXTRA]
        return Shard(settings, first, labels, State(**arrays), *extra)


def write_shards(model: Clasher, folder: str | os.PathLike[str], shards: int) -> Shards:
    """Split a model by its labels into the files of a folder.

    >>> import tempfile
    >>> model = Clasher(1024)
    >>> model.learn_many(["wheat", "gold", "oil"] * 5, [{"grain"}, {"metal"}, {"energy"}] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(write_shards(model, folder, 2)), read_shards(folder).firsts
    (2, [0, 1])
    """
    system, place = _file_system(os.fspath(folder))
    system.create_dir(place, recursive=True)
    firsts, digests = [], []
    for number, shard in enumerate(split(model, shards)):
        extra = (shard.together, shard.counts, shard.gains)
        arrays: dict[str, Any] = shard.state._asdict() | dict(zip(EXTRA, extra, strict=True))
        content = safetensors.numpy.save({name: own for name, own in arrays.items() if own.size})
        _write(system, f"{place}/{_file_name(number)}", content)
        firsts.append(shard.first)
        digests.append(_digest(content))
    index: dict[str, Any] = {
        "settings": model.settings.to_dict(), "labels": model.labels, "firsts": firsts,
        "digests": digests,
    }  # fmt: skip
    content = msgspec.json.encode({"format": FORMAT} | index)
    _write(system, f"{place}/{INDEX}", content)  # last: it makes the shards valid
    return Shards(os.fspath(folder), **index, tokenizer=model.settings.analyzer.tokenizer)


def read_shards(folder: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Shards:
    """Read the index that ``write_shards`` wrote to a folder."""
    name = os.fspath(folder)
    try:
        index = msgspec.json.decode(_read(name, INDEX))
        if index.pop("format") != FORMAT:
            raise ModelFileError(f"{name}: its shards have another format; write them again")
        return Shards(name, **index, tokenizer=tokenizer)
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{name}/{INDEX}: is not an index of shards: {error}") from error


def _shapes(settings: Settings, labels: int, total: int) -> dict[str, tuple[Any, Any]]:
    """Return the shapes and types of a shard's arrays, with ``labels`` of ``total`` labels."""
    shapes = memory.cut_shapes(settings, labels)
    together = {"margin": (total, labels), "perceptron": (0, 0)}.get(settings.rule, (labels, total))
    extra = ((together, np.float32), ((total,), np.float64), ((total,), np.float64))
    return shapes | dict(zip(EXTRA, extra, strict=True))


def _file_name(number: int) -> str:
    return f"shard-{number:05}.safetensors"


def _file_system(folder: str) -> tuple[fs.FileSystem, str]:
    if "://" in folder:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(folder)
        return found
    return fs.LocalFileSystem(), os.path.abspath(folder)


def _write(system: fs.FileSystem, path: str, content: bytes) -> None:
    with system.open_output_stream(path) as file:
        file.write(content)


def _read(folder: str, name: str) -> bytes:
    try:
        system, place = _file_system(folder)
        with system.open_input_stream(f"{place}/{name}") as file:
            content: bytes = file.read()
    except (OSError, ArrowException, SafetensorError) as error:
        raise ModelFileError(
            f"{folder}/{name}: cannot be read; every executor must be able to read the folder of "
            f"the shards: {error}"
        ) from error
    return content


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()


# ── rounds ───────────────────────────────────────────────────────────────────────────────────────

KEY, SHARD, PREDICTED = "key", "shard", "predicted"
ANSWERS = f"{SHARD} int, labels array<int>, values array<double>, chosen array<int>"
SETS = f"{PREDICTED} array<string>"


class Round(NamedTuple):
    """A question to all shards."""

    ask: Callable[[Shard, Hashed, pa.RecordBatch], Best | Passed]
    combine: Callable[[list[Best]], Best] | None = None
    """Makes one answer of those of all shards, for the next round; None: the last round."""


ROUNDS = {
    "nearest": Round(lambda shard, hashed, rows: shard.nearest(hashed), core.nearest_of),
    "scores": Round(
        lambda shard, hashed, rows: shard.scores(hashed, _earlier(rows, "nearest")), core.best_of
    ),
    "linear": Round(lambda shard, hashed, rows: shard.linear(hashed)),
    "look": Round(
        lambda shard, hashed, rows: shard.look(
            hashed, _earlier(rows, "nearest"), _earlier(rows, "scores")
        )
    ),
}


def predict_sharded(
    df: DataFrame,
    shards: Shards,
    *,
    id: str,  # noqa: A002
    text: str = "text",
    output: str = "predicted",
) -> DataFrame:
    """Predict with a model that is split over executors, exactly as the whole model would.

    Documents are hashed once and sent to a task per shard, in as many rounds as the rule needs. Use
    it if a model does not fit beside each core of an executor; otherwise ``predict`` is faster.

    Parameters
    ----------
    df
        The documents; each round reads it once, so ``persist`` it if that is expensive.
    shards
        The result of ``write_shards`` or ``read_shards``, in a folder that all executors can read.
    id
        A column that identifies the rows.
    text
        The column of the text; rows without text are left out.
    output
        The name of the column of labels.

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
    Columns(text, None, id).check(df)
    settings = shards.model_settings()
    key = f"{KEY} {df.schema[id].dataType.simpleString()}"
    hashed = ", ".join(f"{name} {kind.simpleString()}" for name, kind in HASHED.items())
    rows = df.select(column(id).alias(KEY), column(text).alias("text"))
    documents = rows.mapInArrow(
        Hash(shards), f"{key}, {'text string' if settings.depth > 1 else hashed}"
    )

    def ask(name: str, documents: DataFrame) -> DataFrame:
        every = sf.explode(sf.sequence(sf.lit(0), sf.lit(len(shards) - 1)))
        sent = documents.select("*", every.alias(SHARD))
        sent = sent.repartitionById(len(shards), sf.col(SHARD))
        answers = sent.mapInArrow(Ask(shards, name), f"{key}, {ANSWERS}")
        answer = sf.struct(SHARD, "labels", "values", "chosen")
        gathered = answers.groupBy(KEY).agg(sf.sort_array(sf.collect_list(answer)).alias("answers"))
        combined = f"{name}_labels array<int>, {name}_values array<double>, {SHARD} int"
        result = SETS if ROUNDS[name].combine is None else combined
        return gathered.mapInArrow(Combine(shards, name), f"{key}, {result}")

    if settings.rule == "perceptron":
        found = ask("linear", documents)
    elif settings.rule == "margin":
        near = documents.join(ask("nearest", documents).drop(SHARD), KEY)
        scored = near.join(ask("scores", near).drop(SHARD), KEY)
        found = ask("look", scored)
    else:
        near = ask("nearest", documents).repartitionById(len(shards), sf.col(SHARD))
        found = near.mapInArrow(Regions(shards), f"{key}, {SETS}")
    return found.select(sf.col(KEY).alias(id), sf.array_sort(sf.col(PREDICTED)).alias(output))


_latest: dict[str, Shard] = {}
"""The last shard that this process used, by its digest."""


def _shard_of(shards: Shards, rows: pa.RecordBatch) -> Shard:
    """Load the shard that rows were sent to, once per process."""
    number = rows.column(SHARD)[0].as_py()
    digest = shards.digests[number]
    if digest not in _latest:
        _latest.clear()
        _latest[digest] = shards.read(number)
    return _latest[digest]


@dataclass(frozen=True)
class Hash:
    """A task: hashes documents, so that shards need not; deep sketches need the text."""

    shards: Shards

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of a key and a text into rows of a key and hashed words."""
        settings = self.shards.model_settings()
        hasher = Hasher(settings.dimensions, settings.seed, settings.analyzer)
        for rows in in_pieces(batches):
            rows = rows.filter(rows.column("text").is_valid())
            texts = rows.column("text")
            deep = settings.depth > 1
            columns = {"text": texts} if deep else hashed_columns(hasher.hash_many(texts))
            yield _batch(rows, [KEY], columns)


@dataclass(frozen=True)
class Ask:
    """A task: a shard answers for all rows of a partition."""

    shards: Shards
    round: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of documents and earlier answers into rows of ``ANSWERS``."""
        for rows in in_pieces(batches):
            shard = _shard_of(self.shards, rows)
            if shard.settings.depth > 1:
                hashed = shard.hash_many(rows.column("text"))
            else:
                hashed = hashed_rows(rows, shard.hash_many([]).analysis)
            answer = ROUNDS[self.round].ask(shard, hashed, rows)
            if isinstance(answer, Best):
                labels, values = _lists(answer)
                chosen = pa.nulls(len(rows), pa.list_(pa.int32()))
            else:
                labels, values = _lists(Best(answer.best[:, None], answer.value[:, None]))
                bounds = pa.array(answer.indptr.astype(np.int32))
                chosen = pa.ListArray.from_arrays(bounds, pa.array(answer.ids, pa.int32()))
            columns = {"labels": labels, "values": values, "chosen": chosen}
            yield _batch(rows, [KEY, SHARD], columns)


@dataclass(frozen=True)
class Combine:
    """A task: makes one answer of those of all shards."""

    shards: Shards
    round: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of a key and a list of answers into combined answers, or label sets."""
        combine = ROUNDS[self.round].combine
        for rows in batches:
            answers = [flat.field for flat in self._by_shard(rows)]
            if combine is not None:
                best = combine([_best(field("labels"), field("values")) for field in answers])
                labels, values = _lists(best)
                columns = {
                    f"{self.round}_labels": labels,
                    f"{self.round}_values": values,
                    SHARD: pa.array(core.owner_of(self.shards.firsts, best.labels[:, 0])),
                }
            else:
                passed = []
                for field in answers:
                    best = _best(field("labels"), field("values"))
                    chosen = from_lists(field("chosen"), np.int32)
                    passed.append(Passed(*chosen, best.labels[:, 0], best.values[:, 0]))
                columns = {PREDICTED: _label_sets(self.shards, *core.passed_of(passed))}
            yield _batch(rows, [KEY], columns)

    def _by_shard(self, rows: pa.RecordBatch) -> list[pa.StructArray]:
        """Return the answers of each shard to all documents."""
        count, answers = len(self.shards), rows.column("answers")
        lengths = pc.list_value_length(answers).to_numpy(zero_copy_only=False)
        if (lengths != count).any():
            own = rows.column(KEY)[int(np.argmax(lengths != count))].as_py()
            raise SettingError(f"ids must identify rows, and {own!r} comes more than once")
        flat = pc.list_flatten(answers)
        return [flat.take(pa.array(np.arange(n, len(flat), count))) for n in range(count)]


@dataclass(frozen=True)
class Regions:
    """A task: the shard of each document's nearest region returns its label set."""

    shards: Shards

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of nearest regions into rows of label sets."""
        for rows in in_pieces(batches):
            shard = _shard_of(self.shards, rows)
            found = shard.regions(_earlier(rows, "nearest").labels[:, 0])
            yield _batch(rows, [KEY], {PREDICTED: _label_sets(self.shards, *found)})


def _batch(rows: pa.RecordBatch, kept: list[str], added: dict[str, pa.Array]) -> pa.RecordBatch:
    columns = [*(rows.column(name) for name in kept), *added.values()]
    return pa.RecordBatch.from_arrays(columns, [*kept, *added])


def _lists(best: Best) -> tuple[pa.ListArray, pa.ListArray]:
    """Turn two matrices into columns of lists."""
    lists = []
    for matrix, kind in ((best.labels, pa.int32()), (best.values, pa.float64())):
        bounds = np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1]
        lists.append(pa.ListArray.from_arrays(bounds, pa.array(matrix.reshape(-1), kind)))
    return lists[0], lists[1]


def _best(labels: pa.Array, values: pa.Array) -> Best:
    """Turn the columns of ``_lists`` back."""
    return Best(
        from_lists(labels, np.int32)[1].reshape(len(labels), -1),
        from_lists(values, np.float64)[1].reshape(len(values), -1),
    )


def _earlier(rows: pa.RecordBatch, name: str) -> Best:
    """Return the combined answers of an earlier round."""
    return _best(rows.column(f"{name}_labels"), rows.column(f"{name}_values"))


def _label_sets(shards: Shards, indptr: Any, ids: Any) -> pa.ListArray:
    return LabelSets(shards.labels, ids, indptr).to_arrow()
