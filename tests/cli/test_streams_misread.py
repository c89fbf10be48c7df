"""Files that are not what their name says are read, or an error names the option that helps."""

import bz2
import gzip
import lzma

import pyarrow as pa
import pytest

from tests.cli.command import SMALL, jsonl, one_line, records, run

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
