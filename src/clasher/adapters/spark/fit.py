"""``fit``: partitions learn side by side, and their models are merged in a tree.

A round of ``fit`` runs these tasks on executors:

1. ``count`` the words of each partition, so that each knows those before it (TF-IDF).
2. ``learn_part`` starts from the model that the driver broadcasts, learns its partition, and
   returns the difference.
3. ``merge_parts`` makes one difference of every 16, until one is left; the driver adds it to the
   model.
"""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import Broadcast, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from clasher.adapters.spark.columns import Columns, column, in_pieces
from clasher.adapters.spark.session import context_of, unwrap_errors
from clasher.errors import SettingError, StreamError, require_positive
from clasher.learning.merge import Sketch
from clasher.learning.model_file import packed, unpacked
from clasher.model import Clasher
from clasher.runtime import deltas
from clasher.runtime.snapshots import new_model
from clasher.settings import WITH_IDF, Settings
from clasher.text.analyzer import Tokenizer

FAN = 16  # models merged into one at a time
PIECE = 4 * 2**20  # bytes of a model file in one row
MODELS = "number bigint, place bigint, content binary"  # which model, where in its file, bytes
COUNTS = "number bigint, documents bigint, frequencies binary"

_CODEC = pa.Codec("zstd")


def fit(
    df: DataFrame,
    model: Clasher | None = None,
    *,
    text: str = "text",
    labels: str = "labels",
    id: str | None = None,  # noqa: A002
    rounds: int = 1,
    exact: bool = True,
    **settings: Any,
) -> Clasher:
    """Learn a data frame, its partitions side by side.

    Document frequencies, numbers of documents and co-occurrences of labels are exactly those of
    one process that learns the partitions one after the other. The prototypes of ``centroid`` are
    equal up to float rounding; the weights of ``margin`` and ``perceptron`` become means of those
    of the partitions.

    Parameters
    ----------
    df
        The documents. Each pass reads it once: ``persist`` it if that is expensive, or if it does
        not return the same rows each time.
    model
        The model to continue, which is not changed. None: a new one with ``settings``.
    text, labels, id
        The columns. Labels are an array of text, or a map from text to boolean that leaves other
        labels unknown; null means unlabelled. Unlabelled documents wait for their labels under
        their id if the model keeps some (``pending``).
    rounds
        How often the partitions exchange what they have learnt: in each round every partition
        learns its next share of its rows. For rules that learn from mistakes; ``centroid`` gains
        nothing.
    exact
        Count the words first, in a separate pass, so that every document is weighted as in one
        process. Otherwise each partition knows only the words of its own rows.
    **settings
        Those of ``Clasher``, for a new model.

    Examples
    --------
    >>> from clasher.adapters.spark import fit, session
    >>> rows = [("wheat and corn", ["grain"]), ("crude oil", ["oil"])] * 20
    >>> df = session("local[2]").createDataFrame(rows, "text string, labels array<string>")
    >>> model = fit(df.repartition(2), dimensions=1024)
    >>> model.documents, model.predict("corn")
    (40, {'grain'})
    """
    require_positive("fit", "rounds", rounds)
    if model is not None and settings:
        raise SettingError(f"a model has settings: leave out {', '.join(settings)}, or the model")
    learnt = Clasher(**settings) if model is None else model.copy()
    deltas.check(learnt.settings, is_new=not learnt.documents)
    columns = Columns(text, labels, id if learnt.settings.pending else None)
    documents = columns.select(df)
    before = learnt.documents
    with unwrap_errors():
        for number in range(rounds):
            learn(documents, learnt, columns, Share(number, rounds), exact)
    if learnt.documents == before:
        raise StreamError("the data frame has no documents; check where it comes from")
    return learnt


class Share(NamedTuple):
    """The rows of a partition that one round learns: every ``rounds``-th."""

    number: int = 0
    rounds: int = 1

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in batches:
            places = np.arange(start, start := start + batch.num_rows)
            own = pa.array(places % self.rounds == self.number)
            yield from in_pieces([batch if self.rounds == 1 else batch.filter(own)])


ALL = Share()


def learn(
    documents: DataFrame, model: Clasher, columns: Columns, share: Share = ALL, exact: bool = True
) -> None:
    """Run one round: all partitions start from the model, which adds what they have learnt."""
    deltas.make_room(model)
    beginning = model
    if deltas.is_independent(model.settings):
        beginning = deltas.begin(model, Sketch.of(model.state))  # no more than partitions need
    counts: dict[int, tuple[int, bytes]] = {}
    if exact and model.settings.weighting in WITH_IDF:
        task = partial(count, model.settings, Columns(columns.text, None), share)
        found = documents.select(column(columns.text)).mapInArrow(task, COUNTS).toArrow()
        rows = found.to_pylist()
        counts = {row["number"]: (row["documents"], row["frequencies"]) for row in rows}
        partitions = max(counts, default=0) + 1
    else:
        partitions = documents.rdd.getNumPartitions()
    tokenizer = model.settings.analyzer.tokenizer
    sent = context_of(documents).broadcast((packed(beginning), counts))
    try:
        task = partial(learn_part, sent, columns, tokenizer, share)
        parts = documents.mapInArrow(task, MODELS)
        while partitions > 1:
            partitions = -(-partitions // FAN)
            group = sf.floor(sf.col("number") / FAN).cast("int")
            task = partial(merge_parts, FAN, tokenizer)
            parts = parts.repartitionById(partitions, group).mapInArrow(task, MODELS)
        with received_models(parts.toArrow().to_batches()) as paths:
            for path in paths.values():
                model.add_difference(take_model(path, tokenizer))
    finally:
        sent.destroy()


def count(
    settings: Settings, columns: Columns, share: Share, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Count the words of a partition: one row of ``COUNTS``."""
    model = new_model(settings)
    for rows in share.rows(batches):
        model.observe_many(columns.documents(rows)[0])
    sketch = Sketch.of(model.state)
    content = _CODEC.compress(sketch.frequencies.astype(np.uint32).tobytes(), asbytes=True)
    row = {"number": partition(), "documents": sketch.documents, "frequencies": content}
    yield pa.RecordBatch.from_pylist([row])


def learn_part(
    start: Broadcast[tuple[bytes, dict[int, tuple[int, bytes]]]], columns: Columns,
    tokenizer: Tokenizer | None, share: Share, batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Learn a partition: return rows of ``MODELS`` with the difference, none without documents."""
    number, (content, counts) = partition(), start.value  # the model, words of all partitions
    model = unpacked(content, Clasher.load, tokenizer=tokenizer)
    before = Sketch.of(model.state)
    for documents, frequencies in (counts[other] for other in counts if other < number):
        size = before.frequencies.size * 4
        plain = np.frombuffer(_CODEC.decompress(frequencies, size, asbytes=True), np.uint32)
        here = plain.reshape(before.frequencies.shape).astype(np.float64)
        before = before.plus(Sketch(documents, float(documents), here))
    part = deltas.begin(model, before)
    for rows in share.rows(batches):
        part.learn_many(*columns.documents(rows))
    if part.documents > before.documents:
        yield from model_rows(number, deltas.difference(part, model, before))


def merge_parts(
    fan: int, tokenizer: Tokenizer | None, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Merge every ``fan`` neighbours in rows of ``MODELS``, whichever task finished first."""
    with received_models(batches) as paths:
        for group, numbers in groupby(paths, lambda number: number // fan):
            first, *others = (paths[number] for number in numbers)
            model = take_model(first, tokenizer)
            for path in others:
                model.merge(take_model(path, tokenizer))
            yield from model_rows(group, model)


def partition() -> int:
    """Return the number of the partition that this task works on."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def model_rows(number: int, model: Clasher) -> Iterator[pa.RecordBatch]:
    """Cut the file of a model into rows of ``MODELS``."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        path = Path(folder, "model")
        model.save(path, durable=False)
        with path.open("rb") as file:
            place = 0
            while content := file.read(PIECE):
                row = {"number": number, "place": place, "content": content}
                yield pa.RecordBatch.from_pylist([row])
                place += len(content)


@contextmanager
def received_models(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[int, Path]]:
    """Write models whose rows arrive in any order to files, by ascending number."""
    with tempfile.TemporaryDirectory(prefix="clasher-") as folder:
        paths: dict[int, Path] = {}
        for batch in batches:
            for row in batch.to_pylist():
                path = paths.setdefault(row["number"], Path(folder, str(row["number"])))
                path.touch()
                with path.open("r+b") as file:
                    file.seek(row["place"])
                    file.write(row["content"])
        yield dict(sorted(paths.items()))


def take_model(path: Path, tokenizer: Tokenizer | None = None) -> Clasher:
    """Load a model, and delete its file."""
    model = Clasher.load(path, tokenizer=tokenizer)
    path.unlink()
    return model
