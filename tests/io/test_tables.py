import random

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from clasher.errors import StreamError
from clasher.io import BadRecords, open_stream
from clasher.io import tables as tables_module
from tests.io.streams import WRITERS, arrow_file, arrow_stream, parquet, read_rows, table

ROWS = [(f"k{n}", f"document {n}", {f"label {n % 3}"}) for n in range(20)]


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
@pytest.mark.parametrize("batch_size", [1, 3, 7, 1000])
def test_rows_come_in_order_whatever_the_batches(write, name, batch_size):
    path = write(name, WRITERS[name[2:]](ROWS))
    assert read_rows(path, batch_size=batch_size) == ROWS


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
def test_both_arrow_formats_may_be_compressed_inside(tmp_path, compression):
    path = tmp_path / "a.feather"
    pyarrow.feather.write_feather(table(ROWS), path, compression=compression)
    assert read_rows(path) == ROWS


def test_an_arrow_stream_may_come_from_standard_input(stdin):
    stdin(arrow_stream(ROWS))
    assert read_rows("-", format="arrow") == ROWS


def test_parquet_does_not_come_from_standard_input(stdin):
    stdin(parquet(ROWS))
    with pytest.raises(StreamError, match="Parquet cannot be read from standard input"):
        read_rows("-", format="parquet")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1", b'{"text": "a"}\n', b"\0" * 1000])
def test_files_of_another_format_are_reported(write, name, content):
    with pytest.raises(StreamError, match=rf"{name} cannot be read as|no record in .*{name}"):
        read_rows(write(name, content))


@pytest.mark.parametrize("writer", [parquet, arrow_file, arrow_stream])
def test_truncated_tables_are_reported_or_end_at_a_whole_batch(write, writer):
    content = writer(ROWS)
    name = "a.parquet" if writer is parquet else "a.arrow"
    for size in range(0, len(content) - 1, 97):
        path = write(name, content[:size])
        try:
            rows = read_rows(path)
        except StreamError:
            continue
        # The stream format has no end mark that must be there.
        assert writer is arrow_stream
        assert rows == ROWS[: len(rows)]


@pytest.mark.parametrize("writer", [parquet, arrow_file, arrow_stream])
def test_damaged_tables_never_crash(write, writer):
    content = writer(ROWS)
    name = "a.parquet" if writer is parquet else "a.arrow"
    notes = 0
    for seed in range(300):
        chance = random.Random(seed)
        damaged = bytearray(content)
        for _ in range(chance.choice([1, 1, 4])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read_rows(write(name, bytes(damaged)), on_error=BadRecords("skip"))
        except StreamError:
            notes += 1
    assert notes > 0


def test_a_large_row_group_is_not_held_as_a_whole(tmp_path):
    texts = [f"{n} " * 500 for n in range(20_000)]
    path = tmp_path / "a.parquet"
    content = pa.table({"text": texts, "labels": pa.nulls(len(texts))})
    pq.write_table(content, path, row_group_size=10**6, compression="none", use_dictionary=False)
    assert path.stat().st_size > 40_000_000
    del content, texts
    before = pa.total_allocated_bytes()
    most = 0
    for batch in open_stream(path, batch_size=100):
        most = max(most, pa.total_allocated_bytes() - before)
        assert len(batch) <= 100
    assert most < 10_000_000


def test_batches_are_smaller_where_rows_are_large(tmp_path, monkeypatch):
    monkeypatch.setattr(tables_module, "BATCH_BYTES", 10_000)
    path = tmp_path / "a.parquet"
    texts = [f"{n} " * 1000 for n in range(40)]
    pq.write_table(pa.table({"text": texts, "labels": pa.nulls(40)}), path, use_dictionary=False)
    sizes = [len(batch) for batch in open_stream(path)]
    assert sum(sizes) == 40
    assert max(sizes) <= 5


def test_an_empty_row_group_does_not_make_batches_small(tmp_path):
    path = tmp_path / "a.parquet"
    content = table(ROWS)
    with pq.ParquetWriter(path, content.schema) as writer:
        for part in (content[:0], content, content[:0]):
            writer.write_table(part)
    assert [len(batch) for batch in open_stream(path)] == [len(ROWS)]
