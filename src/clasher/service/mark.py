"""The mark: a small file that counts the commits of the log.

If the write-ahead log is cut off or missing, SQLite takes it for one that was never longer, and
nothing in the database shows the loss. The mark is outside of the database. It is written after
each commit and before the reply, so it never counts a commit that is not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from clasher import durable
from clasher.errors import FolderError

SLOT = 512  # bytes: a sector, which a disk writes as a whole
MAGIC = b"clasher\x01"
_content = Struct("<8s16sQ?")
_checksum = Struct("<I")


class Note(NamedTuple):
    """The content of a mark: which log, how many commits, and whether it is open."""

    log: bytes
    commits: int
    is_open: bool


class Mark:
    """The mark of a log. It keeps the last two notes, so that a torn write leaves one."""

    def __init__(self, path: Path, log: bytes) -> None:
        self.path = path
        self._log = log
        self._slot = _newest(path.read_bytes())
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._is_flushed = True

    @classmethod
    def create(cls, path: Path, log: bytes, commits: int = 0) -> Mark:
        """Write a new mark, flushed, in place of an old one."""
        durable.replace_bytes(path, _sealed(Note(log, commits, False)).ljust(SLOT, b"\0") * 2)
        return cls(path, log)

    def note(self, commits: int, *, is_open: bool) -> None:
        """Write the number of commits; ``flush`` makes it survive a power cut."""
        self._slot = 1 - self._slot
        self._is_flushed = False
        slot = _sealed(Note(self._log, commits, is_open))
        with self._named():
            os.pwrite(self._descriptor, slot, SLOT * self._slot)

    def flush(self) -> None:
        if not self._is_flushed:
            with self._named():
                durable.flush(self._descriptor)
            self._is_flushed = True

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read(path: Path) -> Note | None:
    """Read the newest note of a mark; None if there is no mark."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    note = _read_slot(raw, _newest(raw))
    if note is None:
        raise FolderError(f"{path}: the mark of the log is damaged")
    return note


def _newest(raw: bytes) -> int:
    first, second = _read_slot(raw, 0), _read_slot(raw, 1)
    if first is None or second is None:
        return int(first is None)
    return int((second.commits, not second.is_open) > (first.commits, not first.is_open))


def _sealed(note: Note) -> bytes:
    content = _content.pack(MAGIC, *note)
    return content + _checksum.pack(crc32(content))


def _read_slot(raw: bytes, slot: int) -> Note | None:
    content = raw[slot * SLOT :][: _content.size]
    claimed = raw[slot * SLOT + _content.size :][: _checksum.size]
    if len(content) < _content.size or _checksum.pack(crc32(content)) != claimed:
        return None
    magic, *note = _content.unpack(content)
    return Note(*note) if magic == MAGIC else None
