"""Lines of JSON as rows of documents, read on executors by the reader of the command line.

So fields, labels and bad records mean the same here as everywhere. A line that is no record becomes
a row without text that says what is wrong: it can be counted, set aside, or end the job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, BooleanType, DataType, MapType, StringType, StructField
from pyspark.sql.types import StructType as Schema

from clasher.errors import StreamError
from clasher.io.cells import DoubtfulLabelsError
from clasher.io.jsonl import RecordDecoder
from clasher.io.judging import FaultError
from clasher.io.records import Fields, Record

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
