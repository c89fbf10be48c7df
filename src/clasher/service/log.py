"""The log: a SQLite database that one connection, of one thread, writes and checkpoints.

SQLite before 3.51.3 can lose commits where one connection writes while another checkpoints; here
there is no other, and an older library is refused all the same. Write-ahead logging with
``synchronous=FULL``: what was committed is on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from clasher.errors import FolderError, MissingExtraError
from clasher.service import durable
from clasher.service.entries import Entry, decode

try:
    import apsw
except ImportError as error:
    raise MissingExtraError.of("The service", "server") from error

LibraryError = apsw.Error
"""What the database raises: the disk has failed, or the file is not what it was."""

OLDEST = (3, 51, 3)
FORMAT = 2
PAGE = 2**20  # bytes of entries read at a time
ROWS = 256  # that one statement writes
VACUUMED = 4096  # free pages that are given back at a time

SCHEMA = """
CREATE TABLE about(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE entries(
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, who TEXT NOT NULL, body BLOB NOT NULL,
    crc INTEGER NOT NULL, refused TEXT
);
CREATE TABLE keys(key TEXT PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL, digest BLOB);
CREATE INDEX keys_by_age ON keys(seq);
CREATE TABLE documents(seq INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""


class Key(NamedTuple):
    """An idempotency key that was used: for which entry, and a digest of what was said."""

    seq: int
    digest: bytes


class Kept(NamedTuple):
    """What the log holds of what was taught; ``bytes`` are those of the entries."""

    entries: int
    bytes: int
    dropped: int


class Row(NamedTuple):
    """An entry as it is exported: ``refused`` says why it could not be done."""

    entry: Entry
    refused: str | None


class Log:
    """The log of one data folder; belongs to one thread after it was opened.

    Examples
    --------
    >>> import tempfile
    >>> from clasher.service.entries import Relabel, encode
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Log(Path(folder) / "log.sqlite")
    ...     with log.transaction():
    ...         seq = log.append(0.0, "ann", encode(Relabel(action="pin", label="oil")))
    ...     print([entry.seq for entry, _ in log.rows()])
    ...     log.close()
    [1]
    """

    def __init__(self, path: Path) -> None:
        check_library()
        is_new = not path.exists()
        self.path = path
        self._appended: list[tuple[int, float, str, bytes, int]] = []
        try:
            self._db = apsw.Connection(str(path))
            self._set_up(is_new)
        except apsw.Error as error:
            raise FolderError(f"{path}: the log cannot be opened: {error}") from error
        durable.flush_folder(path.parent)
        self.dropped_through = int(self.asked("dropped") or 0)
        """The number of the last entry that was deleted."""
        last = self._first("SELECT coalesce(max(seq), 0) FROM entries")
        self.next_seq = max(last, self.dropped_through) + 1
        self._bytes = self._first("SELECT coalesce(sum(length(body)), 0) FROM entries")

    def _set_up(self, is_new: bool) -> None:
        """One process only, so the index of the write-ahead log stays in its memory."""
        pragma = self._db.pragma
        pragma("locking_mode", "exclusive")
        if is_new:
            pragma("auto_vacuum", 2)  # incremental
        if pragma("journal_mode", "wal") != "wal":
            raise FolderError(f"{self.path}: the file system cannot hold a write-ahead log")
        pragma("synchronous", 2)  # full
        pragma("wal_autocheckpoint", 1000)
        pragma("journal_size_limit", 64 * 2**20)
        if not self._db.table_exists("main", "about"):
            with self.transaction():
                self._db.execute(SCHEMA)
                self.tell("format", FORMAT)
        # what a failed flush left in the memory of the system must not be built upon: copy it anew
        pragma("wal_checkpoint", "truncate")
        if self.asked("format") != FORMAT:
            raise FolderError(f"{self.path}: made by another version of clasher")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing; on disk when it ends."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._write_appended()
        except BaseException:
            self._appended.clear()
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # ── entries ──────────────────────────────────────────────────────────────────────────────

    def append(self, at: float, who: str, body: bytes) -> int:
        """Write an entry, by the end of the transaction; its number."""
        seq = self.next_seq
        self._appended.append((seq, at, who, body, crc32(body)))
        self.next_seq += 1
        self._bytes += len(body)
        return seq

    def rows(self, after: int = 0, most: int = PAGE) -> list[Row]:
        """Entries after a number, oldest first: as many as make ``most`` bytes, one at least."""
        found: list[Row] = []
        size = 0
        query = "SELECT seq, at, who, body, crc, refused FROM entries WHERE seq > ? ORDER BY seq"
        for seq, at, who, body, crc, refused in self._db.execute(query, (after,)):
            if found and size + len(body) > most:
                break
            if crc32(body) != crc:
                raise FolderError(f"{self.path}: entry {seq} was altered; restore it from a backup")
            size += len(body)
            found.append(Row(Entry(seq, at, who, decode(body)), refused))
        return found

    def entry(self, seq: int) -> Entry | None:
        """One entry, None where it is not kept."""
        self._write_appended()
        for row in self._db.execute("SELECT at, who, body FROM entries WHERE seq = ?", (seq,)):
            at, who, body = row
            return Entry(seq, at, who, decode(body))
        return None

    def refused(self, seq: int) -> str | None:
        """Why an entry could not be done, None where it was or is not kept."""
        self._write_appended()
        for (why,) in self._db.execute("SELECT refused FROM entries WHERE seq = ?", (seq,)):
            return None if why is None else str(why)
        return None

    def mark_refused(self, refusals: dict[int, str]) -> None:
        """Note why entries could not be done."""
        rows = [(why, seq) for seq, why in refusals.items()]
        self._db.executemany("UPDATE entries SET refused = ? WHERE seq = ?", rows)

    def _write_appended(self) -> None:
        rows, self._appended = self._appended, []
        self._insert("INSERT INTO entries(seq, at, who, body, crc)", rows)

    @property
    def kept(self) -> Kept:
        """How much of what was taught is there, and how much no longer is."""
        last = self.next_seq - 1
        return Kept(last - self.dropped_through, self._bytes, self.dropped_through)

    def compact(self, through: int, budget: int) -> int:
        """Delete the oldest entries that are past the budget of bytes, none after ``through``."""
        dropped = last = 0
        query = "SELECT seq, length(body) FROM entries WHERE seq <= ? ORDER BY seq"
        for seq, size in self._db.execute(query, (through,)):
            if self._bytes - dropped <= budget:
                break
            dropped += size
            last = seq
        if last:
            with self.transaction():
                self._db.execute("DELETE FROM entries WHERE seq <= ?", (last,))
                self.tell("dropped", last)
            self._bytes -= dropped
            self.dropped_through = last
            self._db.execute(f"PRAGMA incremental_vacuum({VACUUMED})")
        return last

    # ── idempotency keys ─────────────────────────────────────────────────────────────────────

    def key(self, key: str) -> Key | None:
        """What a key was used for."""
        for row in self._db.execute("SELECT seq, digest FROM keys WHERE key = ?", (key,)):
            return Key(*row)
        return None

    def add_key(self, key: str, used: Key, at: float) -> None:
        """Remember a key."""
        values = (key, used.seq, at, used.digest)
        self._db.execute("INSERT INTO keys(key, seq, at, digest) VALUES (?, ?, ?, ?)", values)

    def forget_keys(self, before: float, most: int) -> None:
        """Forget the keys that are too old, and the oldest of too many."""
        self._db.execute("DELETE FROM keys WHERE at < ?", (before,))
        self._db.execute(
            "DELETE FROM keys WHERE seq <= "
            "(SELECT seq FROM keys ORDER BY seq DESC LIMIT 1 OFFSET ?)",
            (most,),
        )

    # ── documents ────────────────────────────────────────────────────────────────────────────

    def put_documents(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Write documents that were predicted, in place of those of the same numbers."""
        self._insert("INSERT OR REPLACE INTO documents(seq, body)", rows)

    def drop_documents(self, numbers: Sequence[int], before: int) -> None:
        """Delete some documents, and all before a number."""
        if before:
            self._db.execute("DELETE FROM documents WHERE seq < ?", (before,))
        if numbers:
            rows = [(number,) for number in numbers]
            self._db.executemany("DELETE FROM documents WHERE seq = ?", rows)

    def documents(self) -> Iterator[bytes]:
        """All documents, the oldest first."""
        for (body,) in self._db.execute("SELECT body FROM documents ORDER BY seq"):
            yield body

    # ── what else is kept ────────────────────────────────────────────────────────────────────

    def tell(self, name: str, value: Any) -> None:
        """Write a value under a name."""
        self._db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def asked(self, name: str) -> Any:
        """The value under a name, None where there is none."""
        for (value,) in self._db.execute("SELECT value FROM about WHERE name = ?", (name,)):
            return value
        return None

    def close(self) -> None:
        """Checkpoint, and close the database."""
        self._db.close()

    def abandon(self) -> None:
        """Close the database after an error, and write nothing more."""
        self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        with suppress(apsw.Error):
            self._db.close()

    def _insert(self, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write many rows at a time: each statement lets other threads of Python go first."""
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            places = f"({', '.join('?' * len(some[0]))})"
            values = [value for row in some for value in row]
            self._db.execute(f"{into} VALUES {', '.join([places] * len(some))}", values)

    def _first(self, query: str) -> int:
        for (value,) in self._db.execute(query):
            return int(value)
        raise FolderError(f"{self.path}: the log does not answer")


def check_library(version: str | None = None) -> None:
    """Refuse a SQLite that can lose commits.

    >>> check_library("3.51.2")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    clasher.errors.FolderError: SQLite 3.51.2 can lose what was committed; ...
    """
    found = apsw.sqlite_lib_version() if version is None else version
    if tuple(map(int, found.split("."))) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise FolderError(
            f"SQLite {found} can lose what was committed; pip install --upgrade apsw brings "
            f"{wanted} or later"
        )
