"""A file of JSON lines that grows, and the files that take its place.

Programs that rotate a log either rename it and begin a new one, or copy it and truncate it. Both
are noticed: the rest of the old file is read, under whatever name it has now, then the new one.

- **Renamed**: another file has the name, and there is something in it. Until then whoever writes
  may still write to the old one.
- **Truncated**: the file is shorter than what was read, or holds something else before that place.

Rotated files are looked for beside the file, under its name with a number or date behind it
(``news.jsonl.1``, ``news.jsonl-20261116``, ``news-20261116.jsonl``); one that was compressed at
once cannot be gone on with.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Final

from clasher.errors import StreamError
from clasher.io.formats import Source as File
from clasher.io.records import Fields
from clasher.io.resuming import POLL, ChangedError, ResumedLines
from clasher.io.streams import Chunk, Position

NUMBER: Final = r"[.-]\d[\d.T:_-]*"  # a number or a date


class Followed:
    """Reads a file as it grows, through rotations.

    Parameters
    ----------
    file, fields, position
        As of ``clasher.io.resuming.resumed``.
    tell
        Told of truncations, in one line.
    skips
        Whether to begin with what is there where what was read before is gone.
    """

    is_over = False

    def __init__(
        self,
        file: File,
        fields: Fields,
        position: Position,
        tell: Callable[[str], object],
        *,
        skips: bool = False,
    ) -> None:
        self._file, self._fields, self._tell = file, fields, tell
        self._at: Position = position  # as of the last chunk, when the file still held it
        self._part = self._begin(position, skips)

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next lines of the file, or of the one that took its place."""
        self._look()
        while True:
            chunk = self._part.read(most, seconds)
            if chunk is not None:
                self._at = chunk.position
                return chunk
            if not self._part.is_over:
                return None
            if not self._go_on():
                time.sleep(min(POLL, seconds))
                return None

    def close(self) -> None:
        """Close the file."""
        self._part.close()

    # ── where to go on ───────────────────────────────────────────────────────────────────────

    def _begin(self, position: Position, skips: bool) -> ResumedLines:
        """Open the file that a position is in."""
        if position is None:
            return self._opened(self._file.name, None, is_live=True)
        part = self._find(position)
        if part is not None:
            return part
        try:
            return self._opened(self._file.name, position, is_live=True)
        except ChangedError as error:
            if not skips:
                raise ChangedError(
                    f"{error}; if it was rotated and the old file is gone, add the option "
                    f"on_loss=skip to begin with what is there"
                ) from error
            self._tell(f"{error.args[0].partition(';')[0]}; beginning at its first byte")
            at = {"offset": 0, "line": 0, "records": position["records"]}
            return self._opened(self._file.name, at, is_live=True)

    def _find(self, position: Position) -> ResumedLines | None:
        """Open the file that holds what was read before a position, preferably the same inode."""
        found = [self._file.name, *self._rotated()]
        found.sort(key=lambda name: _inode(name) != position.get("inode"))
        for name in found:
            try:
                is_live = name == self._file.name
                return self._opened(name, position, is_live=is_live)
            except StreamError:  # another file, or one that is gone by now
                continue
        return None

    def _go_on(self) -> bool:
        """Open the file that comes after one that was read to its end; whether there is one."""
        records = self._part.records
        for name in self._next_names():
            try:
                at = {"offset": 0, "line": 0, "records": records}
                part = self._opened(name, at, is_live=name == self._file.name)
            except StreamError:
                continue
            self._part.close()
            self._part, self._at = part, at
            return True
        return False

    def _next_names(self) -> list[str]:
        """Return what may come next: files rotated after this one, then the file itself."""
        if self._part.is_cut_off:
            return [self._file.name]
        own = self._part.stat()
        later = []
        for name in self._rotated():
            found = _stat(name)
            if found is not None and found.st_ino != own.st_ino:
                later.append((found.st_mtime_ns, name))
        return [name for at, name in sorted(later) if at > own.st_mtime_ns] + [self._file.name]

    def _rotated(self) -> list[str]:
        folder, name = os.path.split(self._file.name)
        stem, ending = os.path.splitext(name)
        whole, before = re.escape(name) + NUMBER, re.escape(stem) + NUMBER + re.escape(ending)
        pattern = re.compile(f"(?:{whole}|{before})", re.ASCII)
        try:
            names = os.listdir(folder or ".")
        except OSError:
            return []
        return [os.path.join(folder, found) for found in names if pattern.fullmatch(found)]

    def _opened(self, name: str, position: Position, *, is_live: bool) -> ResumedLines:
        part = File(name, self._file.kind)
        return ResumedLines(part, self._fields, position, above=0, follow=is_live)

    # ── what happens meanwhile ───────────────────────────────────────────────────────────────

    def _look(self) -> None:
        """See whether the file is still the one that has the name, and holds what was read."""
        if not self._part.may_grow:
            return
        if not self._part.is_intact():
            self._leave_truncated()
            return
        there, own = _stat(self._file.name), self._part.stat()
        if there is not None and there.st_size and not os.path.samestat(there, own):
            self._part.may_grow = False

    def _leave_truncated(self) -> None:
        """Go on in the copy that was made before, or else with what is in hand."""
        copy = self._find_copy(self._at) if self._at and self._at["offset"] else None
        if copy is not None:
            self._part.close()
            self._part = copy
            return
        self._part.cut_off()
        self._tell(f"{self._file.name}: was truncated; beginning again at its first byte")

    def _find_copy(self, position: Position) -> ResumedLines | None:
        for name in self._rotated():
            try:
                return self._opened(name, position, is_live=False)
            except StreamError:
                continue
        return None


def _stat(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)
    except OSError:
        return None


def _inode(name: str) -> int | None:
    found = _stat(name)
    return None if found is None else found.st_ino
