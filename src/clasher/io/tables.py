"""Parquet and Arrow IPC tables.

Only the wanted columns are read. Of a Parquet file a batch of rows is held at a time; an Arrow
file is mapped into memory. Arrow IPC may be in the file or the stream format; standard input takes
the stream format only, and no Parquet, whose index is at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from clasher.errors import StreamError
from clasher.io.blocks import BLOCK, guarded, opened
from clasher.io.columns import WantedColumns
from clasher.io.formats import Source
from clasher.io.reading import BATCH_BYTES, Held, Reading
from clasher.io.records import Batch

_Pieces: TypeAlias = Iterator[tuple[WantedColumns, pa.RecordBatch]]

_FILE_MAGIC = b"ARROW1"


def read_table(source: Source, reading: Reading) -> Iterator[Batch | Held]:
    """Read a Parquet or Arrow table."""
    pieces = _parquet if source.kind == "parquet" else _arrow
    above = 0
    for columns, piece in guarded(source, _checked(pieces(source, reading))):
        yield from columns.batches(piece, above)
        above += piece.num_rows


def _checked(pieces: _Pieces) -> _Pieces:
    """Pieces whose buffers are long enough to be touched; ``WantedColumns`` looks further."""
    for columns, piece in pieces:
        piece.validate()
        yield columns, piece


def _parquet(source: Source, reading: Reading) -> _Pieces:
    if source.is_standard_input:
        raise StreamError("Parquet cannot be read from standard input; write it to a file first")
    # Without pre-buffering and with a buffer, a row group is never in memory as a whole.
    with pq.ParquetFile(source.name, pre_buffer=False, buffer_size=BLOCK) as file:
        columns = WantedColumns(file.schema_arrow, source.name, reading)
        rows = min(reading.batch_size, _rows_within(BATCH_BYTES, file.metadata))
        for piece in file.iter_batches(rows, columns=columns.paths, use_threads=False):
            yield columns, piece


def _rows_within(size: int, metadata: pq.FileMetaData) -> int:
    """How many rows fit in ``size`` bytes, by the averages of the row groups."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    filled = [group for group in groups if group.num_rows > 0]
    rows = [size * group.num_rows // max(group.total_byte_size, 1) for group in filled]
    return max(min(rows, default=1), 1)


def _arrow(source: Source, reading: Reading) -> _Pieces:
    if source.is_standard_input:
        with opened(source) as raw, pa.ipc.open_stream(raw) as stream:
            columns = WantedColumns(stream.schema, source.name, reading)
            for piece in stream:
                yield columns, piece
        return
    with pa.memory_map(source.name) as file:
        is_file = file.read(len(_FILE_MAGIC)) == _FILE_MAGIC
        open_table = pa.ipc.open_file if is_file else pa.ipc.open_stream
        file.seek(0)
        schema = open_table(file).schema
        columns = WantedColumns(schema, source.name, reading)
        wanted = pa.ipc.IpcReadOptions(included_fields=columns.indices(schema))
        file.seek(0)
        table = open_table(file, options=wanted)
        if is_file:
            for index in range(table.num_record_batches):
                yield columns, table.get_batch(index)
        else:
            for piece in table:
                yield columns, piece
