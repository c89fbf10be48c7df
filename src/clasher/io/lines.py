"""Lines of a text file, in groups that fit a batch, none longer than a limit.

Bytes of a file or of standard input, decompressed, block by block.
"""

from __future__ import annotations

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
from typing import Any, BinaryIO, Final, TypeVar

import pyarrow as pa

from clasher.errors import StreamError
from clasher.io.formats import (
    BATCH_BYTES,
    MAGIC_BYTES,
    Reading,
    Source,
    compression_of,
    may_be_compressed,
)
from clasher.io.records import FaultError

T = TypeVar("T")

BLOCK: Final = 1 << 20

# Damaged tables may also have column names that are not Unicode text.
_UNREADABLE: Final = (OSError, EOFError, lzma.LZMAError, pa.ArrowException, UnicodeDecodeError)

_MAGIC: Final = {
    b"\x1f\x8b": "gzip data; decompress it once more",
    b"\x28\xb5\x2f\xfd": "zstd data; decompress it once more",
    b"\xfd7zXZ\x00": "xz data; decompress it once more",
    b"BZh91AY&SY": "bzip2 data; decompress it once more",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"PAR1\x15": "a Parquet table; say --format parquet, which needs a file",
    b"ARROW1\x00": "an Arrow table; say --format arrow",
    b"\xff\xfe": "UTF-16 text; say --encoding utf-16",
    b"\xfe\xff": "UTF-16 text; say --encoding utf-16",
}


def read_blocks(source: Source, size: int = BLOCK) -> Iterator[bytes]:
    """The decompressed bytes of a text file, as UTF-8.

    An empty block says that nothing more is there for now: a live source has paused.
    """
    begun = False
    for block in guarded(source, _blocks(source, size)):
        if not begun:
            _refuse_binary(source, block)
            begun = True
        yield block


def sniffed(source: Source) -> Source:
    """Tell how a file is compressed by its first bytes where its name does not."""
    if source.compression or source.is_standard_input or source.kind in ("parquet", "arrow"):
        return source
    try:
        if not os.path.isfile(source.name):
            return source
        with open(source.name, "rb") as file:
            return replace(source, compression=compression_of(file.read(MAGIC_BYTES)))
    except OSError:
        return source  # whoever reads it will say what is wrong


def guarded(source: Source, items: Iterator[T]) -> Iterator[T]:
    """Pass ``items`` on; what goes wrong in getting them becomes one ``StreamError``."""
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except _UNREADABLE as error:
            raise StreamError(_explain(source, error)) from error
        yield item


@contextlib.contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """The raw bytes of a source; standard input is left open."""
    if source.is_standard_input:
        if sys.stdin is None:
            raise StreamError("there is no standard input to read; name a file instead of -")
        yield sys.stdin.buffer
    else:
        with open(source.name, "rb") as raw:
            yield raw


def _blocks(source: Source, size: int) -> Iterator[bytes]:
    with opened(source) as raw:
        begun = Begun(raw, size)
        found = replace(source, compression=source.compression or compression_of(begun.head))
        blocks = guarded(found, _pieces(begun, found, size))
        yield from blocks if found.encoding is None else _recoded(blocks, found)


def _pieces(raw: Begun, source: Source, size: int) -> Iterator[bytes]:
    if source.compression is None:
        while block := raw.read1(size):
            yield block
            if _has_paused(raw):
                yield b""
    else:
        stream = _decompressed(raw, source)
        while block := stream.read(size):
            yield block


def _decompressed(raw: Any, source: Source) -> Any:
    if source.compression == "xz":
        return lzma.open(raw)
    if source.compression == "bz2":
        return bz2.open(raw)
    return pa.CompressedInputStream(raw, source.compression)


def _recoded(blocks: Iterator[bytes], source: Source) -> Iterator[bytes]:
    """Turn text of another encoding into UTF-8."""
    assert source.encoding is not None
    decoder = codecs.getincrementaldecoder(source.encoding)()
    try:
        for block in blocks:
            recoded = decoder.decode(block).encode()
            if recoded or not block:
                yield recoded
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        raise StreamError(
            f"{source.name} is not {source.encoding} text: {error}; name another with --encoding"
        ) from error


class Begun(io.RawIOBase):
    """Bytes whose first ones were looked at already."""

    def __init__(self, raw: Any, size: int) -> None:
        self._raw = raw
        self.head = more = raw.read1(size)
        while more and may_be_compressed(self.head):
            more = raw.read1(size)
            self.head += more
        self._left, self._has_ended = self.head, not more  # a terminal is asked once for its end

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def fileno(self) -> int:
        """The file behind it, to wait for."""
        return int(self._raw.fileno())

    def read1(self, size: int) -> bytes:
        """Read what is there, ``size`` bytes or fewer."""
        if self._left:
            taken: bytes = self._left[:size]
            self._left = self._left[size:]
            return taken
        return b"" if self._has_ended else bytes(self._raw.read1(size))

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as bytes are there."""
        taken = self.read1(len(buffer))
        buffer[: len(taken)] = taken
        return len(taken)


def _has_paused(raw: Any) -> bool:
    """Whether a read would wait; a file never does, and what cannot be asked is taken for one."""
    try:
        return not select.select([raw], [], [], 0)[0]
    except (OSError, ValueError):
        return False


def _refuse_binary(source: Source, block: bytes) -> None:
    for magic, what in _MAGIC.items():
        if block.startswith(magic):
            name = "standard input" if source.is_standard_input else source.name
            raise StreamError(f"{name} is not {source.kind.upper()}: it holds {what}")


def _explain(source: Source, error: Exception) -> str:
    if source.compression and (isinstance(error, EOFError) or "Truncated" in str(error)):
        return f"{source.name} ends in the middle of its {source.compression} data: is it complete?"
    if isinstance(error, OSError) and error.strerror and error.errno:
        return f"{source.name} cannot be read: {error.strerror}"
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    form = source.compression or source.kind
    return f"{source.name} cannot be read as {form}, it is damaged or something else: {reason}"


BOM: Final = b"\xef\xbb\xbf"
HEAD: Final = 4096
"""How much is kept of a line that is too long."""


class Overlong(bytes):
    """Stands in the place of a line that is too long: empty, its beginning is in ``head``."""

    head: bytes
    size: int

    @classmethod
    def of(cls, head: bytes, size: int) -> Overlong:
        """The stand-in for a line of ``size`` bytes that begins with ``head``."""
        line = cls()
        line.head, line.size = head, size
        return line


def line_groups(source: Source, reading: Reading) -> Iterator[list[bytes]]:
    """The lines of ``source`` without their line feeds, at most ``reading.room()`` at a time."""
    # Blocks no larger than the limit, so that only a line across blocks can exceed it.
    blocks = read_blocks(source, min(BLOCK, reading.longest))
    return group(split_lines(blocks, reading.longest), reading.room)


def split_lines(
    blocks: Iterable[bytes], longest: int, *, is_beginning: bool = True
) -> Iterator[list[bytes]]:
    r"""Complete lines, block by block; an empty list for an empty block (see ``read_blocks``).

    Only at the beginning of a file can there be a byte order mark.

    >>> list(split_lines([b"one\ntw", b"o\nthree"], longest=100))
    [[b'one'], [b'two'], [b'three']]
    """
    rest = _Rest(longest, is_beginning)
    for block in blocks:
        lines = block.split(b"\n")
        rest.append(lines[0])
        if len(lines) > 1:
            lines[0] = rest.take()
            rest.append(lines.pop())
            yield lines
        elif not block:
            yield []
    if rest.size:
        yield [rest.take()]


def group(
    chunks: Iterable[list[bytes]], room: Callable[[], int], enough: int = BATCH_BYTES
) -> Iterator[list[bytes]]:
    """Regroup lines to ``room()`` at a time; fewer at a pause, the end, or past ``enough`` bytes.

    >>> list(group([[b"a"], [b"b", b"c"], [], [b"d"]], room=lambda: 2))
    [[b'a', b'b'], [b'c'], [b'd']]
    """
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


def too_long(longest: int) -> FaultError:
    """What is wrong with a line or row past the limit."""
    return FaultError(
        f"it is longer than {longest:,} bytes",
        "is a line end or a closing quote missing? Split it, or pass over it with --on-error skip",
    )


class _Rest:
    """The line that the end of a block cut off, collected piece by piece."""

    def __init__(self, longest: int, is_beginning: bool) -> None:
        self.longest = longest
        self.pieces: list[bytes] = []
        self.size = 0
        self.first = is_beginning

    def append(self, piece: bytes) -> None:
        if self.size <= self.longest:
            self.pieces.append(piece)
        self.size += len(piece)
        if self.size > self.longest:
            self.pieces = [b"".join(self.pieces)[:HEAD]]

    def take(self) -> bytes:
        line = b"".join(self.pieces)
        if self.size > self.longest:
            line = Overlong.of(line, self.size)
        elif self.first:
            line = line.removeprefix(BOM)
        self.pieces, self.size, self.first = [], 0, False
        return line
