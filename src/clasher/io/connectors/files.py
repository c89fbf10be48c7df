"""Files, folders and standard input: read to their end, followed or watched; written line by line.

A watched folder reads each file once, in the order of names. Rename a file into it when it is
complete; hidden files and those of an unknown extension are ignored. The position holds the names
of files that were read, as long as they are there.

A resumed run cuts its output file back to its snapshot, so that each output is in it once.

Standard input and output hold JSON lines. A pipe cannot be read again: a killed run loses what it
read since its last snapshot, unless that is sent once more.
"""

from __future__ import annotations

import errno
import os
import select
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, Final

from clasher import durable
from clasher.errors import StreamError, UnreachableError
from clasher.io.connectors import resumed_file
from clasher.io.connectors.resumed_file import POLL, ChangedError, Lines, Resumed, resumed
from clasher.io.formats import LONGEST_RECORD, InputFile, compression_of
from clasher.io.jsonl import Decoder
from clasher.io.label_cells import DoubtfulLabelsError
from clasher.io.lines import sniffed
from clasher.io.protocol import Caller, Chunk, Output, Poison, Position, Sink, Source
from clasher.io.records import Batch, Fields
from clasher.io.registry import Address
from clasher.io.writers import failure, print_lines

FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def file_source(address: Address, fields: Fields) -> Source:
    """Make a source of a file or a watched folder."""
    return (FolderSource if address.is_folder else FileSource)(address, fields)


class Reader(Source):
    """A source that has a file open."""

    _reading: Lines | Resumed | None = None

    def read(self, most: int, seconds: float) -> Chunk | None:
        assert self._reading is not None
        chunk = self._reading.read(most, seconds)
        self.is_over = self._reading.is_over
        return chunk

    def close(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None


class FileSource(Reader):
    """A file of records, in any format that ``clasher.io.files`` knows.

    Options: ``format=EXT`` for a file with another extension; ``follow=yes`` waits for more at the
    end of JSON lines, and ``on_loss=skip`` then goes on if a rotated file is gone; ``delimiter``
    and ``encoding`` as in ``open_stream``.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["format", "follow", "on_loss", "delimiter", "encoding"])
        self.name, self.fields = os.path.realpath(address.path), fields
        how = map(address.options.get, ("format", "delimiter", "encoding"))
        self._file = InputFile.of(address.path, *how)
        self._follow, self._skips = address.flag("follow"), address.skips_losses

    def open(self, position: Position, caller: Caller) -> None:
        self.close()
        file, fields = sniffed(self._file), self.fields
        if not self._follow:
            self._reading = resumed(file, fields, position)
        elif file.kind == "jsonl" and file.compression is None and file.encoding is None:
            self._reading = resumed_file.Followed(file, fields, position, caller, skips=self._skips)
        else:
            raise StreamError(f"{file.name}: only uncompressed JSON lines in UTF-8 can be followed")

    def identity(self) -> str | None:
        return None if self._follow else resumed_file.content_identity(self._file.name)

    def same(self, identity: str) -> bool:
        length = identity.removeprefix("sha256:").partition(":")[0]
        if self._follow or not length.isdecimal():
            return False
        return resumed_file.content_identity(self._file.name, int(length)) == identity


class FileSink(Sink):
    """A growing file of JSON lines, synced to disk with every snapshot."""

    def __init__(self, address: Address) -> None:
        address.check_options([])
        self.name, self._path = os.path.realpath(address.path), address.path
        self._file: BinaryIO | None = None

    @classmethod
    def to(cls, path: str | os.PathLike[str]) -> FileSink:
        name = os.fspath(path)
        return cls(Address(name, "file", name))

    def open(self, position: Position, caller: Caller) -> None:
        self.close()
        try:
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
            if position is not None and self._is_regular:
                if self._size < (written := position["bytes"]):
                    raise StreamError(
                        f"{self.name}: has {self._size:,} bytes, and {written:,} were written to "
                        f"it; restore what is missing, or write to another file"
                    )
                self._file.truncate(written)
        except OSError as error:
            raise failure(self.name, error) from error

    def write(self, outputs: Sequence[Output]) -> None:
        """Write a line for each output, or none if the disk is full."""
        assert self._file is not None
        before = self._size
        left = memoryview(b"".join([output.value + b"\n" for output in outputs]))
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            if error.errno in FULL and self._is_regular:
                self._file.truncate(before)
                raise UnreachableError(f"{self.name}: {error.strerror}") from error
            raise failure(self.name, error) from error

    def room(self) -> int | None:
        return LONGEST_RECORD  # readers refuse longer lines

    def flush(self) -> Position:
        assert self._file is not None
        try:
            if self._is_regular:
                durable.flush(self._file.fileno())
        except OSError as error:
            raise failure(self.name, error) from error
        return {"bytes": self._size}

    @property
    def _is_regular(self) -> bool:
        return os.path.isfile(self._path)  # not a pipe or a device

    @property
    def _size(self) -> int:
        assert self._file is not None
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


SETTLE: Final = 1.0  # seconds without a change before a file is read


class FolderSource(Reader):
    """The files of a folder, as they appear.

    Options: ``settle=SECONDS`` without a change before a file is read (1); ``delimiter`` and
    ``encoding`` as in ``open_stream``.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["settle", "delimiter", "encoding"])
        self._how = address.options.get("delimiter"), address.options.get("encoding")
        self.name, self.fields = os.path.realpath(address.path), fields
        self._settle = address.number("settle", SETTLE)
        self._begin(None)

    def _begin(self, position: Position) -> None:
        at = position or {"done": [], "file": None, "at": None, "above": 0, "records": 0}
        self._done: dict[str, None] = dict.fromkeys(at["done"])
        self._file: str | None = at["file"]
        self._at: Position = at["at"]
        self._above: int = at["above"]  # records of the stream before the file
        self._records: int = at["records"]

    def open(self, position: Position, caller: Caller) -> None:
        self.close()
        self._begin(position)
        if not os.path.isdir(self.name):
            raise StreamError(f"{self.name}: there is no such folder")
        if self._file is not None:
            self._reading = self._opened(self._file)

    def read(self, most: int, seconds: float) -> Chunk | None:
        until = time.monotonic() + seconds
        while True:
            try:
                chunk = self._read(most)
            except (ChangedError, UnreachableError, DoubtfulLabelsError):
                raise
            except StreamError as error:  # the file is no stream of records
                poison = Poison(self.name, self._file or "", str(error))
                self._finish()
                return Chunk(Batch.empty(), self._position(), [poison])
            if chunk is not None or time.monotonic() >= until:
                return chunk
            time.sleep(min(POLL, max(0.0, until - time.monotonic())))

    def _read(self, most: int) -> Chunk | None:
        while True:
            if self._reading is None:
                self._file = self._next_name()
                if self._file is None:
                    return None
                self._at, self._above = None, self._records
                self._reading = self._opened(self._file)
            chunk = self._reading.read(most, 0.0)
            if chunk is not None:
                self._at, self._records = chunk.position, chunk.position["records"]
                return Chunk(chunk.records, self._position(), chunk.poison)
            self._finish()

    def _next_name(self) -> str | None:
        try:
            with os.scandir(self.name) as entries:
                there = {
                    entry.name: entry.stat().st_mtime for entry in entries if _is_stream(entry)
                }
        except OSError as error:
            raise UnreachableError(f"{self.name}: cannot be read: {error.strerror}") from error
        self._done = {name: None for name in self._done if name in there}
        ready = time.time() - self._settle
        new = (name for name in there if name not in self._done and there[name] <= ready)
        return min(new, default=None)

    def _opened(self, name: str) -> Resumed:
        file = InputFile.of(os.path.join(self.name, name), None, *self._how)
        return resumed(file, self.fields, self._at, self._above)

    def _finish(self) -> None:
        self.close()
        if self._file is not None:
            self._done[self._file] = None
        self._file, self._at = None, None

    def _position(self) -> Position:
        return {
            "done": list(self._done), "file": self._file, "at": self._at,
            "above": self._above, "records": self._records,
        }  # fmt: skip


def _is_stream(entry: os.DirEntry[str]) -> bool:
    with suppress(StreamError):
        return not entry.name.startswith(".") and entry.is_file() and bool(InputFile.of(entry.name))
    return False


PIPE: Final = 1 << 18  # bytes read at a time


class StandardInput(Reader):
    """JSON lines as they arrive."""

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options([])
        self.name, self.fields = "standard input", fields

    def open(self, position: Position, caller: Caller) -> None:
        if sys.stdin is None:
            raise StreamError("there is no standard input to read; name a file instead of -")
        at = position or {"records": 0}
        self._reading = Lines(self._blocks, at, Decoder(self.name, self.fields))

    def _blocks(self, lines: Lines) -> Iterator[bytes]:
        descriptor, is_first = sys.stdin.fileno(), True
        while True:
            if not select.select([descriptor], [], [], lines.wait)[0]:
                yield b""
                continue
            block = os.read(descriptor, PIPE)
            if not block:
                return
            if is_first and (compression := compression_of(block)) is not None:
                what = f"standard input holds {compression} data, not JSON lines"
                raise StreamError(f"{what}; decompress it first, or name a file")
            is_first = False
            yield block


class StandardOutput(Sink):
    """JSON lines, flushed with each write."""

    def __init__(self, address: Address) -> None:
        self.name = "standard output"

    def open(self, position: Position, caller: Caller) -> None:
        if sys.stdout is None:
            raise StreamError("there is no standard output to write to; name a file instead of -")

    def write(self, outputs: Sequence[Output]) -> None:
        print_lines(b"".join([output.value + b"\n" for output in outputs]))

    def flush(self) -> Position:
        """Do nothing: everything is flushed."""

    def close(self) -> None:
        """Leave standard output open."""
