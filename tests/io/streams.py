"""Writers of every format, and a reader that gives plain Python back."""

from __future__ import annotations

import csv
import gzip
import io
import lzma
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from clasher.io import open_stream
from clasher.labels import PARTIAL, UNLABELLED, LabelSets

COLUMNS = ("id", "text", "labels")
Row = tuple[Any, str, Any]


def plain_labels(sets: LabelSets) -> list[Any]:
    """Sets, mappings label → bool and None, as they were before they became arrays."""
    found: list[Any] = []
    for document, known in enumerate(sets.known.tolist()):
        inside = slice(sets.indptr[document], sets.indptr[document + 1])
        names = [sets.names[i] for i in sets.ids[inside]]
        if known == UNLABELLED:
            found.append(None)
        elif known == PARTIAL:
            found.append(dict(zip(names, sets.yes[inside].tolist(), strict=True)))
        else:
            found.append(set(names))
    return found


def read_rows(paths: Any, *arguments: Any, **options: Any) -> list[Row]:
    """The whole stream as a list of (id, text, labels)."""
    rows: list[Row] = []
    for batch in open_stream(paths, *arguments, **options):
        assert len(batch) == len(batch.ids) == len(batch.texts) == len(batch.labels) > 0
        assert batch.texts.type == pa.large_string()
        batch.texts.validate(full=True)
        rows += zip(batch.ids, batch.texts.to_pylist(), plain_labels(batch.labels), strict=True)
    return rows


def jsonl(rows: Sequence[Row]) -> bytes:
    return msgspec.json.Encoder().encode_lines(
        [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    )


def delimited(rows: Sequence[Row], delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter)
    writer.writerow(COLUMNS)
    for own, body, labels in rows:
        writer.writerow([own, body, "" if labels is None else "|".join(labels) or "|"])
    return text.getvalue().encode()


def table(rows: Sequence[Row], labels: pa.DataType | None = None) -> pa.Table:
    ids, texts, sets = zip(*rows, strict=True) if rows else ((), (), ())
    kind = pa.list_(pa.string()) if labels is None else labels
    values = [list(value) if isinstance(value, set) else value for value in sets]
    return pa.table(
        {"id": list(ids), "text": pa.array(texts, pa.string()), "labels": pa.array(values, kind)}
    )


def parquet(rows: Sequence[Row]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table(rows), sink, row_group_size=3)
    return sink.getvalue()


def arrow_file(rows: Sequence[Row]) -> bytes:
    return _ipc(rows, pa.ipc.new_file)


def arrow_stream(rows: Sequence[Row]) -> bytes:
    return _ipc(rows, pa.ipc.new_stream)


def _ipc(rows: Sequence[Row], new: Callable[..., Any]) -> bytes:
    sink = io.BytesIO()
    content = table(rows)
    with new(sink, content.schema) as writer:
        writer.write_table(content, max_chunksize=3)
    return sink.getvalue()


def zstd(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return bytes(sink.getvalue())


WRITERS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "jsonl": jsonl,
    "ndjson": jsonl,
    "json": jsonl,
    "csv": lambda rows: delimited(rows, ","),
    "tsv": lambda rows: delimited(rows, "\t"),
    "parquet": parquet,
    "arrow": arrow_stream,
    "feather": arrow_file,
}
COMPRESSORS = {"gz": gzip.compress, "zst": zstd, "xz": lzma.compress}
ROWS: list[Row] = [
    ("a", "Öl prices rise", {"oil", "energy"}),
    ("b", "", None),
    ("c", 'He said: "sell,\r\nsell"\tnow', set()),
    ("d", "gold\nfalls", {"gold"}),
]
