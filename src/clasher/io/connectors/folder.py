"""A folder that is watched: each file that appears in it is read once, to its end.

Files are taken in the order of their names among those that are there. Whoever writes one gives it
its name when it is complete; what is hidden, or has an extension that tells no format, is passed
over. The names of files that were read are kept as long as the files are there.
"""

from __future__ import annotations

import os
import time
from typing import Final

from clasher.errors import StreamError, UnreachableError
from clasher.io.addresses import Address
from clasher.io.cells import DoubtfulLabelsError
from clasher.io.formats import Source as File
from clasher.io.records import Batch, Fields
from clasher.io.resuming import ChangedError, Resumed, resumed
from clasher.io.streams import Caller, Chunk, Poison, Position, Source

SETTLE: Final = 1.0  # seconds that a file must not have changed for
POLL: Final = 0.2  # seconds between two looks


class FolderSource(Source):
    """The files of a folder, those that are there and those that come.

    Options: ``settle=SECONDS`` that a file must not have changed for before it is read (1);
    ``delimiter`` and ``encoding`` as ``open_stream`` has them.
    """

    def __init__(self, address: Address, fields: Fields) -> None:
        address.check_options(["settle", "delimiter", "encoding"])
        self._how = address.options.get("delimiter"), address.options.get("encoding")
        self.name, self.fields = os.path.realpath(address.path), fields
        self._settle = address.number("settle", SETTLE)
        self._reading: Resumed | None = None
        self._begin(None)

    def _begin(self, position: Position) -> None:
        at = position or {"done": [], "file": None, "at": None, "above": 0, "records": 0}
        self._done: dict[str, None] = dict.fromkeys(at["done"])
        self._file: str | None = at["file"]
        self._at: Position = at["at"]
        self._above: int = at["above"]  # records of the stream before the file
        self._records: int = at["records"]

    def open(self, position: Position, caller: Caller) -> None:
        """Go on in the middle of a file, or with the next one."""
        self.close()
        self._begin(position)
        if not os.path.isdir(self.name):
            raise StreamError(f"{self.name}: there is no such folder")
        if self._file is not None:
            self._reading = self._opened(self._file)

    def read(self, most: int, seconds: float) -> Chunk | None:
        """The next records of a file, or those of the next file."""
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

    def lag(self) -> int | None:
        """Nobody knows how much is in files that were not read."""
        return None

    def close(self) -> None:
        """Close the file that is being read."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def _read(self, most: int) -> Chunk | None:
        """What is there now."""
        while self._reading is not None or self._begin_next():
            assert self._reading is not None
            chunk = self._reading.read(most, 0.0)
            if chunk is not None:
                self._at, self._records = chunk.position, chunk.position["records"]
                return Chunk(chunk.records, self._position(), chunk.poison)
            self._finish()
        return None

    def _begin_next(self) -> bool:
        """Open the next file; whether there is one."""
        name = self._next_name()
        if name is None:
            return False
        self._file, self._at, self._above = name, None, self._records
        self._reading = self._opened(name)
        return True

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
        file = File.of(os.path.join(self.name, name), None, *self._how)
        return resumed(file, self.fields, self._at, above=self._above)

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
    """Whether a file has a name of its own and a format."""
    if entry.name.startswith(".") or not entry.is_file():
        return False
    try:
        File.of(entry.name)
    except StreamError:
        return False
    return True
