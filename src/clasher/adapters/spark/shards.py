"""``predict_sharded``: a model split by its labels over executors (see ``clasher.runtime.shards``).

``write_shards`` writes a file per shard, and an index, to a folder that all executors can read: a
path that is the same everywhere, or an address that Arrow knows (``s3://``, ``gs://``,
``hdfs://``). Each document goes to all shards, in as many rounds as the rule needs: in each one,
``ask`` has every shard answer, and ``combine`` makes one answer of theirs, for the next round or
as the result.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import safetensors.numpy
from pyarrow import ArrowException, fs
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark import columns as cells
from clasher.adapters.spark.columns import HASHED, Columns, column, in_pieces
from clasher.errors import ModelFileError, SettingError
from clasher.labels import LabelSets
from clasher.learning import memory
from clasher.model import Clasher
from clasher.runtime import shards as core
from clasher.runtime.shards import Best, Passed, Shard, split
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer
from clasher.text.hashing import Hasher

FORMAT = 2
INDEX = "shards.json"
EXTRA = ("shard_counts", "shard_gains")  # arrays beside those of the state
RANGE = "shard_range"  # the first label, and the one after the last


@dataclass(frozen=True)
class Shards:
    """The index of a folder of shards.

    Attributes
    ----------
    folder, labels
        The folder, and all labels of the model.
    settings
        Those of the model, as plain values; ``tokenizer`` is not among them.
    firsts, digests
        The number of the first label of each shard, and the digest of its file.
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
            raise ModelFileError(f"{self.folder}/{name}: was changed; write the shards again")
        arrays: dict[str, Any] = safetensors.numpy.load(content)
        first, stop = [*self.firsts, len(self.labels)][number : number + 2]
        own = arrays.pop(RANGE, None)
        if own is None or own.tolist() != [first, stop]:
            raise ModelFileError(f"{self.folder}/{name}: its labels are not those of the index")
        settings, labels = self.model_settings(), stop - first
        for array, (shape, kind) in _shapes(settings, labels, len(self.labels)).items():
            found = arrays.setdefault(array, np.zeros(shape, kind) if 0 in shape else None)
            if found is None or found.shape != shape or found.dtype != kind:
                what = f"array {array!r} does not match the settings"
                raise ModelFileError(f"{self.folder}/{name}: {what}")
        extra = [arrays.pop(array) for array in EXTRA]
        state = memory.unflat(arrays, settings)
        if state is None or not memory.is_sound(state, len(self.labels)):
            raise ModelFileError(f"{self.folder}/{name}: its cells contradict each other")
        return Shard(settings, first, labels, state, *extra)


def write_shards(model: Clasher, folder: str | os.PathLike[str], shards: int) -> Shards:
    """Split a model by its labels into the files of a folder."""
    system, place = _file_system(os.fspath(folder))
    system.create_dir(place, recursive=True)
    firsts, digests = [], []
    for number, shard in enumerate(split(model, shards)):
        extra = (shard.counts, shard.gains)
        arrays: dict[str, Any] = memory.flat(shard.state) | dict(zip(EXTRA, extra, strict=True))
        arrays[RANGE] = np.array([shard.first, shard.first + shard.labels], np.int64)
        content = safetensors.numpy.save({name: own for name, own in arrays.items() if own.size})
        with system.open_output_stream(f"{place}/{_file_name(number)}") as file:
            file.write(content)
        firsts.append(shard.first)
        digests.append(_digest(content))
    index: dict[str, Any] = {
        "settings": model.settings.to_dict(), "labels": model.labels, "firsts": firsts,
        "digests": digests,
    }  # fmt: skip
    with system.open_output_stream(f"{place}/{INDEX}") as file:  # last: it makes the shards valid
        file.write(msgspec.json.encode({"format": FORMAT} | index))
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
    shapes = memory.cut_shapes(settings, labels, total)
    extra = (((total,), np.float64), ((total,), np.float64))
    return shapes | dict(zip(EXTRA, extra, strict=True))


def _file_name(number: int) -> str:
    return f"shard-{number:05}.safetensors"


def _file_system(folder: str) -> tuple[fs.FileSystem, str]:
    address = folder if "://" in folder else os.path.abspath(folder)
    found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(address)
    return found


def _read(folder: str, name: str) -> bytes:
    try:
        system, place = _file_system(folder)
        with system.open_input_stream(f"{place}/{name}") as file:
            content: bytes = file.read()
    except (OSError, ArrowException) as error:
        raise ModelFileError(
            f"{folder}/{name}: cannot be read; every executor must be able to read the folder of "
            f"the shards: {error}"
        ) from error
    return content


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()


KEY, SHARD, PREDICTED = "key", "shard", "predicted"
ANSWERS = f"{SHARD} int, labels array<int>, values array<double>, chosen array<int>"
SETS = f"{PREDICTED} array<string>"

ROUNDS: dict[str, tuple[tuple[str, ...], Callable[[list[Best]], Best] | None]] = {
    "nearest": ((), core.nearest_of),
    "scores": (("nearest",), core.best_of),
    "linear": ((), None),
    "look": (("nearest", "scores"), None),
}
"""The rounds whose results a shard needs, and the function that combines answers (None: the last).

A round is named after the method of ``Shard`` that answers.
"""


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
    id, text
        A column that identifies the rows, and the text; rows without text are left out.
    output
        The column of labels, beside ``id`` in the result.

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
    schema = f"{key}, {'text string' if settings.depth > 1 else hashed}"
    documents = rows.mapInArrow(partial(hash_rows, shards), schema)

    def run(name: str, documents: DataFrame) -> DataFrame:
        every = sf.explode(sf.sequence(sf.lit(0), sf.lit(len(shards) - 1)))
        sent = documents.select("*", every.alias(SHARD))
        sent = sent.repartitionById(len(shards), sf.col(SHARD))
        answers = sent.mapInArrow(partial(ask, shards, name), f"{key}, {ANSWERS}")
        answer = sf.struct(SHARD, "labels", "values", "chosen")
        gathered = answers.groupBy(KEY).agg(sf.sort_array(sf.collect_list(answer)).alias("answers"))
        combined = f"{name}_labels array<int>, {name}_values array<double>, {SHARD} int"
        result = SETS if ROUNDS[name][1] is None else combined
        return gathered.mapInArrow(partial(combine, shards, name), f"{key}, {result}")

    if settings.rule == "perceptron":
        found = run("linear", documents)
    elif settings.rule == "margin":
        near = documents.join(run("nearest", documents).drop(SHARD), KEY)
        scored = near.join(run("scores", near).drop(SHARD), KEY)
        found = run("look", scored)
    else:
        near = run("nearest", documents).repartitionById(len(shards), sf.col(SHARD))
        found = near.mapInArrow(partial(label_regions, shards), f"{key}, {SETS}")
    return found.select(sf.col(KEY).alias(id), sf.array_sort(sf.col(PREDICTED)).alias(output))


_latest: dict[str, Shard] = {}  # the last shard that this process used, by its digest


def _shard_of(shards: Shards, rows: pa.RecordBatch) -> Shard:
    number = rows.column(SHARD)[0].as_py()
    digest = shards.digests[number]
    if digest not in _latest:
        _latest.clear()
        _latest[digest] = shards.read(number)
    return _latest[digest]


def hash_rows(shards: Shards, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hash documents, so that shards need not; deep sketches need the text."""
    settings = shards.model_settings()
    hasher = Hasher(settings.dimensions, settings.seed, settings.analyzer)
    for rows in in_pieces(batches):
        rows = rows.filter(rows.column("text").is_valid())
        texts = rows.column("text")
        is_deep = settings.depth > 1
        columns = {"text": texts} if is_deep else cells.hashed_columns(hasher.hash_many(texts))
        yield _batch(rows, [KEY], columns)


def ask(shards: Shards, name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Have a shard answer for documents, given earlier answers: rows of ``ANSWERS``."""
    for rows in in_pieces(batches):
        shard = _shard_of(shards, rows)
        if shard.settings.depth > 1:
            hashed = shard.hash_many(rows.column("text"))
        else:
            hashed = cells.hashed_rows(rows, shard.hash_many([]).analysis)
        answer = getattr(shard, name)(
            hashed, *(_best(rows.column, f"{one}_") for one in ROUNDS[name][0])
        )
        chosen = pa.nulls(len(rows), pa.list_(pa.int32()))
        if isinstance(answer, Passed):
            bounds = pa.array(answer.indptr.astype(np.int32))
            chosen = pa.ListArray.from_arrays(bounds, pa.array(answer.ids, pa.int32()))
            answer = Best(answer.best[:, None], answer.value[:, None])
        yield _batch(rows, [KEY, SHARD], _columns(answer) | {"chosen": chosen})


def combine(
    shards: Shards, name: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Turn rows of a key and a list of answers into combined answers, or label sets."""
    count, combined = len(shards), ROUNDS[name][1]
    for rows in batches:
        listed = rows.column("answers")
        lengths = pc.list_value_length(listed).to_numpy(zero_copy_only=False)
        if (lengths != count).any():
            own = rows.column(KEY)[int(np.argmax(lengths != count))].as_py()
            raise SettingError(f"ids must identify rows, and {own!r} comes more than once")
        flat = pc.list_flatten(listed)
        answers = [flat.take(pa.array(np.arange(n, len(flat), count))).field for n in range(count)]
        bests = [_best(field) for field in answers]
        if combined is not None:
            best = combined(bests)
            owner = pa.array(core.owner_of(shards.firsts, best.labels[:, 0]))
            columns = _columns(best, f"{name}_") | {SHARD: owner}
        else:
            passed = []
            for field, best in zip(answers, bests, strict=True):
                chosen = cells.from_lists(field("chosen"), np.int32)
                passed.append(Passed(*chosen, best.labels[:, 0], best.values[:, 0]))
            indptr, ids = core.passed_of(passed)
            columns = {PREDICTED: LabelSets(shards.labels, ids, indptr).to_arrow()}
        yield _batch(rows, [KEY], columns)


def label_regions(shards: Shards, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Have the shard of each document's nearest region return its label set."""
    for rows in in_pieces(batches):
        shard = _shard_of(shards, rows)
        indptr, ids = shard.regions(_best(rows.column, "nearest_").labels[:, 0])
        yield _batch(rows, [KEY], {PREDICTED: LabelSets(shards.labels, ids, indptr).to_arrow()})


def _batch(rows: pa.RecordBatch, kept: list[str], added: dict[str, pa.Array]) -> pa.RecordBatch:
    columns = [*(rows.column(name) for name in kept), *added.values()]
    return pa.RecordBatch.from_arrays(columns, [*kept, *added])


_KINDS = {"labels": np.int32, "values": np.float64}  # of ``Best``


def _columns(best: Best, prefix: str = "") -> dict[str, pa.Array]:
    columns = {}
    for name, kind in _KINDS.items():
        matrix = getattr(best, name)
        bounds = np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1]
        flat = pa.array(matrix.reshape(-1), pa.from_numpy_dtype(kind))
        columns[prefix + name] = pa.ListArray.from_arrays(bounds, flat)
    return columns


def _best(column: Callable[[str], pa.Array], prefix: str = "") -> Best:
    lists = {name: column(prefix + name) for name in _KINDS}
    flat = (cells.from_lists(lists[name], kind)[1] for name, kind in _KINDS.items())
    return Best(*(values.reshape(len(lists["labels"]), -1) for values in flat))
