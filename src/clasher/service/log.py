"""The log: a SQLite database of everything that was taught, so that it can be replayed.

One connection, in one thread, writes and checkpoints. SQLite before 3.51.3 can lose commits if one
connection writes while another checkpoints; there is only one here, but an older library is refused
all the same. With write-ahead logging and ``synchronous=FULL`` a commit is on disk.

Each row has a checksum of all its values, compared whenever the row is read. A start also checks
the structure of the database, and compares the number of commits with the mark: a small file beside
the database. If the write-ahead log is cut off or missing, SQLite takes it for one that was never
longer, and only the mark shows the loss. It is written after each commit and before the reply, so
it never counts a commit that is not there.
"""

from __future__ import annotations

import os
import secrets
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeAlias
from zlib import crc32

import msgspec
from msgspec import Struct

from clasher import durable
from clasher.errors import FolderError, MissingExtraError
from clasher.runtime.judged import Labels
from clasher.service.structs import Action

try:
    import apsw
except ImportError as error:
    raise MissingExtraError.of("The service", "server") from error

DatabaseError = apsw.Error  # the disk has failed, or the database is damaged


class Taught(Struct, array_like=True, frozen=True):
    """A document to learn; without labels only its words are counted."""

    text: str
    labels: Labels = None
    id: str | None = None


class Learn(Struct, tag="learn", frozen=True):
    """Documents with their labels."""

    documents: list[Taught]


class Feedback(Struct, tag="feedback", frozen=True, kw_only=True, omit_defaults=True):
    """An answer to a predicted document: labels ``after`` in place of ``before``.

    ``before`` is the last answer, None if there is none; ``after`` None takes it back.
    ``is_judged`` is unset if the prediction does not count in the quality: the document was picked
    for being uncertain. ``version`` is that of the model, ``undoes`` that of the undone answer.
    """

    id: str
    text: str
    predicted: list[str]
    before: Labels = None
    after: Labels = None
    is_judged: bool = True
    version: int = 0
    undoes: int | None = None


class Relabel(Struct, tag="label", frozen=True, kw_only=True, omit_defaults=True):
    """An operation on a label; ``into`` is its new name, or the label to merge it with."""

    action: Action
    label: str
    into: str | None = None


class Replace(Struct, tag="model", frozen=True):
    """Another model replaces this one; the digest names its file."""

    digest: str


Body: TypeAlias = Learn | Feedback | Relabel | Replace


class Entry(Struct, frozen=True):
    """An entry of the log; ``refused`` says why it could not be applied."""

    seq: int
    at: float
    who: str
    body: Body
    refused: str | None = None


encode: Callable[[Body], bytes] = msgspec.msgpack.Encoder().encode
decode: Callable[[bytes], Body] = msgspec.msgpack.Decoder(Body).decode

OLDEST = (3, 51, 3)
FORMAT = 3
WITHOUT_CHECKSUMS = 2  # the previous format: only the bodies of entries had checksums
PAGE = 2**20  # bytes of entries to read at a time
ROWS = 256  # rows that one statement writes

SCHEMA = """
CREATE TABLE about(name TEXT PRIMARY KEY, value, crc INTEGER) WITHOUT ROWID;
CREATE TABLE entries(
    seq INTEGER PRIMARY KEY, at REAL NOT NULL, who TEXT NOT NULL, body BLOB NOT NULL,
    crc INTEGER NOT NULL, refused TEXT
);
CREATE TABLE keys(
    key TEXT PRIMARY KEY, seq INTEGER NOT NULL, at REAL NOT NULL, digest BLOB, crc INTEGER
);
CREATE INDEX keys_by_age ON keys(seq);
CREATE TABLE documents(seq INTEGER PRIMARY KEY, body BLOB NOT NULL, crc INTEGER);
"""
RESTORE = "restore the folder from a backup"
ACCEPT = f"{RESTORE}, or go on with what is left: clasher serve --accept-loss"

# The values that the checksum of a row covers, what to call the row, and what to do about damage.
# The body comes first, then the key; as bytes, for damaged text may not decode.
TABLES = {
    "about": ("x'', name, value", "the value of {!r}", RESTORE),
    "keys": (
        "x'', CAST(key AS BLOB), seq, at, CAST(digest AS BLOB)", "idempotency key {!r}", ACCEPT
    ),
    "documents": ("CAST(body AS BLOB), seq", "document {} of the queue", ACCEPT),
    "entries": (
        "CAST(body AS BLOB), seq, at, CAST(who AS BLOB), CAST(refused AS BLOB)", "entry {}", RESTORE
    ),
}  # fmt: skip
SEAL = "UPDATE keys SET at = 0.0;" + "".join(
    f"UPDATE {name} SET crc = checksum({values});" for name, (values, _, _) in TABLES.items()
)

SLOT = 512  # bytes of a mark: a sector, which a disk writes as a whole
MAGIC = b"clasher\x01"
MARK = struct.Struct("<8s16sQ?")
SEALED = MARK.size + 4  # bytes, with a checksum


class Note(NamedTuple):
    """The content of a mark: which log, how many commits, and whether it is open."""

    log: bytes
    commits: int
    is_open: bool
    slot: int = 0  # where it was read


class Mark:
    """The mark of a log. It keeps the last two notes, so that a torn write leaves one."""

    def __init__(self, path: Path, log: bytes, slot: int) -> None:
        self.path = path
        self._log, self._slot = log, slot
        self._file = path.open("rb+", buffering=0)
        self.close = self._file.close
        self._is_flushed = True

    @classmethod
    def create(cls, path: Path, log: bytes, commits: int = 0) -> Mark:
        durable.replace_bytes(path, _sealed(Note(log, commits, False)).ljust(SLOT, b"\0") * 2)
        return cls(path, log, slot=0)

    def note(self, commits: int, *, is_open: bool) -> None:
        """Write the number of commits; ``flush`` makes it survive a power cut."""
        self._slot = 1 - self._slot
        self._is_flushed = False
        slot = _sealed(Note(self._log, commits, is_open))
        with self._named():
            os.pwrite(self._file.fileno(), slot, SLOT * self._slot)

    def flush(self) -> None:
        if not self._is_flushed:
            with self._named():
                durable.flush(self._file.fileno())
            self._is_flushed = True

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error


def read_mark(path: Path) -> Note | None:
    """Read the newest note of a mark; None if there is no mark."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    found = []
    for slot, sealed in enumerate((raw[:SEALED], raw[SLOT : SLOT + SEALED])):
        if len(sealed) == SEALED:
            note = Note(*MARK.unpack_from(sealed)[1:])._replace(slot=slot)
            if sealed == _sealed(note):
                found.append(note)
    if not found:
        raise FolderError(f"{path}: the mark of the log is damaged")
    return max(found, key=lambda note: (note.commits, not note.is_open))


def _sealed(note: Note) -> bytes:
    content = MARK.pack(MAGIC, *note[:3])
    return content + crc32(content).to_bytes(4, "little")


class Log:
    """The log of one data folder; only one thread may use it once it is open."""

    def __init__(
        self, path: Path, *, accept_loss: bool = False, timer: Callable[[], float] = time.monotonic
    ) -> None:
        check_library(apsw.sqlite_lib_version())
        self.path = path
        self.notes: list[str] = []  # the losses that were accepted
        self._accept_loss = accept_loss
        self._timer, self._began, self._before = timer, timer(), 0.0
        self._appended: list[tuple[int, float, str, bytes, int]] = []
        self._commits = self.entries = self._bytes = 0
        self.next_seq = 1
        self.dropped_through = 0  # the last entry that was deleted
        self._mark_path = path.with_suffix(".mark")
        self.mark: Mark
        noted = self._read_mark()
        is_new = not path.exists()
        try:
            self._db = apsw.Connection(str(path))
            self._db.create_scalar_function("checksum", checksum)
            self._set_up(is_new, noted)
            durable.flush_folder(path.parent)
            if accept_loss:
                self._drop_damaged("keys", "idempotency keys")
                self._drop_damaged("documents", "documents of the queue")
            deque(self._rows("keys"), maxlen=0)  # a repeated request would not find a damaged key
            sizes = self._db.execute("SELECT count(*), coalesce(sum(length(body)), 0) FROM entries")
            self.entries, self._bytes = sizes.get
        except BaseException as error:
            self.abandon()
            if isinstance(error, apsw.Error | UnicodeDecodeError):
                raise open_error(path, error) from error
            raise

    def _set_up(self, is_new: bool, noted: Note | None) -> None:
        pragma = self._db.pragma
        pragma("locking_mode", "exclusive")  # the index of the write-ahead log stays in memory
        if is_new:
            pragma("auto_vacuum", 2)  # incremental
        if pragma("journal_mode", "wal") != "wal":
            raise FolderError(f"{self.path}: the file system cannot hold a write-ahead log")
        pragma("synchronous", 2)  # full
        pragma("wal_autocheckpoint", 1000)
        pragma("journal_size_limit", 64 * 2**20)
        has_tables = self._db.table_exists("main", "about")
        about = self._read_values() if has_tables else {}
        self._compare_with_mark(about, noted)
        if has_tables:
            if about.get("schema", self._schema()) != self._schema():
                self._damaged("the description of the tables")
            for (problem,) in self._db.execute("PRAGMA integrity_check(1)"):
                if problem != "ok":
                    found = problem.splitlines()[-1]  # after the name of the database
                    raise FolderError(f"{self.path}: the log is damaged: {found}; {RESTORE}")
            last = self._db.execute("SELECT coalesce(max(seq), 0) FROM entries").get
            self.dropped_through = int(about.get("dropped", 0))
            self.next_seq = max(last, self.dropped_through, int(about.get("skipped", 0))) + 1
            if "progress" in about and int(about["progress"].split()[2]) != self.next_seq - 1:
                self._damaged("the table of the entries")
        self._id: bytes = about.get("id") or (
            noted.log if noted and not self.notes else secrets.token_bytes(16)
        )
        if noted is None or self.notes:
            self.mark = Mark.create(self._mark_path, self._id, self._commits)
        else:
            self.mark = Mark(self._mark_path, self._id, noted.slot)
        if not has_tables:
            with self.transaction():
                self._db.execute(SCHEMA)
                self.put_value("format", FORMAT)
                self.put_value("schema", self._schema())
                self.put_value("id", self._id)
        elif about["format"] == WITHOUT_CHECKSUMS:
            self._add_checksums()
        # a failed flush may have left pages in the system's memory only: write them again
        pragma("wal_checkpoint", "truncate")

    def _read_mark(self) -> Note | None:
        """Read the mark; report files that it implies and that are missing."""
        try:
            noted = read_mark(self._mark_path)
        except FolderError as error:
            self._report_loss(str(error))
            return None
        if noted is None or not noted.commits:
            return noted
        wal = self.path.with_name(f"{self.path.name}-wal")
        if not self.path.exists():
            self._report_loss(f"{self.path}: the log is missing")
        elif noted.is_open and not wal.exists():
            self._report_loss(
                f"{wal}: missing, although the service was not closed; it held the last changes "
                f"that were acknowledged"
            )
        return noted

    def _read_values(self) -> dict[str, Any]:
        columns = [row[1] for row in self._db.execute("PRAGMA table_info(about)")]
        if "crc" in columns:
            about = {name: value for _, name, value in self._rows("about")}
        else:
            about = dict(self._db.execute("SELECT name, value FROM about"))
        if about.get("format") != (FORMAT if "crc" in columns else WITHOUT_CHECKSUMS):
            raise FolderError(
                f"{self.path}: has format {about.get('format')!r}, made by another version of "
                f"clasher; use that one"
            )
        return about

    def _schema(self) -> int:
        query = "SELECT name, CAST(sql AS BLOB) FROM sqlite_schema ORDER BY name"
        return checksum(b"", *self._db.execute(query))

    def _compare_with_mark(self, about: dict[str, Any], noted: Note | None) -> None:
        own = about.get("id")
        commits, elapsed, _ = about.get("progress", "0 0 0").split()
        self._commits, self._before = int(commits), float(elapsed)
        if noted is None and own is not None and not self.notes:
            what = "missing; without it nobody can tell whether the log is complete"
            self._report_loss(f"{self._mark_path}: {what}")
        elif noted is not None and own not in (None, noted.log):
            self._report_loss(f"{self.path}: not the log that {self._mark_path.name} belongs to")
        elif noted is not None and self._commits < noted.commits and not self.notes:
            self._report_loss(
                f"{self.path}: the last {noted.commits - self._commits} of {noted.commits} commits "
                f"are missing, and with them the last changes that were acknowledged; "
                f"{self.path.name}-wal was damaged, cut off, deleted or replaced"
            )

    def _add_checksums(self) -> None:
        """Convert a log of the previous format; the age of keys and documents restarts at zero."""
        for seq, body, crc in self._db.execute("SELECT seq, CAST(body AS BLOB), crc FROM entries"):
            if crc32(body) != crc:
                self._damaged(f"entry {seq}")
        with self.transaction():
            for table in ("about", "keys", "documents"):
                self._db.execute(f"ALTER TABLE {table} ADD COLUMN crc INTEGER")
            for name, value in {"format": FORMAT, "id": self._id, "schema": self._schema()}.items():
                self.put_value(name, value)
            self._db.execute(SEAL)

    def _report_loss(self, what: str) -> None:
        if not self._accept_loss:
            raise FolderError(f"{what}; {ACCEPT}")
        self.notes.append(f"{what}; the loss is accepted")

    def _damaged(self, what: str, remedy: str = RESTORE) -> NoReturn:
        raise FolderError(f"{self.path}: {what} is damaged; {remedy}")

    def _rows(self, name: str, where: str = "", *values: Any) -> Iterator[list[Any]]:
        """Yield the values of rows as ``TABLES`` lists them; refuse a damaged row."""
        covered, what, remedy = TABLES[name]
        for crc, *row in self._db.execute(f"SELECT crc, {covered} FROM {name} {where}", values):
            if checksum(*row) != crc:
                key = row[1].decode(errors="replace") if isinstance(row[1], bytes) else row[1]
                self._damaged(what.format(key), remedy)
            yield row

    def _drop_damaged(self, name: str, what: str) -> None:
        with self.transaction():
            values = TABLES[name][0]
            self._db.execute(f"DELETE FROM {name} WHERE crc IS NOT checksum({values})")
            dropped = self._db.changes()
        if dropped:
            self.notes.append(f"{self.path}: dropped {dropped} damaged {what}")

    def _insert(self, into: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Write many rows per statement: each statement lets other Python threads run first."""
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            places = f"({', '.join('?' * len(some[0]))})"
            values = [value for row in some for value in row]
            self._db.execute(f"{into} VALUES {', '.join([places] * len(some))}", values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all or nothing; on disk when the block ends."""
        self._db.execute("BEGIN IMMEDIATE")
        before = self.next_seq, self.entries, self._bytes
        try:
            yield
            self._write_appended()
            progress = f"{self._commits + 1} {self.elapsed():.3f} {self.next_seq - 1}"
            self.put_value("progress", progress)
        except BaseException:
            self._appended.clear()
            self.next_seq, self.entries, self._bytes = before
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")
        self._commits += 1
        self.mark.note(self._commits, is_open=True)

    def elapsed(self) -> float:
        """Return the seconds of use over all runs, from any thread: the clock of what expires."""
        return self._before + self._timer() - self._began

    def append(self, at: float, who: str, body: bytes) -> int:
        """Write an entry by the end of the transaction; return its number."""
        seq, at = self.next_seq, float(at)
        crc = checksum(body, seq, at, who.encode(), None)
        self._appended.append((seq, at, who, body, crc))
        self.next_seq += 1
        self.entries += 1
        self._bytes += len(body)
        return seq

    def rows(self, after: int = 0, most: int = PAGE) -> list[Entry]:
        """Return the entries after a number, oldest first: ``most`` bytes, but at least one."""
        found: list[Entry] = []
        size = 0
        for row in self._rows("entries", "WHERE seq > ? ORDER BY seq", after):
            size += len(row[0])
            if found and size > most:
                break
            found.append(_entry(*row))
        return found

    def row(self, seq: int) -> Entry | None:
        self._write_appended()
        return next((_entry(*row) for row in self._rows("entries", "WHERE seq = ?", seq)), None)

    def mark_refused(self, refusals: dict[int, str]) -> None:
        update = "UPDATE entries SET refused = ?, crc = ? WHERE seq = ?"
        with self.transaction():
            for seq, why in refusals.items():
                for row in list(self._rows("entries", "WHERE seq = ?", seq)):
                    self._db.execute(update, (why, checksum(*row[:-1], why.encode()), seq))

    def skip_to(self, seq: int) -> None:
        """Continue after this number: the entries up to it are lost."""
        with self.transaction():
            self.put_value("skipped", seq)
            self.next_seq = seq + 1

    def _write_appended(self) -> None:
        rows, self._appended = self._appended, []
        self._insert("INSERT INTO entries(seq, at, who, body, crc)", rows)

    def compact(self, through: int, budget: int) -> int:
        """Delete the oldest entries beyond the budget of bytes, none after ``through``."""
        dropped = last = 0
        query = "SELECT seq, length(body) FROM entries WHERE seq <= ? ORDER BY seq"
        for seq, size in self._db.execute(query, (through,)):
            if self._bytes - dropped <= budget:
                break
            dropped, last = dropped + size, seq
        if last:
            with self.transaction():
                self._db.execute("DELETE FROM entries WHERE seq <= ?", (last,))
                self.entries -= self._db.changes()
                self._bytes -= dropped
                self.put_value("dropped", last)
            self.dropped_through = last
            self._db.execute("PRAGMA incremental_vacuum(4096)")  # free pages to give back
        return last

    def key(self, key: str) -> tuple[int, bytes] | None:
        """Return the entry of a key and the digest of its request, None if the key is new."""
        found = self._rows("keys", "WHERE key = ?", key)
        return next(((seq, digest) for _, _, seq, _, digest in found), None)

    def add_key(self, key: str, seq: int, digest: bytes, at: float) -> None:
        crc = checksum(b"", key.encode(), seq, float(at), digest)
        insert = "INSERT INTO keys(key, seq, at, digest, crc) VALUES (?, ?, ?, ?, ?)"
        self._db.execute(insert, (key, seq, float(at), digest, crc))

    def forget_keys(self, before: float, most: int) -> None:
        """Forget keys older than ``before`` (by ``elapsed``), and the oldest beyond ``most``."""
        self._db.execute("DELETE FROM keys WHERE at < ?", (before,))
        last = "SELECT seq FROM keys ORDER BY seq DESC LIMIT 1 OFFSET ?"
        self._db.execute(f"DELETE FROM keys WHERE seq <= ({last})", (most,))

    def write_documents(
        self, rows: Sequence[tuple[int, bytes]], gone: Sequence[int] = (), before: int = 0
    ) -> None:
        """Delete the documents ``gone`` and those ``before`` a number, then write others."""
        if before:
            self._db.execute("DELETE FROM documents WHERE seq < ?", (before,))
        self._db.executemany("DELETE FROM documents WHERE seq = ?", [(seq,) for seq in gone])
        sealed = [(seq, body, checksum(body, seq)) for seq, body in rows]
        self._insert("INSERT OR REPLACE INTO documents(seq, body, crc)", sealed)

    def documents(self) -> list[bytes]:
        return [body for body, _ in self._rows("documents", "ORDER BY seq")]

    def put_value(self, name: str, value: Any) -> None:
        values = (name, value, checksum(b"", name, value))
        self._db.execute("INSERT OR REPLACE INTO about(name, value, crc) VALUES (?, ?, ?)", values)

    def value(self, name: str) -> Any:
        return next((value for _, _, value in self._rows("about", "WHERE name = ?", name)), None)

    def close(self) -> None:
        """Checkpoint, note that the write-ahead log is empty, and close the database."""
        with suppress(apsw.Error, OSError):  # every commit is in the write-ahead log
            self._db.pragma("wal_checkpoint", "truncate")
            self.mark.note(self._commits, is_open=False)
            self.mark.flush()
            self._db.close()
        self.abandon()

    def abandon(self) -> None:
        """Close the database without writing anything, if it is open."""
        if hasattr(self, "mark"):
            self.mark.close()
        if hasattr(self, "_db"):
            with suppress(apsw.Error):
                self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                self._db.close()


def _entry(body: bytes, seq: int, at: float, who: bytes, refused: bytes | None) -> Entry:
    why = None if refused is None else refused.decode()
    return Entry(seq, at, who.decode(), decode(body), why)


def checksum(*values: Any) -> int:
    """Compute the checksum of a row, given its body, or an empty one, and its other values."""
    return crc32(values[0] or b"", crc32(msgspec.msgpack.encode(values[1:])))


def open_error(path: Path, error: Exception) -> FolderError:
    """Make the error for a log that cannot be opened: check the disk, or restore a backup."""
    is_disk = isinstance(error, apsw.IOError | apsw.FullError | apsw.CantOpenError)
    remedy = "check that the disk works and has room" if is_disk else RESTORE
    return FolderError(f"{path}: the log cannot be opened: {error}; {remedy}")


def check_library(version: str) -> None:
    """Refuse a SQLite that can lose commits."""
    if tuple(map(int, version.split("."))) < OLDEST:
        raise FolderError(
            f"SQLite {version} can lose commits; pip install --upgrade apsw brings "
            f"{'.'.join(map(str, OLDEST))} or later"
        )
