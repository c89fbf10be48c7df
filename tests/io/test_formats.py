from pathlib import Path

import pytest

from clasher.errors import StreamError
from clasher.io.formats import InputFile


@pytest.mark.parametrize(
    ("path", "format_", "kind", "compression"),
    [
        ("a.jsonl", None, "jsonl", None),
        ("a.b.NDJSON", None, "jsonl", None),
        ("a.json.GZ", None, "jsonl", "gzip"),
        ("folder.d/a.csv.zst", None, "csv", "zstd"),
        ("a.tsv.xz", None, "tsv", "xz"),
        ("a.parquet", None, "parquet", None),
        ("a.arrow", None, "arrow", None),
        ("a.feather", None, "arrow", None),
        ("-", None, "jsonl", None),
        ("-", "csv", "csv", None),
        ("-", "csv.gz", "csv", "gzip"),
        ("-", ".tsv", "tsv", None),
        ("a.txt", "csv", "csv", None),
        ("a.txt.gz", "csv", "csv", "gzip"),
        ("a.gz", "jsonl", "jsonl", "gzip"),
        ("a", "jsonl.xz", "jsonl", "xz"),
        ("a.csv", "jsonl", "jsonl", None),
    ],
)
def test_the_extension_tells_the_format_unless_given(path, format_, kind, compression):
    assert InputFile.of(path, format_) == InputFile(path, kind, compression)


@pytest.mark.parametrize("path", ["a.txt", "a", "a.gz", "jsonl", ".jsonl.d/a", "a.jsonl.lz4", ""])
def test_an_unknown_extension_lists_the_known_ones(path):
    with pytest.raises(StreamError, match=r"the extension of .* is unknown; known are \.jsonl"):
        InputFile.of(path)


@pytest.mark.parametrize("format_", ["xls", "", "gz", "jsonl.lz4"])
def test_an_unknown_format_lists_the_known_ones(format_):
    with pytest.raises(StreamError, match=r"is unknown; known are \.jsonl"):
        InputFile.of("-", format_)


@pytest.mark.parametrize("path", ["a.parquet.gz", "a.arrow.zst", "a.feather.xz"])
def test_tables_are_not_compressed_as_a_whole(path):
    with pytest.raises(StreamError, match="compressed inside, not as a whole; decompress it first"):
        InputFile.of(path)


def test_a_path_may_be_a_path():
    assert InputFile.of(Path("news") / "a.csv").name == "news/a.csv"
    assert InputFile.of("./-", "csv").is_standard_input is False
