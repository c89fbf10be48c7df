import os
import socket
import threading
from types import SimpleNamespace

import pytest

from clasher.errors import StreamError
from clasher.io.formats import InputFile
from clasher.io.lines import read_blocks, readable
from support.environment import nobody
from tests.io.streams import COMPRESSORS, arrow_file, parquet

LINES = b"".join(b'{"text": "line %d"}\n' % number for number in range(20_000))


def read(path, *arguments):
    return b"".join(read_blocks(InputFile.of(path), *arguments))


@pytest.mark.parametrize("extension", COMPRESSORS)
def test_compressed_bytes_come_out_whole_and_in_blocks(write, extension):
    path = write(f"a.jsonl.{extension}", COMPRESSORS[extension](LINES))
    blocks = list(read_blocks(InputFile.of(path), 1000))
    assert b"".join(blocks) == LINES
    assert max(map(len, blocks)) <= 1000


@pytest.mark.parametrize("extension", COMPRESSORS)
def test_compressed_parts_may_follow_one_another(write, extension):
    part = COMPRESSORS[extension](LINES)
    assert read(write(f"a.jsonl.{extension}", part + part)) == LINES + LINES


@pytest.mark.parametrize("extension", COMPRESSORS)
@pytest.mark.parametrize("keep", [0.001, 0.5, 0.999])
def test_a_truncated_archive_is_reported(write, extension, keep):
    content = COMPRESSORS[extension](os.urandom(10_000) + LINES)
    path = write(f"a.jsonl.{extension}", content[: int(len(content) * keep)])
    with pytest.raises(StreamError, match=r"a\.jsonl\.\w+ ends in the middle of its \w+ data"):
        read(path)


@pytest.mark.parametrize("extension", COMPRESSORS)
def test_data_that_is_not_compressed_is_reported(write, extension):
    with pytest.raises(StreamError, match=r"cannot be read as .*damaged or something else"):
        read(write(f"a.jsonl.{extension}", LINES))


@pytest.mark.parametrize("extension", ["gz", "xz"])
def test_a_flipped_byte_is_reported(write, extension):
    content = bytearray(COMPRESSORS[extension](os.urandom(10_000)))
    content[5_000] ^= 0xFF
    with pytest.raises(StreamError, match="cannot be read as"):
        read(write(f"a.csv.{extension}", bytes(content)))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (COMPRESSORS["gz"](COMPRESSORS["gz"](LINES)), "gzip data"),
        (COMPRESSORS["zst"](COMPRESSORS["zst"](LINES)), "zstd data"),
        (COMPRESSORS["xz"](COMPRESSORS["xz"](LINES)), "xz data"),
        (parquet([("a", "b", None)]), "a Parquet table"),
        (arrow_file([("a", "b", None)]), "an Arrow table"),
        ("text".encode("utf-16"), "UTF-16 text"),
    ],
)
def test_a_wrong_extension_is_reported(write, content, what):
    with pytest.raises(StreamError, match=rf"a\.jsonl is not JSONL: it holds {what}"):
        read(write("a.jsonl", content))


def test_a_file_that_cannot_be_opened_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("a.jsonl")
        with pytest.raises(StreamError, match=r"a\.jsonl cannot be read: No such device"):
            read("a.jsonl")


def test_a_file_without_permission_is_reported(write):
    path = write("a.jsonl", LINES)
    path.chmod(0)
    with nobody(), pytest.raises(StreamError, match=r"a\.jsonl cannot be read: Permission denied"):
        read(path)


def test_a_missing_standard_input_is_reported(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(StreamError, match="no standard input to read"):
        read("-")


def test_the_file_is_closed_when_the_reading_is_given_up(write):
    path = write("a.jsonl", LINES)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    blocks = read_blocks(InputFile.of(path), 10)
    next(blocks)
    blocks.close()
    after = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    assert len(after) == len(before)


def test_a_pause_of_a_live_source_is_passed_on(monkeypatch):
    reader, writer = os.pipe()
    with open(reader, "rb") as raw, open(writer, "wb", buffering=0) as live:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=raw))
        blocks = read_blocks(InputFile.of("-"))
        live.write(b"one\n")
        assert next(blocks) == b"one\n"
        assert next(blocks) == b""
        live.write(b"two\n")
        assert next(blocks) == b"two\n"
        # The pipe is closed from another thread: the source must not wait for a full block.
        closer = threading.Thread(target=live.close)
        assert next(blocks) == b""
        closer.start()
        assert list(blocks) == []
        closer.join()


def test_only_failures_to_read_are_translated():
    with pytest.raises(KeyError), readable(InputFile.of("-")):
        raise KeyError("a mistake of ours")
    with pytest.raises(StreamError, match="cannot be read"), readable(InputFile.of("-")):
        raise OSError("the disk")
