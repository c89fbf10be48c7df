"""Lines of a text file, in groups that fit a batch, none longer than a limit.

Files and standard input are decompressed and read block by block.
"""

import bz2
import codecs
import contextlib
import io
import lzma
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pyarrow as pa

from clasher.errors import StreamError
from clasher.io.formats import BATCH_BYTES, MAGIC, InputFile, Reading, compression_of
from clasher.io.records import FaultError

BLOCK: Final = 1 << 20
BOM: Final = b"\xef\xbb\xbf"
HEAD: Final = 4096  # bytes kept of a line that is too long

# Damaged tables may also have column names that are not Unicode text.
_UNREADABLE: Final = (OSError, EOFError, lzma.LZMAError, pa.ArrowException, UnicodeDecodeError)

_BINARY: Final = {
    **{magic: f"{kind} data; decompress it once more" for magic, kind in MAGIC.items()},
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"PAR1\x15": "a Parquet table; say --format parquet, which needs a file",
    b"ARROW1\x00": "an Arrow table; say --format arrow",
    b"\xff\xfe": "UTF-16 text; say --encoding utf-16",
    b"\xfe\xff": "UTF-16 text; say --encoding utf-16",
}


def line_groups(file: InputFile, reading: Reading) -> Iterator[list[bytes]]:
    """Read lines without their line feeds, at most ``reading.room()`` at a time."""
    # Blocks no larger than the limit, so that only a line across blocks can exceed it.
    blocks = read_blocks(file, min(BLOCK, reading.longest))
    return group(split_lines(blocks, reading.longest), reading.room)


def read_blocks(file: InputFile, size: int = BLOCK) -> Iterator[bytes]:
    """Read a text file, decompressed and as UTF-8; an empty block means that a source pauses."""
    with readable(file), opened(file) as raw:
        head = more = raw.read1(size)
        while more and any(magic.startswith(head) for magic in MAGIC if magic != head):
            more = raw.read1(max(1, size - len(head)))  # needed to know the compression
            head += more
        file = replace(file, compression=file.compression or compression_of(head))
        with readable(file):
            # A terminal signals its end once: do not read on after it.
            blocks = _pieces(head, raw if more else io.BytesIO(), file.compression, size)
            if file.encoding is not None:
                blocks = _recoded(blocks, file)
            for number, block in enumerate(blocks):
                what = None if number else next(filter(block.startswith, _BINARY), None)
                if what is not None:
                    name = "standard input" if file.is_standard_input else file.name
                    kind = file.kind.upper()
                    raise StreamError(f"{name} is not {kind}: it holds {_BINARY[what]}")
                yield block


def sniffed(file: InputFile) -> InputFile:
    """Find the compression of a file by its first bytes if its name does not tell."""
    if file.compression or file.is_standard_input or file.kind in ("parquet", "arrow"):
        return file
    with contextlib.suppress(OSError):  # its reader will report what is wrong
        if os.path.isfile(file.name):
            with open(file.name, "rb") as raw:
                return replace(file, compression=compression_of(raw.read(10)))
    return file


@contextlib.contextmanager
def readable(file: InputFile) -> Iterator[None]:
    """Turn errors of reading into one ``StreamError``."""
    try:
        yield
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        form = file.compression or file.kind
        problem = f"cannot be read as {form}, it is damaged or something else: {reason}"
        if file.compression and (isinstance(error, EOFError) or "Truncated" in reason):
            problem = f"ends in the middle of its {file.compression} data: is it complete?"
        elif isinstance(error, OSError) and error.strerror and error.errno:
            problem = f"cannot be read: {error.strerror}"
        raise StreamError(f"{file.name} {problem}") from error


@contextlib.contextmanager
def opened(file: InputFile) -> Iterator[Any]:
    """Open the raw bytes; standard input stays open."""
    if file.is_standard_input:
        if sys.stdin is None:
            raise StreamError("there is no standard input to read; name a file instead of -")
        yield sys.stdin.buffer
    else:
        with open(file.name, "rb") as raw:
            yield raw


def _pieces(head: bytes, raw: Any, compression: str | None, size: int) -> Iterator[bytes]:
    if compression is None:
        while head:
            yield head
            has_paused = False
            with contextlib.suppress(OSError, ValueError):  # of what select does not take
                has_paused = not select.select([raw], [], [], 0)[0]
            if has_paused:  # a read would wait; a file never does
                yield b""
            head = raw.read1(size)
        return
    openers: dict[str, Any] = {"xz": lzma.open, "bz2": bz2.open}
    opener = openers.get(compression, partial(pa.CompressedInputStream, compression=compression))
    stream = opener(_Rejoined(head, raw))
    while block := stream.read(size):
        yield block


def _recoded(blocks: Iterator[bytes], file: InputFile) -> Iterator[bytes]:
    """Convert text of another encoding to UTF-8."""
    assert file.encoding is not None
    decoder = codecs.getincrementaldecoder(file.encoding)()
    try:
        for block in blocks:
            recoded = decoder.decode(block).encode()
            if recoded or not block:
                yield recoded
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        raise StreamError(
            f"{file.name} is not {file.encoding} text: {error}; name another with --encoding"
        ) from error


class _Rejoined(io.RawIOBase):
    """Bytes that were read already, and those that follow."""

    def __init__(self, head: bytes, raw: Any) -> None:
        self._head, self._raw = head, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        taken = self._head[: len(buffer)] or self._raw.read1(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


class Overlong(bytes):
    """An empty stand-in for a line that is too long; ``head`` is its beginning."""

    head: bytes
    size: int


def split_lines(
    blocks: Iterable[bytes], longest: int, *, is_beginning: bool = True
) -> Iterator[list[bytes]]:
    """Split blocks into complete lines; an empty block gives an empty list."""
    pieces: list[bytes] = []  # of a line that is cut by the ends of blocks
    size = 0

    def add(piece: bytes) -> None:
        nonlocal size, pieces
        if size <= longest:
            pieces.append(piece)
        size += len(piece)
        if size > longest:
            pieces = [b"".join(pieces)[:HEAD]]

    def take() -> bytes:
        nonlocal size, is_beginning
        line = b"".join(pieces)
        if size > longest:
            head, line = line, Overlong()
            line.head, line.size = head, size
        elif is_beginning:
            line = line.removeprefix(BOM)
        pieces.clear()
        size, is_beginning = 0, False
        return line

    for block in blocks:
        lines = block.split(b"\n")
        add(lines[0])
        if len(lines) > 1:
            lines[0] = take()
            add(lines.pop())
            yield lines
        elif not block:
            yield []
    if size:
        yield [take()]


def group(
    chunks: Iterable[list[bytes]], room: Callable[[], int], enough: int = BATCH_BYTES
) -> Iterator[list[bytes]]:
    """Group lines ``room()`` at a time; fewer at a pause, the end, or past ``enough`` bytes."""
    pending: list[bytes] = []
    size = 0
    for lines in chunks:
        pending += lines
        size += sum(map(len, lines))
        start = 0
        while len(pending) - start >= (some := room()):
            yield pending[start : start + some]
            start += some
            size = 0
        del pending[:start]
        if pending and (not lines or size > enough):
            yield pending
            pending, size = [], 0
    if pending:
        yield pending


def too_long(longest: int, head: bytes | None = None) -> FaultError:
    """Return what is wrong with a line or row past the limit."""
    remedy = "is a line end or a closing quote missing? Split it, or skip it with --on-error skip"
    return FaultError(f"it is longer than {longest:,} bytes", remedy, head)
