import bz2
import gzip
import lzma

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clasher.cli import streams
from clasher.cli.streams import expected_records
from tests.cli.command import SMALL, jsonl, one_line, records, run, stream

# ── misread ──────────────────────────────────────────────────────────────────────────────────────


LINES = jsonl(records(20))
ROWS = [f"{row['id']},{row['text']},{'|'.join(row['labels'])}" for row in records(20)]
CSV = "\n".join(["id,text,labels", *ROWS]).encode()


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


def documents(*args, stdin=None):
    return next(
        line.split()[1]
        for line in run("evaluate", *args, *SMALL, stdin=stdin).stdout.splitlines()
        if line.startswith("documents")
    )


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd])
@pytest.mark.parametrize(("data", "kind"), [(LINES, "jsonl"), (CSV, "csv")])
def test_compression_is_known_by_its_bytes(tmp_path, compress, data, kind):
    assert documents("-", "--format", kind, stdin=compress(data)) == "20"
    (tmp_path / f"news.{kind}").write_bytes(compress(data))
    assert documents(tmp_path / f"news.{kind}") == "20"


def test_a_broken_end_of_compressed_input_is_reported():
    message = one_line(run("evaluate", "-", stdin=gzip.compress(LINES * 50)[:-40], code=2))
    assert "ends in the middle of its gzip data" in message


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_header_tells_the_delimiter(tmp_path, delimiter):
    path = tmp_path / "news.csv"
    path.write_bytes(CSV.replace(b"|", b"/").replace(b",", delimiter.encode()))
    assert documents(path, "--label-separator", "/") == "20"


def test_another_delimiter_and_encoding_are_named(tmp_path):
    path = tmp_path / "news.csv"
    path.write_bytes(CSV.replace(b",", b":"))
    message = one_line(run("evaluate", path, code=2))
    assert "its columns are 'id:text:labels'" in message
    assert "--delimiter" in message
    assert documents(path, "--delimiter", ":") == "20"
    assert documents("-", "--delimiter", ":", stdin=path.read_bytes()) == "20"
    path.write_bytes("id,text,labels\n1,café,a\n2,thé,b\n".encode("cp1252"))
    for more in ([], ["--on-error", "skip"]):
        message = one_line(run("evaluate", path, *more, code=2))
        assert "--encoding cp1252" in message
        assert ("--on-error skip" in message) is not bool(more)
    assert documents(path, "--encoding", "cp1252") == "2"
    assert "no encoding 'cp0'" in one_line(run("evaluate", path, "--encoding", "cp0", code=2))
    assert "one character" in one_line(run("evaluate", path, "--delimiter", "ab", code=2))


def test_utf_16_is_named_and_read(tmp_path):
    data = LINES.decode().encode("utf-16")
    assert "--encoding utf-16" in one_line(run("evaluate", "-", stdin=data, code=2))
    assert documents("-", "--encoding", "utf-16", stdin=data) == "20"


def test_run_takes_them_too(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(LINES))
    (tmp_path / "b.csv").write_bytes(
        CSV.replace(b",", b":").replace(b"wheat", "blé".encode("cp1252"))
    )
    for at, (name, *more) in enumerate(
        [("a.jsonl",), ("b.csv", "--delimiter", ":", "--encoding", "cp1252")]
    ):
        run(
            "run", "--from", tmp_path / name, "--to", tmp_path / f"{at}.jsonl", "-q", *more, *SMALL,
            "--model", tmp_path / f"m{at}", "--include-text",
        )  # fmt: skip
        assert (tmp_path / f"{at}.jsonl").read_bytes().count(b"\n") == 20
    assert "blé" in (tmp_path / "1.jsonl").read_text()


@pytest.mark.parametrize(
    ("args", "stdin", "expected"),
    [
        (["evaluate", "-"], CSV, "--format csv"),
        (["evaluate", "{folder}"], None, "is a folder; name the files in it"),
        (["evaluate", "{folder}/news.dat"], None, "--format EXT"),
        (
            ["evaluate", "-", "--max-labels", "1"],
            LINES,
            "raise --max-labels, or use --on-full evict",
        ),
        (["evaluate", "-", "--dimensions", "1"], LINES, "--dimensions must be an integer from 2"),
        (["evaluate", "-", "--half-life", "-1"], LINES, "--half-life must be"),
        (["clusters", "-", "--k", "0"], LINES, "--k must be an integer from 1"),
    ],
)
def test_an_error_names_the_option(tmp_path, args, stdin, expected):
    message = one_line(run(*(arg.format(folder=tmp_path) for arg in args), stdin=stdin, code=2))
    assert expected in message
    assert "parameter of" not in message


def test_a_missing_stream_is_standard_input_perhaps(tmp_path):
    assert "- for standard input" in run("predict", "--model", "m", stdin=LINES, code=2).stderr


def test_labels_that_are_there_name_the_command(tmp_path):
    run("learn", "-", "-m", tmp_path / "m", *SMALL, stdin=LINES)
    message = one_line(run("labels", tmp_path / "m", "rename", "grain", "metal", code=2))
    assert "clasher labels MODEL merge" in message


# ── totals ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def table():
    return pa.table({"text": [row["text"] for row in records(30)]})


def test_tables_know_their_rows(tmp_path, table):
    parquet, arrow = str(tmp_path / "a.parquet"), str(tmp_path / "a.arrow")
    pq.write_table(table, parquet, row_group_size=7)
    with pa.ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table, max_chunksize=8)
    assert expected_records([parquet]) == 30
    assert expected_records([arrow]) == 30
    assert expected_records([parquet, arrow]) == 60
    assert expected_records([parquet, arrow], limit=50) == 50
    assert expected_records([parquet], limit=50) == 30


def test_lines_of_a_short_file_are_counted(tmp_path):
    path = stream(tmp_path, 40)
    assert expected_records([path]) == 40
    (tmp_path / "open.jsonl").write_bytes(b"{}\n{}")
    assert expected_records([str(tmp_path / "open.jsonl")]) == 2


def test_lines_of_a_long_file_are_estimated(tmp_path, monkeypatch):
    path = stream(tmp_path, 400)
    monkeypatch.setattr(streams, "SAMPLE", 1000)
    assert expected_records([path]) == pytest.approx(400, rel=0.2)
    monkeypatch.setattr(streams, "SAMPLE", 10)  # not even one line
    assert expected_records([path]) is None


def test_the_size_of_compressed_files_is_unknown(tmp_path, table):
    path = stream(tmp_path, 40)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    with pa.ipc.new_stream(str(tmp_path / "stream.arrow"), table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "broken.parquet").write_bytes(b"rubbish")
    for other in ("a.jsonl.gz", "stream.arrow", "broken.parquet", "missing.jsonl"):
        assert expected_records([path, str(tmp_path / other)]) is None
    assert expected_records([path, "-"]) is None
    assert expected_records(["-"], limit=7) == 7


def test_the_format_may_be_named(tmp_path):
    path = stream(tmp_path, 40, name="news.txt")
    assert expected_records([path], format="jsonl") == 40
