"""Parquet and Arrow IPC tables.

Only the wanted columns are read: of a Parquet file a batch of rows at a time, while an Arrow file
is mapped into memory. Arrow IPC may be in the file or the stream format; standard input takes the
stream format only, and no Parquet, whose index is at the end.

Texts may be any Arrow text type. Labels may be lists of text, a map text → bool, a struct of bools
(one child per label, null is unknown), or text to be split. Ids may be text or integers.
"""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq
from pyarrow import types

from clasher.errors import LabelError, StreamError
from clasher.io.formats import BATCH_BYTES, Held, InputFile, Reading, Value
from clasher.io.label_cells import DoubtfulLabelsError
from clasher.io.lines import BLOCK, opened, readable
from clasher.io.records import Batch, FaultError, missing_column, numbered, unlabelled
from clasher.labels import LabelSets


class WantedColumns:
    """The columns of text, labels and id, which turns rows into batches."""

    def __init__(self, schema: pa.Schema, source: str, reading: Reading) -> None:
        self._source, self._reading = source, reading
        self.paths: dict[str, tuple[str, ...]] = {}  # of the columns of text, labels and id
        fitting = {"text": (_is_text, "text"), "labels": (_is_labels, "labels")}
        for option, field, is_needed in reading.wanted():
            path, kind = find_column(schema, field, source)
            fits, what = fitting.get(option, (_is_id, "text or integers"))
            if not path:
                if is_needed:
                    raise missing_column(source, field, option, schema.names)
            elif fits(kind) or types.is_null(kind):
                self.paths[option] = path
            else:
                problem = f"column {field!r} holds {kind}, not {what}"
                remedy = f"name the right one with --{option} FIELD"
                raise StreamError(f"{source}: {problem}; {remedy}")

    def batches(self, rows: pa.RecordBatch, above: int) -> Iterator[Batch | Held]:
        whole = rows.to_struct_array()
        found = {option: pc.struct_field(whole, path) for option, path in self.paths.items()}
        arrays = {option: getattr(array, "storage", array) for option, array in found.items()}
        # A list, not a generator: check every column, not only up to the first bad one.
        sound = all([self._is_sound(name, array) for name, array in arrays.items()])  # noqa: C419
        start = 0
        while start < rows.num_rows:
            count = min(self._reading.room(), rows.num_rows - start)
            part = {option: array.slice(start, count) for option, array in arrays.items()}
            batch = self._convert(part, count) if sound else None
            if batch is None:
                values = self._values(part, above + start, count)
                batch = self._reading.one_by_one(self._source, values, self._reading.judge)
            yield batch
            start += count

    def _is_sound(self, option: str, array: pa.Array) -> bool:
        """Whether an array holds valid text; raise if its offsets are damaged."""
        try:
            array.validate(full=True)
        except pa.ArrowInvalid as error:
            if types.is_string(array.type) or types.is_large_string(array.type):
                with suppress(pa.ArrowInvalid):
                    array.cast(pa.large_binary()).validate(full=True)
                    return False
            field = ".".join(self.paths[option])
            raise StreamError(f"{self._source}: column {field!r} is damaged: {error}") from error
        return True

    def _convert(self, part: dict[str, pa.Array], count: int) -> Batch | Held | None:
        """Make a batch of good rows, without an object per row; None if one is bad."""
        reading = self._reading
        first = reading.records + 1
        texts = part.get("text", pa.repeat("", count)).cast(pa.large_string())
        if texts.null_count:
            return None
        ids: list[Any] = part["id"].to_pylist() if "id" in part else [None] * count
        ids = numbered(ids, itertools.count(first))
        column = part.get("labels")
        batch: Batch | Held
        try:
            if column is None:
                batch = Batch(ids, texts, unlabelled(len(ids)))
            # Arrow's cast of list views gives wrong offsets, so those go by way of Python objects.
            elif column.type.id in _LISTS:
                sets = LabelSets.of(column.cast(pa.large_list(pa.large_string())))
                batch = Batch(ids, texts, sets)
            else:
                labels = [_plain(value, column.type) for value in column.to_pylist()]
                batch = reading.batch(ids, texts, labels)
        except (LabelError, DoubtfulLabelsError):
            return None
        reading.records += count
        return batch

    def _values(
        self, part: dict[str, pa.Array], above: int, count: int
    ) -> Iterator[tuple[int, int, Value]]:
        for index in range(count):
            self._reading.records += 1
            value: Value
            value = row = {}
            for option, array in part.items():
                field = ".".join(self.paths[option])
                try:
                    row[field] = _plain(array[index].as_py(), array.type)
                except UnicodeDecodeError as error:
                    problem = f"field {field!r} is invalid UTF-8 at byte {error.start + 1}"
                    value = FaultError(problem, raw=msgspec.json.encode(row, enc_hook=str))
                    break
            yield above + index + 1, self._reading.records, value


def find_column(
    schema: pa.Schema, field: str, source: str
) -> tuple[tuple[str, ...], pa.DataType | None]:
    """Find the field of that exact name, or else one inside others; return its path and type."""
    whole = pa.nulls(0, pa.struct(list(schema)))
    for path in ((field,), tuple(field.split("."))):
        if (count := schema.names.count(path[0])) > 1:
            raise StreamError(f"{source} has {count} columns {path[0]!r}; rename them")
        with suppress(pa.ArrowInvalid):
            kind = pc.struct_field(whole, path).type
            return path, getattr(kind, "storage_type", kind)
    return (), None


_TEXTS: Final = {pa.lib.Type_STRING, pa.lib.Type_LARGE_STRING, pa.lib.Type_STRING_VIEW}
_LISTS: Final = {pa.lib.Type_LIST, pa.lib.Type_LARGE_LIST, pa.lib.Type_FIXED_SIZE_LIST}
_VIEWS: Final = {pa.lib.Type_LIST_VIEW, pa.lib.Type_LARGE_LIST_VIEW}


def _is_text(kind: pa.DataType) -> bool:
    return (kind.value_type if types.is_dictionary(kind) else kind).id in _TEXTS


def _is_id(kind: pa.DataType) -> bool:
    return _is_text(kind) or bool(types.is_integer(kind))


def _is_labels(kind: pa.DataType) -> bool:
    if kind.id in _LISTS | _VIEWS:
        return _is_text(kind.value_type) or bool(types.is_null(kind.value_type))
    if types.is_map(kind):
        return _is_text(kind.key_type) and bool(types.is_boolean(kind.item_type))
    if types.is_struct(kind):
        return all(types.is_boolean(kind.field(i).type) for i in range(kind.num_fields))
    return _is_text(kind)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Turn a map into a dict, and drop the unknown labels of a struct."""
    if value is None:
        return None
    if types.is_map(kind):
        return dict(value)
    if types.is_struct(kind):
        return {label: state for label, state in value.items() if state is not None}
    return value


_Pieces: TypeAlias = Iterator[tuple[WantedColumns, pa.RecordBatch]]


def read_table(source: InputFile, reading: Reading) -> Iterator[Batch | Held]:
    """Read a Parquet or Arrow table."""
    pieces = (_parquet if source.kind == "parquet" else _arrow)(source, reading)
    above = 0
    while True:
        with readable(source):
            found = next(pieces, None)
            if found is None:
                return
            columns, piece = found
            piece.validate()  # that buffers are long enough; their content is checked later
        yield from columns.batches(piece, above)
        above += piece.num_rows


def _parquet(source: InputFile, reading: Reading) -> _Pieces:
    if source.is_standard_input:
        raise StreamError("Parquet cannot be read from standard input; write it to a file first")
    # Without pre-buffering and with a buffer, a row group is never in memory as a whole.
    with pq.ParquetFile(source.name, pre_buffer=False, buffer_size=BLOCK) as file:
        columns = WantedColumns(file.schema_arrow, source.name, reading)
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        sizes = [max(one.total_byte_size, 1) / one.num_rows for one in groups if one.num_rows]
        rows = min(reading.batch_size, max(1, int(BATCH_BYTES / max(sizes, default=BATCH_BYTES))))
        paths = list(map(".".join, columns.paths.values()))
        for piece in file.iter_batches(rows, columns=paths, use_threads=False):
            yield columns, piece


def _arrow(source: InputFile, reading: Reading) -> _Pieces:
    if source.is_standard_input:
        with opened(source) as raw, pa.ipc.open_stream(raw) as stream:
            columns = WantedColumns(stream.schema, source.name, reading)
            yield from ((columns, piece) for piece in stream)
        return
    with pa.memory_map(source.name) as file:
        is_file = file.read(6) == b"ARROW1"
        open_table = pa.ipc.open_file if is_file else pa.ipc.open_stream
        file.seek(0)
        schema = open_table(file).schema
        columns = WantedColumns(schema, source.name, reading)
        numbers = sorted({schema.get_field_index(path[0]) for path in columns.paths.values()})
        wanted = pa.ipc.IpcReadOptions(included_fields=numbers)
        file.seek(0)
        table = open_table(file, options=wanted)
        pieces = map(table.get_batch, range(table.num_record_batches)) if is_file else table
        yield from ((columns, piece) for piece in pieces)
