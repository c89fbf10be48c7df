"""One file, read on from a position.

JSON lines continue at a byte, and may grow meanwhile. Files of other formats, and compressed ones,
are read again from the beginning, and known records are skipped.

``Followed`` reads a growing file through rotations. Programs either rename a log and begin a new
one, or copy and truncate it. In both cases the rest of the old file is read, under its new name,
then the new one:

- **Renamed**: another file has the name and is not empty. Until then a writer may still use the old
  one.
- **Truncated**: the file is shorter than what was read, or has something else before that place.

Rotated files have the name of the file with a number or date added (``news.jsonl.1``,
``news.jsonl-20261116``, ``news-20261116.jsonl``); one that is compressed at once is lost.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import glob
from typing import Final, TypeAlias

from clasher.errors import RecordError, StreamError
from clasher.io.files import READERS
from clasher.io.formats import LONGEST_RECORD, InputFile, Reading, Value
from clasher.io.jsonl import Decoder
from clasher.io.lines import BLOCK, BOM, Overlong, sniffed, split_lines, too_long
from clasher.io.protocol import Caller, Chunk, Poison, Position
from clasher.io.records import FaultError, Fields
from clasher.io.writers import BadRecords

RECORDS: Final = 1000  # per batch of a file that is read again: batches must not change
LOOK: Final = 4096  # bytes before a position that must not change
POLL: Final = 0.2  # seconds between two looks at a growing file or a watched folder
RESTORE: Final = "restore the file, or give the new one another name"


class ChangedError(StreamError):
    """A file is not the one that was read before."""


def resumed(file: InputFile, fields: Fields, position: Position, above: int = 0) -> Resumed:
    """Open a file at a position; ``above`` records of the stream came before the file."""
    file = sniffed(file)
    if file.kind == "jsonl" and file.compression is None and file.encoding is None:
        return ResumedLines(file, fields, position, above, follow=False)
    return Reread(file, fields, position, above)


def content_identity(path: str, length: int = LOOK) -> str | None:
    """Digest the first bytes of a file; None if it is empty or unreadable."""
    if os.path.isfile(path):  # a pipe would lose the bytes
        with suppress(OSError), open(path, "rb") as file:
            if head := file.read(length):
                return f"sha256:{len(head)}:{hashlib.sha256(head).hexdigest()}"
    return None


class Lines:
    """Cuts blocks, which may be slow to arrive, into lines; counts bytes, lines and records.

    ``blocks`` yields bytes, or none if nothing arrives within ``wait`` seconds.
    """

    def __init__(
        self, blocks: Callable[[Lines], Iterator[bytes]], at: Mapping[str, int], decoder: Decoder
    ) -> None:
        self.offset, self.line, self.records = at.get("offset", 0), at.get("line", 0), at["records"]
        self.is_over = False
        self._decoder = decoder
        self._pending: list[bytes] = []
        self.wait = 0.0
        self._lines = split_lines(blocks(self), LONGEST_RECORD, is_beginning=not self.offset)

    def read(self, most: int, seconds: float) -> Chunk | None:
        while len(self._pending) < most:
            self.wait = 0.0 if self._pending else seconds
            lines = next(self._lines, None)
            if lines is None:
                self.is_over = not self._pending
                break
            self._pending += lines
            if not lines:
                break
        taken, self._pending = self._pending[:most], self._pending[most:]
        values: list[Value] = []
        numbers: list[int] = []
        first = self.records + 1
        for line in taken:
            self.line += 1
            self.offset += 1 + (line.size if isinstance(line, Overlong) else len(line))
            if isinstance(line, Overlong):
                values.append(FaultError(too_long(LONGEST_RECORD).problem, raw=line.head))
            elif line.strip():
                values.append(line)
            else:
                continue
            self.records += 1
            numbers.append(self.line)
        if not taken:
            return None
        ids = range(first, self.records + 1)
        return self._decoder.chunk(values, numbers, self._position(), ids)

    def close(self) -> None:
        """Leave the origin of blocks open."""

    def _position(self) -> Position:
        return {"records": self.records}


class ResumedLines(Lines):
    """JSON lines from a byte to the end, or as they are added."""

    def __init__(
        self, file: InputFile, fields: Fields, position: Position, above: int = 0, *, follow: bool
    ) -> None:
        self._follows = self.may_grow = follow  # wait for more at the end
        self.is_cut_off = False  # the file no longer holds what was read
        try:
            self._file = open(file.name, "rb", buffering=0)  # noqa: SIM115
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise StreamError(f"{file.name} cannot be read: {reason}") from error
        try:
            at = position or {"offset": 0, "line": 0, "records": above}
            if not at["offset"] and os.pread(self._file.fileno(), len(BOM), 0) == BOM:
                at = at | {"offset": len(BOM)}
            self._check(file.name, at)
            self._tail = self._digest(self._file.seek(at["offset"]))
        except BaseException:
            self._file.close()
            raise
        super().__init__(lambda _: self._blocks(), at, Decoder(file.name, fields))

    def close(self) -> None:
        self._file.close()

    def stat(self) -> os.stat_result:
        return os.fstat(self._file.fileno())

    def is_intact(self) -> bool:
        """Whether the end of what was read is unchanged."""
        return self._digest(self._file.tell()) == self._tail

    def _blocks(self) -> Iterator[bytes]:
        while not self.is_cut_off:
            block = self._file.read(BLOCK)
            if block:
                if self._follows:
                    self._tail = self._digest(self._file.tell())
                yield block
            elif not self.may_grow:
                return
            else:
                time.sleep(min(POLL, self.wait))
                yield b""

    def _position(self) -> Position:
        if self.is_cut_off:  # next is the beginning of the file
            return {"offset": 0, "line": 0, "records": self.records}
        # The last line of a file may lack its line feed.
        offset = min(self.offset, self.stat().st_size)
        position = {"offset": offset, "line": self.line, "records": self.records}
        # The inode tells files apart that begin alike; a copy has another one.
        inode = {"inode": self.stat().st_ino} if self._follows else {}
        return {**position, "before": self._digest(offset), **inode}

    def _check(self, name: str, at: Position) -> None:
        offset, size = at["offset"], self.stat().st_size
        if "before" in at and (size < offset or self._digest(offset) != at["before"]):
            what = f"has {size:,} bytes" if size < offset else "holds something else before it"
            raise ChangedError(f"{name}: was read up to byte {offset:,}, and {what} now; {RESTORE}")

    def _digest(self, offset: int) -> str:
        start = max(0, offset - LOOK)
        before = os.pread(self._file.fileno(), offset - start, start)
        return hashlib.blake2b(before, digest_size=8).hexdigest()


class Reread:
    """Records of any format, read from the beginning; those before a position are skipped."""

    def __init__(self, file: InputFile, fields: Fields, position: Position, above: int) -> None:
        self.is_over = False
        self._name, self._above = file.name, above
        self._known = above if position is None else position["records"]
        self._bad = Collected()
        self._reading = Reading(
            fields, required=False, batch_size=RECORDS, bad=self._bad, records=above
        )
        self._batches = self._reading.settle(READERS[file.kind](file, self._reading))

    def read(self, most: int, seconds: float) -> Chunk | None:
        """Read the next batch, whatever ``most`` is: batches must stay the same."""
        while (batch := next(self._batches, None)) is not None:
            bad, self._bad.found = self._bad.found, []
            poison = [Poison(self._name, e.position, e.problem, e.raw) for e in bad]
            if self._reading.records > self._known and (batch.ids or poison):
                return Chunk(batch, {"records": self._reading.records}, poison)
        if self._reading.records < self._known:
            known, there = self._known - self._above, self._reading.records - self._above
            raise ChangedError(
                f"{self._name}: {known:,} records were read, and it has {there:,} now; {RESTORE}"
            )
        self.is_over = True
        return None

    def close(self) -> None:
        self._batches = iter(())


class Collected(BadRecords):
    """Bad records, kept until somebody takes them."""

    def __init__(self) -> None:
        super().__init__("skip")
        self.found: list[RecordError] = []

    def handle(self, error: RecordError) -> None:
        self.found.append(error)


NUMBER: Final = r"[.-]\d[\d.T:_-]*"  # a number or a date


class Followed:
    """Reads a file as it grows, through rotations.

    It tells the caller of each truncation; ``skips`` begins with the present file if the one that
    was read is gone.
    """

    is_over = False

    def __init__(
        self, file: InputFile, fields: Fields, position: Position, caller: Caller, *, skips: bool
    ) -> None:
        self._file, self._fields, self._tell = file, fields, caller.tell
        self._at: Position = position  # of the last chunk
        self._part = self._begin(position, skips)

    def read(self, most: int, seconds: float) -> Chunk | None:
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
        self._part.close()

    def _begin(self, position: Position, skips: bool) -> ResumedLines:
        name = self._file.name
        if position is None:
            return self._opened(name, None)
        try:
            return self._find(position, [name, *self._rotated()]) or self._opened(name, position)
        except ChangedError as error:
            if not skips:
                raise ChangedError(
                    f"{error}; if it was rotated and the old file is gone, add the option "
                    f"on_loss=skip to begin with the new one"
                ) from error
            self._tell(f"{error.args[0].partition(';')[0]}; beginning at its first byte")
            return self._opened(name, {"offset": 0, "line": 0, "records": position["records"]})

    def _find(self, position: Position, names: Sequence[str]) -> ResumedLines | None:
        """Open the file that holds what was read before a position, preferably the same inode."""
        inodes = {name: getattr(_stat(name), "st_ino", None) for name in names}
        for name in sorted(names, key=lambda name: inodes[name] != position.get("inode")):
            with suppress(StreamError):  # another file, or one that is gone
                return self._opened(name, position)
        return None

    def _go_on(self) -> bool:
        at = {"offset": 0, "line": 0, "records": self._part.records}
        part = self._find(at, self._next_names())
        if part is not None:
            self._part.close()
            self._part, self._at = part, at
        return part is not None

    def _next_names(self) -> list[str]:
        """Return possible successors: files rotated after this one, then the file itself."""
        if self._part.is_cut_off:
            return [self._file.name]
        own = self._part.stat()
        later = [
            (found.st_mtime_ns, name)
            for name in self._rotated()
            if (found := _stat(name)) is not None and found.st_ino != own.st_ino
        ]
        return [name for at, name in sorted(later) if at > own.st_mtime_ns] + [self._file.name]

    def _rotated(self) -> list[str]:
        folder, name = os.path.split(self._file.name)
        stem, ending = os.path.splitext(name)
        whole, before = re.escape(name) + NUMBER, re.escape(stem) + NUMBER + re.escape(ending)
        pattern = re.compile(f"(?:{whole}|{before})", re.ASCII)
        names = glob("*", root_dir=folder or None, include_hidden=True)
        return [os.path.join(folder, found) for found in names if pattern.fullmatch(found)]

    def _opened(self, name: str, position: Position) -> ResumedLines:
        part = InputFile(name, self._file.kind)
        return ResumedLines(part, self._fields, position, follow=name == self._file.name)

    def _look(self) -> None:
        if not self._part.may_grow:
            return
        if self._part.is_intact():
            there, own = _stat(self._file.name), self._part.stat()
            if there is not None and there.st_size and not os.path.samestat(there, own):
                self._part.may_grow = False
            return
        # Continue in the copy made before, or else with the beginning of the file.
        copy = self._at and self._at["offset"] and self._find(self._at, self._rotated())
        if copy:
            self._part.close()
            self._part = copy
            return
        self._part.may_grow, self._part.is_cut_off = False, True  # deliver what was read
        self._tell(f"{self._file.name}: was truncated; beginning again at its first byte")


def _stat(name: str) -> os.stat_result | None:
    with suppress(OSError):
        return os.stat(name)
    return None


Resumed: TypeAlias = ResumedLines | Reread | Followed
"""An open file."""
