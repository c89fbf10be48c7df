"""Files as data frames of documents, and folders for what a stream writes.

A data frame of documents has the columns ``id``, ``text``, ``labels``, ``place`` (where a document
comes from), ``error`` and ``raw`` (why a record is no document, and the record), and columns that
order the documents of a batch. Executors read JSON lines with the reader of the command line, so
fields, labels and bad records mean the same here as everywhere.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, types
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema

from clasher.adapters.spark.columns import LABELS, column
from clasher.adapters.spark.stream import Write
from clasher.errors import StreamError
from clasher.io.formats import InputFile, Reading
from clasher.io.jsonl import RecordDecoder
from clasher.io.label_cells import DoubtfulLabelsError
from clasher.io.records import FaultError, Fields, LabelValue, missing_column

FILE_ORDER = ("file", "start")  # the columns that order the documents of files
VALUE, PLACE = "value", "place"  # the columns of raw records: bytes, and where they come from

_PARTIAL = types.MapType(types.StringType(), types.BooleanType(), valueContainsNull=False)


@dataclass(frozen=True)
class RecordReader:
    """Reads records on executors."""

    fields: Fields
    labelled: bool = True
    partial: bool = False  # labels are objects label → bool; a column has one type
    stop_on_error: bool = True  # otherwise a bad record becomes a row with its error
    labels_required: bool = True  # otherwise a record without their field is unlabelled

    @property
    def added(self) -> types.StructType:
        added = types.StructType()
        for name in ("id", "text", "error", "raw"):
            added.add(name, types.StringType())
        return added.add("labels", self.labels_type) if self.labelled else added

    @property
    def labels_type(self) -> types.DataType:
        return _PARTIAL if self.partial else LABELS

    def read(self, records: DataFrame) -> DataFrame:
        kept = [field for field in records.schema.fields if field.name != VALUE]
        return records.mapInArrow(self.parse, types.StructType([*kept, *self.added]))

    def check_labels(self, labels: object) -> None:
        if labels is not None and isinstance(labels, dict) is not self.partial:
            found = "an object" if isinstance(labels, dict) else "a list"
            remedy = "say --partial if labels are objects, and only then"
            raise FaultError(f"field {self.fields.labels!r} holds {found}", remedy)

    def parse(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turn rows of records into rows of documents, without blank lines: a task."""
        decoder = RecordDecoder(Reading(self.fields, self.labelled, self.labels_required))
        schema = to_arrow_schema(self.added)
        for batch in batches:
            lines, places = batch.column(VALUE).to_pylist(), batch.column(PLACE).to_pylist()
            filled = [at for at, line in enumerate(lines) if line is not None and line.strip()]
            rows = [self._row(decoder, lines[at], places[at]) for at in filled]
            kept = batch.take(pa.array(filled, pa.int64())).drop_columns([VALUE])
            added = pa.RecordBatch.from_pylist(rows, schema)
            columns, names = [*kept.columns, *added.columns], [*kept.schema.names, *schema.names]
            yield pa.RecordBatch.from_arrays(columns, names)

    def _row(self, decoder: RecordDecoder, line: bytes, place: str) -> dict[str, Any]:
        try:
            record = decoder.decode(line)
            self.check_labels(record.labels)
        except DoubtfulLabelsError as doubt:
            raise doubt.at(place) from None
        except FaultError as fault:
            error = f"{fault.problem}; {fault.remedy}"
            if self.stop_on_error:
                raise StreamError(f"{place}: {error}") from None
            return {"error": error, "raw": line.decode("utf-8", "backslashreplace")}
        id_ = None if record.id is None else str(record.id)
        return {"id": id_, "text": record.text, "labels": record.labels}

    def split_labels(self, text: str | None) -> LabelValue:
        """Read labels that are written as one text; null and blanks are unlabelled: a task."""
        labels = None if text is None else self.fields.split(text)
        try:
            self.check_labels(labels)
        except FaultError as fault:
            raise StreamError(f"{fault.problem}; {fault.remedy}") from None
        return labels


def read_files(
    spark: SparkSession, paths: Sequence[str], reader: RecordReader, **how: str | None
) -> DataFrame:
    """Read files, or folders of files: JSON lines, CSV, TSV or Parquet.

    Paths may be on any file system that Spark knows. ``format`` names the format, or the file names
    do; ``delimiter`` and ``encoding`` are for CSV and TSV.
    """
    return _documents(spark.read, list(paths), reader, *_format(paths, **how))


def watch_files(
    spark: SparkSession, folder: str, reader: RecordReader, files: int | None = None,
    **how: str | None,
) -> DataFrame:  # fmt: skip
    """Read files that arrive in a folder as a stream, at most ``files`` of them a batch.

    A folder of tables (CSV, TSV, Parquet) must have a first file when the stream starts: its
    columns are those of the stream.
    """
    kind, options = _format([folder], **how)
    stream: Any = spark.readStream
    if files is not None:
        stream = stream.option("maxFilesPerTrigger", files)
    if kind != "text":
        stream = stream.schema(_load(spark.read, folder, kind, options).schema)
    return _documents(stream, folder, reader, kind, options)


def _format(
    paths: Sequence[str], format: str | None = None,  # noqa: A002
    delimiter: str | None = None, encoding: str | None = None,
) -> tuple[str, dict[str, Any]]:  # fmt: skip
    """Return Spark's name of the format of files, and its options."""
    if format is None and all(path.endswith("/") or os.path.isdir(path) for path in paths):
        format = "jsonl" if delimiter is None else "csv"  # noqa: A001
    found = [InputFile.of(path, format, delimiter, encoding) for path in paths]
    kinds = {source.kind for source in found}
    if len(kinds) > 1 or "arrow" in kinds:
        raise StreamError(
            f"Spark reads jsonl, csv, tsv or parquet files, of one kind at a time. Got "
            f"{', '.join(sorted(kinds))}; convert them, or name the kind with --format"
        )
    (kind,) = kinds
    if kind in ("csv", "tsv"):
        separator = found[0].delimiter or ("," if kind == "csv" else "\t")
        options = {"header": True, "multiLine": True, "escape": '"', "sep": separator}
        return "csv", options | {"encoding": found[0].encoding or "UTF-8"}
    if encoding is not None:
        raise StreamError(f"--encoding is for csv and tsv, not for {kind}; convert it to UTF-8")
    return "text" if kind == "jsonl" else kind, {}


def _load(
    spark_reader: Any, paths: str | list[str], kind: str, options: dict[str, Any]
) -> DataFrame:
    try:
        df: DataFrame = spark_reader.options(**options).format(kind).load(paths)
    except AnalysisException as error:
        reason = str(error).partition("\n")[0].partition(" SQLSTATE")[0].partition("] ")[2]
        raise StreamError(f"Spark finds nothing to read: {reason}") from error
    return df


def _documents(
    spark_reader: Any, paths: str | list[str], reader: RecordReader, kind: str, options: Any
) -> DataFrame:
    df = _load(spark_reader, paths, kind, options)
    file, start = sf.col("_metadata.file_path"), sf.col("_metadata.file_block_start")
    order = (file.alias("file"), start.alias("start"))
    if kind != "text":
        return df.select(*_document_columns(df, reader, str(paths)), file.alias(PLACE), *order)
    place = sf.concat(file, sf.lit(", after byte "), start)
    line = sf.col("value").cast("binary").alias(VALUE)
    return reader.read(df.select(line, place.alias(PLACE), *order))


def _document_columns(df: DataFrame, reader: RecordReader, source: str) -> list[Column]:
    fields, null = reader.fields, sf.lit(None).cast("string")
    id_ = _found(df, fields.id, None, source).cast("string")
    text = _found(df, fields.text, "text", source).cast("string")
    columns = [id_.alias("id"), text.alias("text"), null.alias("error"), null.alias("raw")]
    if reader.labelled:
        labels = _found(df, fields.labels, "labels", source)
        kind = df.select(labels.alias("labels")).schema["labels"].dataType
        if isinstance(kind, types.StringType):
            labels = sf.udf(reader.split_labels, reader.labels_type, useArrow=False)(labels)
        elif not isinstance(kind, types.ArrayType | types.MapType):
            held = f"column {fields.labels!r} holds {kind.simpleString()}"
            raise StreamError(f"{held}, not labels; name another one with --labels FIELD")
        columns.append(labels.alias("labels"))
    return columns


def _found(df: DataFrame, name: str | None, option: str | None, source: str) -> Column:
    """Find a column: one of that very name, else a nested one that dots reach into."""
    name = name or ""
    if name in df.columns:
        return column(name)
    first, *rest = name.split(".")
    if rest and first in df.columns:
        return sf.col(f"`{first}`.{'.'.join(rest)}")
    if option is None:  # may be missing
        return sf.lit(None)
    raise missing_column(source, name, option, df.columns)


def to_folders(predictions: str | None, dead_letters: str | None) -> Write | None:
    """Write JSON lines of a stream: ids and labels to one folder, bad rows to another.

    Every batch has a folder of its own, which is replaced if the batch comes again after a crash.
    """

    def write(rows: DataFrame, number: int) -> None:
        def save(selected: DataFrame, folder: str) -> None:
            selected.write.mode("overwrite").json(f"{folder}/batch={number:09}")

        predicted = sf.col("predicted")
        if predictions is not None:
            good = rows.where(predicted.isNotNull())
            save(good.select("id", predicted.alias("labels")), predictions)
        if dead_letters is not None:
            bad = rows.where(predicted.isNull()).select(PLACE, "error", "raw")
            if not bad.isEmpty():
                save(bad, dead_letters)

    return write if predictions is not None or dead_letters is not None else None
