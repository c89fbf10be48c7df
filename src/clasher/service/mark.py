"""The mark: a small file that says how many commits the log has.

SQLite takes a write-ahead log that is cut off or missing for one that was never longer: the
database looks older than it is, and nothing in it tells. The mark stands outside of it. It is
written after each commit and before anybody is told, so it never promises more than there is.
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


class Noted(NamedTuple):
    """What a mark says: which log, how many commits, and whether it was left open."""

    log: bytes
    commits: int
    is_open: bool


class Mark:
    """The mark of a log. The last two notes are kept, so a torn write has one behind it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mark = Mark.create(Path(folder) / "log.mark", b"x" * 16)
    ...     mark.note(3, is_open=True)
    ...     mark.close()
    ...     read(mark.path).commits
    3
    """

    def __init__(self, path: Path, log: bytes) -> None:
        self.path = path
        self._log = log
        self._slot = _newest(path.read_bytes())
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._is_flushed = True

    @classmethod
    def create(cls, path: Path, log: bytes, commits: int = 0) -> Mark:
        """Write a mark, flushed, in place of one that may be there."""
        scratch = path.with_name(f"{path.name}.tmp")
        scratch.unlink(missing_ok=True)
        durable.write(scratch, _sealed(Noted(log, commits, False)).ljust(SLOT, b"\0") * 2)
        durable.rename(scratch, path)
        return cls(path, log)

    def note(self, commits: int, *, is_open: bool) -> None:
        """Write how many commits there are; ``flush`` makes it outlast a power cut."""
        self._slot = 1 - self._slot
        self._is_flushed = False
        slot = _sealed(Noted(self._log, commits, is_open))
        with self._named():
            os.pwrite(self._descriptor, slot, SLOT * self._slot)

    def flush(self) -> None:
        """Have the last note on disk."""
        if not self._is_flushed:
            with self._named():
                os.fsync(self._descriptor)
            self._is_flushed = True

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file in errors."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error

    def close(self) -> None:
        """Let the file go."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def read(path: Path) -> Noted | None:
    """Read the newest note of a mark; None where there is no mark."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    noted = _noted(raw, _newest(raw))
    if noted is None:
        raise FolderError(f"{path}: the mark of the log is damaged")
    return noted


def _newest(raw: bytes) -> int:
    """Return which slot was written last."""
    first, second = _noted(raw, 0), _noted(raw, 1)
    if first is None or second is None:
        return int(first is None)
    return int((second.commits, not second.is_open) > (first.commits, not first.is_open))


def _sealed(noted: Noted) -> bytes:
    content = _content.pack(MAGIC, *noted)
    return content + _checksum.pack(crc32(content))


def _noted(raw: bytes, slot: int) -> Noted | None:
    """Return what a slot says, None where it is not whole."""
    content = raw[slot * SLOT :][: _content.size]
    claimed = raw[slot * SLOT + _content.size :][: _checksum.size]
    if len(content) < _content.size or _checksum.pack(crc32(content)) != claimed:
        return None
    magic, *noted = _content.unpack(content)
    return Noted(*noted) if magic == MAGIC else None
