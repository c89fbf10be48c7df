"""Files as data frames of documents: columns ``id``, ``text``, ``labels``.

Beside them stand ``place`` (where a document comes from), ``error`` and ``raw`` (what is wrong with
one that is none, and what it is), and the columns that put the documents of a batch in order.

Lines of JSON as rows of documents, read on executors by the reader of the command line.

So fields, labels and bad records mean the same here as everywhere. A line that is no record becomes
a row without text that says what is wrong: it can be counted, set aside, or end the job.

Where the predictions of a stream go: a folder for every batch, so that it can be replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, BooleanType, DataType, MapType, StringType, StructField
from pyspark.sql.types import StructType as Schema

from clasher.adapters.spark.batches import Write
from clasher.adapters.spark.predict import column
from clasher.errors import StreamError
from clasher.io.formats import Source
from clasher.io.jsonl import RecordDecoder
from clasher.io.label_cells import DoubtfulLabelsError
from clasher.io.records import FaultError, Fields, LabelValue, Record, missing_column

VALUE, PLACE = "value", "place"
"""The columns of what is read: bytes, and where they stand."""

LISTS = ArrayType(StringType(), containsNull=False)
OBJECTS = MapType(StringType(), BooleanType(), valueContainsNull=False)
_ARROW = {"lists": pa.list_(pa.string()), "objects": pa.map_(pa.string(), pa.bool_())}


@dataclass(frozen=True)
class Reading:
    """How records are read.

    Parameters
    ----------
    fields
        Which fields hold what.
    labelled
        Whether there are labels to be read.
    objects
        Whether labels are objects label → true or false, rather than lists or one text: a column
        is of one kind.
    stopping
        Whether a bad record ends the job.
    required
        Whether a record without the field of the labels is bad, or unlabelled.
    """

    fields: Fields
    labelled: bool = True
    objects: bool = False
    stopping: bool = True
    required: bool = True

    @property
    def added(self) -> dict[str, DataType]:
        """The columns of a document."""
        labels: dict[str, DataType] = {"labels": OBJECTS if self.objects else LISTS}
        texts: dict[str, DataType] = dict.fromkeys(("id", "text", "error", "raw"), StringType())
        return texts | (labels if self.labelled else {})

    def read(self, lines: DataFrame) -> DataFrame:
        """Rows of ``value`` and ``place`` as documents; other columns are kept."""
        kept = [field for field in lines.schema.fields if field.name != VALUE]
        added = [StructField(name, kind) for name, kind in self.added.items()]
        return lines.mapInArrow(Parse(self), Schema([*kept, *added]))


@dataclass(frozen=True)
class Parse:
    """A task: reads the records of a partition; blank lines are none."""

    reading: Reading

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of lines in, rows of documents out."""
        fields, labelled = self.reading.fields, self.reading.labelled
        decoder = RecordDecoder(fields, labelled=labelled, required=self.reading.required)
        for batch in batches:
            lines, places = batch.column(VALUE).to_pylist(), batch.column(PLACE).to_pylist()
            filled = [at for at, line in enumerate(lines) if line is not None and line.strip()]
            rows = [self._row(decoder, lines[at], places[at]) for at in filled]
            kept = batch.take(pa.array(filled, pa.int64())).drop_columns([VALUE])
            columns = [
                pa.array([row[name] for row in rows], self._kind(name))
                for name in self.reading.added
            ]
            names = [*kept.schema.names, *self.reading.added]
            yield pa.RecordBatch.from_arrays([*kept.columns, *columns], names)

    def _row(self, decoder: RecordDecoder, line: bytes, place: str) -> dict[str, Any]:
        row: dict[str, Any] = dict.fromkeys(self.reading.added)
        try:
            record = decoder.decode(line)
            self._check(record)
        except DoubtfulLabelsError as doubt:
            raise doubt.at(place) from None
        except FaultError as fault:
            if self.reading.stopping:
                raise StreamError(f"{place}: {fault.problem}; {fault.remedy}") from None
            error = f"{fault.problem}; {fault.remedy}"
            return row | {"error": error, "raw": line.decode("utf-8", "backslashreplace")}
        own = None if record.id is None else str(record.id)
        row |= {"id": own, "text": record.text}
        return row | ({"labels": record.labels} if self.reading.labelled else {})

    def _check(self, record: Record) -> None:
        is_object = isinstance(record.labels, dict)
        if record.labels is not None and is_object is not self.reading.objects:
            found = "an object" if is_object else "a list"
            remedy = "say --partial where labels are objects, and only there"
            raise FaultError(f"field {self.reading.fields.labels!r} holds {found}", remedy)

    def _kind(self, name: str) -> pa.DataType:
        if name != "labels":
            return pa.string()
        return _ARROW["objects" if self.reading.objects else "lists"]


LETTER = ("place", "error", "raw")
"""What is told of a row that is no document, as far as it is known."""


def to_folder(folder: str, output: str = "predicted") -> Write:
    """Write JSON lines of id and labels, below ``folder``, the rows without a prediction left out.

    A batch that comes again after a crash replaces what was there of it.
    """

    def write(predictions: DataFrame, number: int) -> None:
        good = predictions.where(sf.col(output).isNotNull())
        _lines(good.select("id", sf.col(output).alias("labels")), folder, number)

    return write


def dead_letters(folder: str, output: str = "predicted") -> Write:
    """Write the rows that are no documents, and what is wrong with them."""

    def write(predictions: DataFrame, number: int) -> None:
        known = [name for name in LETTER if name in predictions.columns]
        bad = predictions.where(sf.col(output).isNull()).select(*known)
        if not bad.isEmpty():
            _lines(bad, folder, number)

    return write


def to_all(writes: list[Write]) -> Write | None:
    """One after the other; None where there is nothing to be written."""

    def write(predictions: DataFrame, number: int) -> None:
        for one in writes:
            one(predictions, number)

    return write if writes else None


def _lines(rows: DataFrame, folder: str, number: int) -> None:
    rows.write.mode("overwrite").json(f"{folder}/batch={number:09}")


FILE_ORDER = ("file", "start")
"""Files by their names, their parts by where they begin."""


def read_files(
    spark: SparkSession,
    paths: Sequence[str],
    reading: Reading,
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
) -> DataFrame:
    """Files, or folders of files: JSON lines, CSV, TSV or Parquet.

    ``format`` tells which, or their names do. Paths may be of any file system that Spark knows.
    ``delimiter`` and ``encoding`` are those of CSV and TSV.
    """
    kind, cells = _kind(paths, format, delimiter, encoding)
    return _documents(spark.read, list(paths), reading, kind, cells)


def watch_files(
    spark: SparkSession,
    folder: str,
    reading: Reading,
    *,
    format: str | None = None,  # noqa: A002
    files: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> DataFrame:
    """A folder that files arrive in, as a stream of at most ``files`` of them a batch.

    Tables (CSV, TSV, Parquet) must have a first file when the stream begins: it tells the columns.
    """
    kind, cells = _kind([folder], format, delimiter, encoding)
    reader: Any = spark.readStream
    if files is not None:
        reader = reader.option("maxFilesPerTrigger", files)
    if kind != "jsonl":
        reader = reader.schema(_read(_tabular(spark.read, kind, cells), kind, folder).schema)
    return _documents(reader, folder, reading, kind, cells)


def _kind(
    paths: Sequence[str],
    format: str | None,  # noqa: A002
    delimiter: str | None,
    encoding: str | None,
) -> tuple[str, dict[str, str]]:
    """Tell the one kind of the files, and Spark's options for the cells of CSV and TSV."""
    if format is None and all(path.endswith("/") or os.path.isdir(path) for path in paths):
        format = "jsonl" if delimiter is None else "csv"  # noqa: A001
    found = [Source.of(path, format, delimiter, encoding) for path in paths]
    kinds = {source.kind for source in found}
    if len(kinds) > 1 or "arrow" in kinds:
        raise StreamError(
            f"Spark reads jsonl, csv, tsv or parquet files, of one kind at a time. Got "
            f"{', '.join(sorted(kinds))}; convert them, or name the kind with --format"
        )
    (kind,) = kinds
    if encoding is not None and kind not in ("csv", "tsv"):
        raise StreamError(f"--encoding is for csv and tsv, not for {kind}; convert it to UTF-8")
    sep = found[0].delimiter or ("," if kind == "csv" else "\t")
    return kind, {"sep": sep, "encoding": found[0].encoding or "UTF-8"}


def _documents(
    reader: Any, paths: Any, reading: Reading, kind: str, cells: dict[str, str]
) -> DataFrame:
    df = _read(_tabular(reader, kind, cells), "text" if kind == "jsonl" else kind, paths)
    where = sf.col("_metadata.file_path").alias("file")
    start = sf.col("_metadata.file_block_start").alias("start")
    if kind != "jsonl":
        return df.select(*_columns(df, reading, str(paths)), where, start)
    place = sf.concat(
        sf.col("_metadata.file_path"), sf.lit(", after byte "), sf.col("_metadata.file_block_start")
    )
    line = sf.col("value").cast("binary").alias(VALUE)
    return reading.read(df.select(line, place.alias(PLACE), where, start))


def _tabular(reader: Any, kind: str, cells: dict[str, str]) -> Any:
    if kind in ("csv", "tsv"):
        return reader.options(header=True, multiLine=True, escape='"', **cells)
    return reader


def _read(reader: Any, kind: str, paths: Any) -> DataFrame:
    try:
        df: DataFrame = reader.format("csv" if kind == "tsv" else kind).load(paths)
    except AnalysisException as error:
        told = str(error).partition("\n")[0].partition(" SQLSTATE")[0].partition("] ")[2]
        raise StreamError(f"Spark finds nothing to read: {told}") from error
    return df


def _columns(df: DataFrame, reading: Reading, source: str) -> list[Column]:
    """The columns of documents in a table."""
    fields, nothing = reading.fields, sf.lit(None).cast("string")
    text = _found(df, fields.text or "", "text", source)
    own = _named(df, fields.id) if fields.id is not None else None
    columns = [
        (nothing if own is None else own.cast("string")).alias("id"),
        text.cast("string").alias("text"),
        nothing.alias("error"),
        nothing.alias("raw"),
        sf.col("_metadata.file_path").alias(PLACE),
    ]
    if reading.labelled:
        labels = _found(df, fields.labels, "labels", source)
        kind = df.select(labels.alias("labels")).schema["labels"].dataType
        columns.append(_labels(labels, kind, reading).alias("labels"))
    return columns


def _named(df: DataFrame, name: str) -> Column | None:
    """A column; dots reach into nested ones, a column of that very name goes first."""
    if name in df.columns:
        return column(name)
    first, *rest = name.split(".")
    return sf.col(f"`{first}`.{'.'.join(rest)}") if rest and first in df.columns else None


def _found(df: DataFrame, name: str, option: str, source: str) -> Column:
    if (found := _named(df, name)) is None:
        raise missing_column(source, name, option, df.columns)
    return found


def _labels(labels: Column, kind: DataType, reading: Reading) -> Column:
    """Labels as they are, or out of one text."""
    if isinstance(kind, ArrayType | MapType):
        return labels
    if not isinstance(kind, StringType):
        raise StreamError(
            f"column {reading.fields.labels!r} holds {kind.simpleString()}, not labels; name "
            f"another one with --labels FIELD"
        )
    return sf.udf(Cells(reading), OBJECTS if reading.objects else LISTS, useArrow=False)(labels)


@dataclass(frozen=True)
class Cells:
    """Reads labels that are written as one text, on executors, as the command line does."""

    reading: Reading

    def __call__(self, text: str | None) -> LabelValue:
        """Read one text; null and blanks are unlabelled."""
        fields = self.reading.fields
        labels = None if text is None else fields.split(text)
        if labels is not None and isinstance(labels, dict) is not self.reading.objects:
            found = "an object" if isinstance(labels, dict) else "a list"
            raise StreamError(
                f"column {fields.labels!r} holds {found}; say --partial where labels are objects, "
                f"and only there"
            )
        return labels
