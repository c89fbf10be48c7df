"""Files: read to their end, or followed as they grow; written line by line.

A file that is written to is cut back to what a snapshot knows of when a run is taken up, so that
each output stands in it once.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import BinaryIO, Final

from clasher.errors import StreamError, UnreachableError
from clasher.io.addresses import Address
from clasher.io.blocks import sniffed
from clasher.io.connectors.folder import FolderSource
from clasher.io.followed_file import Followed
from clasher.io.formats import Source as File
from clasher.io.linefile import failure
from clasher.io.reading import LONGEST_RECORD
from clasher.io.records import Fields
from clasher.io.resuming import Resumed, content_identity, resumed
from clasher.io.streams import Caller, Chunk, Output, Position, Sink, Source

FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def file_source(address: Address, fields: Fields) -> Source:
    """A file, or a folder that is watched."""
    return (FolderSource if address.is_folder else FileSource)(address, fields)


class FileSource(Source):
    """A file of records, in any format that ``clasher.io.files`` knows.

    Options: ``format=EXT`` for a file that has another extension; ``follow=yes`` to wait for more
    at its end, for JSON lines, and then ``on_loss=skip`` to go on where a rotated file is gone;
    ``delimiter`` and ``encoding`` as ``open_stream`` has them.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["format", "follow", "on_loss", "delimiter", "encoding"])
        self.name, self.fields = os.path.realpath(address.path), fields
        said = address.options
        self._file = File.of(
            address.path, said.get("format"), said.get("delimiter"), said.get("encoding")
        )
        self._follow = address.flag("follow")
        self._skips = address.choice("on_loss", ["stop", "skip"]) == "skip"
        self._reading: Resumed | None = None

    def open(self, position: Position, caller: Caller) -> None:
        """Go on after the last record that was read."""
        self.close()
        file, fields = sniffed(self._file), self.fields
        if not self._follow:
            self._reading = resumed(file, fields, position)
        elif file.kind == "jsonl" and file.compression is None and file.encoding is None:
            self._reading = Followed(file, fields, position, caller.tell, skips=self._skips)
        else:
            raise StreamError(
                f"{file.name}: only JSON lines in UTF-8, not compressed, can be followed"
            )

    def identity(self) -> str | None:
        """Return a digest of the beginning; None if it is followed, and so may be rotated."""
        return None if self._follow else content_identity(self._file.name)

    def same(self, identity: str) -> bool:
        """Tell whether the file begins as the one of ``identity`` did; it may have grown."""
        length = identity.removeprefix("sha256:").partition(":")[0]
        if self._follow or not length.isdecimal():
            return False
        return content_identity(self._file.name, int(length)) == identity

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next records."""
        assert self._reading is not None
        chunk = self._reading.read(most, seconds)
        self.is_over = self._reading.is_over
        return chunk

    def close(self) -> None:
        """Close the file."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None


class FileSink(Sink):
    """A file of JSON lines, which grows; it is flushed to disk with every snapshot."""

    def __init__(self, address: Address) -> None:
        address.check_options([])
        self.name, self._path = os.path.realpath(address.path), address.path
        self._file: BinaryIO | None = None

    @classmethod
    def to(cls, path: str | os.PathLike[str]) -> FileSink:
        """A sink for a file."""
        name = os.fspath(path)
        return cls(Address(name, "file", name))

    def open(self, position: Position, caller: Caller) -> None:
        """Go on after what a snapshot knows of; a file that was there before is added to."""
        self.close()
        try:
            self._file = open(self._path, "ab", buffering=0)  # noqa: SIM115
            if position is not None and self._is_regular:
                self._cut_to(position["bytes"])
        except OSError as error:
            raise failure(self.name, error) from error

    def write(self, outputs: Sequence[Output]) -> None:
        """Write a line for each output; where the disk is full, none."""
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
        """Return the longest line that can be read again."""
        return LONGEST_RECORD

    def flush(self) -> Position:
        """Flush the file to disk."""
        assert self._file is not None
        try:
            if self._is_regular:
                os.fsync(self._file.fileno())
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

    def _cut_to(self, wanted: int) -> None:
        assert self._file is not None
        if self._size < wanted:
            raise StreamError(
                f"{self.name}: has {self._size:,} bytes, and {wanted:,} were written to it; put "
                f"back what is missing, or write to another file"
            )
        self._file.truncate(wanted)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
