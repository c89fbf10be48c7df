"""The thread that owns the log: it writes many requests in one commit.

While one commit waits for the disk, the next requests gather: the more requests, the fewer flushes
each of them costs. ``Admission`` bounds how much may wait.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar

from clasher.errors import BusyError, ClasherError, ConflictError, RefusedError, StoppedError
from clasher.service.documents import DocumentQueue
from clasher.service.log import Body, Entry, Log, encode
from clasher.service.options import EngineOptions
from clasher.service.structs import Receipt

T = TypeVar("T")

RETRY_AFTER = 1.0  # seconds
TOGETHER = 1024  # requests in one commit
TOGETHER_BYTES = 8 * 2**20
TICK = 1.0  # seconds until predicted documents are written
FLUSHED = 5.0  # seconds between flushes of the mark
SAVED = 600.0  # seconds until the running time of an idle log is written
DOCUMENTS = 2000  # predicted documents to write in one commit
FEW = 10  # predicted documents to write with any commit: more wait, and may be gone by then
KEYS_CHECKED = 60.0  # seconds between two searches for expired keys


@dataclass(eq=False)
class Request:
    """A request to write and to learn.

    ``prepare`` makes the content of the entry, given the log and the entry's number. It is called
    in the order of the log, so it sees the effect of all earlier requests.
    """

    who: str
    at: float
    size: int
    prepare: Callable[[Log, int], Body]
    key: str | None = None
    digest: bytes = b""
    future: Future[Receipt] = field(default_factory=Future)


@dataclass(frozen=True)
class Committed:
    """A request that is on disk; ``entry`` is None if it repeats an earlier one."""

    request: Request
    entry: Entry | None
    receipt: Receipt
    size: int = 0


class Admission:
    """The requests that are accepted but not answered yet, bounded in number and bytes."""

    def __init__(self, requests: int, size: int) -> None:
        self.most = requests
        self._most_bytes = size
        self._lock = threading.Lock()
        self._inside: dict[Request, None] = {}
        self._bytes = 0

    def admit(self, request: Request) -> None:
        """Accept a request, or raise ``BusyError``; a single one is always accepted."""
        with self._lock:
            full = len(self._inside) >= self.most or self._bytes + request.size > self._most_bytes
            if full and self._inside:
                raise BusyError(RETRY_AFTER)
            self._inside[request] = None
            self._bytes += request.size
        request.future.set_running_or_notify_cancel()  # a written entry cannot be cancelled
        request.future.add_done_callback(lambda _: self._leave(request))

    def reject_all(self, error: Exception) -> None:
        with self._lock:
            inside = list(self._inside)
        for request in inside:
            with suppress(InvalidStateError):  # answered meanwhile
                request.future.set_exception(error)

    def __len__(self) -> int:
        return len(self._inside)

    def _leave(self, request: Request) -> None:
        with self._lock:
            del self._inside[request]
            self._bytes -= request.size


class Writer:
    """Write requests to the log, in order.

    ``hand_on`` gets committed requests, and None at the end; ``fail`` gets the first error, after
    which nothing is written.
    """

    def __init__(
        self,
        log: Log,
        queue: DocumentQueue,
        options: EngineOptions,
        hand_on: Callable[[list[Committed] | None], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._log, self._queue, self._options = log, queue, options
        self._hand_on, self._fail = hand_on, fail
        self._came = threading.Condition()
        self._requests: deque[Request] = deque()
        self._jobs: deque[tuple[Callable[[Log], Any], Future[Any]]] = deque()
        self._is_closing = False
        self._keys_due = self._documents_due = 0.0
        self._flush_due = monotonic() + FLUSHED
        self._saved_at = log.elapsed()
        self.thread = threading.Thread(target=self._run, name="clasher writer", daemon=True)

    def put(self, request: Request) -> None:
        self._append(self._requests, request)

    def call(self, work: Callable[[Log], Any]) -> Future[Any]:
        """Queue work with the log, to be done between two commits."""
        future: Future[Any] = Future()
        self._append(self._jobs, (work, future))
        return future

    def _append(self, queue: deque[T], item: T) -> None:
        with self._came:
            if self._is_closing:
                raise StoppedError("the service is closing")
            queue.append(item)
            self._came.notify()

    def close(self) -> None:
        with self._came:
            self._is_closing = True
            self._came.notify()

    def _run(self) -> None:
        try:
            while self._turn():
                pass
            if self._queue.has_changes or self._log.elapsed() - self._saved_at >= TICK:
                with self._log.transaction():
                    self._write_documents(most=self._options.awaiting.documents)
            self._log.flush_mark()
            self._hand_on(None)
        except BaseException as error:
            self.close()
            for _, future in self._jobs:
                future.set_exception(StoppedError(f"the log has failed: {error}"))
            self._fail(error)

    def _turn(self) -> bool:
        with self._came:
            self._came.wait_for(
                lambda: (
                    self._requests or self._jobs or self._is_closing or self._are_documents_due()
                ),
                timeout=TICK,
            )
            requests: list[Request] = []
            size = 0
            while self._requests and len(requests) < TOGETHER:
                size += self._requests[0].size
                if requests and size > TOGETHER_BYTES:
                    break
                requests.append(self._requests.popleft())
            goes_on = not self._is_closing or bool(self._requests)
        if requests or self._queue.has_changes or self._log.elapsed() - self._saved_at >= SAVED:
            self._commit(requests)
        if monotonic() >= self._flush_due:
            self._log.flush_mark()
            self._flush_due = monotonic() + FLUSHED
        while self._jobs:
            work, future = self._jobs[0]
            try:
                future.set_result(work(self._log))
            except ClasherError as error:  # an error of the database ends the thread
                future.set_exception(error)
            self._jobs.popleft()
        return goes_on

    def _are_documents_due(self) -> bool:
        return self._queue.behind > 0 and monotonic() >= self._documents_due

    def _commit(self, requests: list[Request]) -> None:
        committed = []
        with self._log.transaction():
            for request in requests:
                if (done := self._write(request)) is not None:
                    committed.append(done)
            if (now := self._log.elapsed()) >= self._keys_due:
                self._log.forget_keys(now - self._options.key_seconds, self._options.keys)
                self._keys_due = now + KEYS_CHECKED
            is_cheap = self._queue.behind <= FEW
            self._write_documents(DOCUMENTS if is_cheap or self._are_documents_due() else 0)
        self._saved_at = self._log.elapsed()
        if committed:
            self._hand_on(committed)

    def _write(self, request: Request) -> Committed | None:
        try:
            if request.key is not None and (used := self._log.key(request.key)) is not None:
                return Committed(request, None, self._repeated(request, *used))
            seq = self._log.next_seq
            body = request.prepare(self._log, seq)
        except ClasherError as error:
            request.future.set_exception(error)
            return None
        raw = encode(body)
        self._log.append(request.at, request.who, raw)
        if request.key is not None:
            self._log.add_key(request.key, seq, request.digest, self._log.elapsed())
        entry = Entry(seq, request.at, request.who, body)
        return Committed(request, entry, Receipt(version=seq), len(raw))

    def _repeated(self, request: Request, seq: int, digest: bytes) -> Receipt:
        if digest != request.digest:
            raise ConflictError(
                f"the key {request.key!r} was used for another request; use a new key for each "
                f"request, and the same one only to repeat it"
            )
        entry = self._log.row(seq)
        if entry is not None and entry.refused is not None:
            raise RefusedError(entry.refused)
        return Receipt(version=seq, is_duplicate=True)

    def _write_documents(self, most: int) -> None:
        self._queue.expire(self._log.elapsed())
        rows, gone, before = self._queue.take_changes(most)
        self._log.drop_documents(gone, before)
        self._log.put_documents(rows)
        if len(rows) < most:  # none is left
            self._documents_due = monotonic() + TICK
