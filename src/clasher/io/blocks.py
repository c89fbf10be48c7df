"""Bytes of a file or of standard input, decompressed, block by block."""

from __future__ import annotations

import contextlib
import lzma
import select
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, TypeVar

import pyarrow as pa

from clasher.errors import StreamError
from clasher.io.formats import Source

T = TypeVar("T")

BLOCK: Final = 1 << 20

# Damaged tables may also have column names that are not Unicode text.
_UNREADABLE: Final = (OSError, EOFError, lzma.LZMAError, pa.ArrowException, UnicodeDecodeError)

_MAGIC: Final = {
    b"\x1f\x8b": "gzip data (.gz)",
    b"\x28\xb5\x2f\xfd": "zstd data (.zst)",
    b"\xfd7zXZ\x00": "xz data (.xz)",
    b"BZh91AY&SY": "bzip2 data",
    b"PK\x03\x04": "a zip archive",
    b"PAR1\x15": "a Parquet table (.parquet)",
    b"ARROW1\x00": "an Arrow table (.arrow)",
    b"\xff\xfe": "UTF-16 text; convert it to UTF-8",
    b"\xfe\xff": "UTF-16 text; convert it to UTF-8",
}


def read_blocks(source: Source, size: int = BLOCK) -> Iterator[bytes]:
    """The decompressed bytes of a text file.

    An empty block says that nothing more is there for now: a live source has paused.
    """
    begun = False
    for block in guarded(source, _blocks(source, size)):
        if not begun:
            _refuse_binary(source, block)
            begun = True
        yield block


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
        if source.compression is None:
            while block := raw.read1(size):  # type: ignore[attr-defined]
                yield block
                if _has_paused(raw):
                    yield b""
        else:
            stream = _decompressed(raw, source)
            while block := stream.read(size):
                yield block


def _decompressed(raw: BinaryIO, source: Source) -> Any:
    if source.compression == "xz":
        return lzma.open(raw)
    return pa.CompressedInputStream(raw, source.compression)


def _has_paused(raw: BinaryIO) -> bool:
    """Whether a read would wait; a file never does, and what cannot be asked is taken for one."""
    try:
        return not select.select([raw], [], [], 0)[0]
    except (OSError, ValueError):
        return False


def _refuse_binary(source: Source, block: bytes) -> None:
    for magic, what in _MAGIC.items():
        if block.startswith(magic):
            raise StreamError(f"{source.name} is not {source.kind.upper()}: it holds {what}")


def _explain(source: Source, error: Exception) -> str:
    if source.compression and (isinstance(error, EOFError) or "Truncated" in str(error)):
        return f"{source.name} ends in the middle of its {source.compression} data: is it complete?"
    if isinstance(error, OSError) and error.strerror and error.errno:
        return f"{source.name} cannot be read: {error.strerror}"
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    form = source.compression or source.kind
    return f"{source.name} cannot be read as {form}, it is damaged or something else: {reason}"
