"""The thread that owns the log: writes what was asked for, many requests in one commit.

While one commit waits for the disk the next requests gather: the more there are, the fewer flushes
each costs.

How much may wait: past that, others are sent away, so that memory is bounded.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from clasher.errors import BusyError, ClasherError, ConflictError, RefusedError, StoppedError
from clasher.service.documents import Awaiting
from clasher.service.log import Body, Entry, Key, Log, encode
from clasher.service.options import Options
from clasher.service.structs import Receipt

RETRY_AFTER = 1.0  # seconds


class Admission:
    """Requests that were accepted and are not answered yet, bounded by number and bytes."""

    def __init__(self, requests: int, size: int) -> None:
        self.most = requests
        self._most_bytes = size
        self._lock = threading.Lock()
        self._inside: dict[Request, None] = {}
        self._bytes = 0

    def admit(self, request: Request) -> None:
        """Take a request in, or raise ``BusyError``; a single one always finds room."""
        with self._lock:
            full = len(self._inside) >= self.most or self._bytes + request.size > self._most_bytes
            if full and self._inside:
                raise BusyError(RETRY_AFTER)
            self._inside[request] = None
            self._bytes += request.size
        request.future.set_running_or_notify_cancel()  # what is written can no longer be cancelled
        request.future.add_done_callback(lambda _: self._leave(request))

    def reject_all(self, error: Exception) -> None:
        """Tell all who wait that nothing will come of it."""
        with self._lock:
            inside = list(self._inside)
        for request in inside:
            with suppress(InvalidStateError):  # it was answered meanwhile
                request.future.set_exception(error)

    def __len__(self) -> int:
        return len(self._inside)

    def _leave(self, request: Request) -> None:
        with self._lock:
            del self._inside[request]
            self._bytes -= request.size


TOGETHER = 1024  # requests of one commit
TOGETHER_BYTES = 8 * 2**20
TICK = 1.0  # seconds after which predicted documents are on disk too
FLUSHED = 5.0  # seconds after which the mark of the log is flushed
SAVED = 600.0  # seconds after which it is written how long the log was in use, if nothing else is
DOCUMENTS = 2000  # of these, written in one commit
FEW = 10  # of these are written with any commit: more wait, and may not have to be written at all


@dataclass(eq=False)
class Request:
    """Something to be written and learnt.

    ``prepare`` tells what to write, given the log and the number it gets; it is called in the order
    of the log, so it sees what all requests before it have done.
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
    """A request that is on disk; ``entry`` None repeats one that was there before."""

    request: Request
    entry: Entry | None
    receipt: Receipt
    size: int = 0


class Writer:
    """Writes requests to the log and hands them on, in order.

    Parameters
    ----------
    hand_on
        Takes what was committed; None when there will be no more.
    fail
        Told of the first error, after which nothing is written any more.
    """

    def __init__(
        self,
        log: Log,
        awaiting: Awaiting,
        options: Options,
        hand_on: Callable[[list[Committed] | None], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._log = log
        self._awaiting = awaiting
        self._options = options
        self._hand_on = hand_on
        self._fail = fail
        self._came = threading.Condition()
        self._requests: deque[Request] = deque()
        self._jobs: deque[tuple[Callable[[Log], Any], Future[Any]]] = deque()
        self._is_closing = False
        self._keys_until = 0.0
        self._documents_due = 0.0
        self._flush_due = monotonic() + FLUSHED
        self._saved_at = log.elapsed()
        self.thread = threading.Thread(target=self._run, name="clasher writer", daemon=True)

    def put(self, request: Request) -> None:
        """Have a request written."""
        with self._came:
            self._check_open()
            self._requests.append(request)
            self._came.notify()

    def call(self, work: Callable[[Log], Any]) -> Future[Any]:
        """Have something done with the log, between two commits."""
        future: Future[Any] = Future()
        with self._came:
            self._check_open()
            self._jobs.append((work, future))
            self._came.notify()
        return future

    def _check_open(self) -> None:
        if self._is_closing:
            raise StoppedError("the service is closing")

    def close(self) -> None:
        """Write what there is, and end."""
        with self._came:
            self._is_closing = True
            self._came.notify()

    def _run(self) -> None:
        try:
            while self._turn():
                pass
            self._write_documents(most=self._options.awaiting.documents)
            self._log.flush_mark()
            self._hand_on(None)
        except BaseException as error:
            self.close()
            for _, future in self._jobs:
                future.set_exception(StoppedError(f"the log has failed: {error}"))
            self._fail(error)

    def _turn(self) -> bool:
        """Write and do what has come; whether there is more to wait for."""
        with self._came:
            self._came.wait_for(self._has_work, timeout=TICK)
            requests = self._take()
            goes_on = not self._is_closing or bool(self._requests)
        is_due = self._log.elapsed() - self._saved_at >= SAVED
        if requests or self._awaiting.has_changes or is_due:
            self._commit(requests)
        if monotonic() >= self._flush_due:
            self._log.flush_mark()
            self._flush_due = monotonic() + FLUSHED
        while self._jobs:
            self._do(*self._jobs[0])
            self._jobs.popleft()
        return goes_on

    def _do(self, work: Callable[[Log], Any], future: Future[Any]) -> None:
        """Do something with the log; an error of the database is the end of it."""
        try:
            future.set_result(work(self._log))
        except ClasherError as error:
            future.set_exception(error)

    def _has_work(self) -> bool:
        return bool(
            self._requests or self._jobs or self._is_closing or self._should_write_documents()
        )

    def _should_write_documents(self) -> bool:
        return self._awaiting.behind > 0 and monotonic() >= self._documents_due

    def _take(self) -> list[Request]:
        taken: list[Request] = []
        size = 0
        while self._requests and len(taken) < TOGETHER:
            size += self._requests[0].size
            if taken and size > TOGETHER_BYTES:
                break
            taken.append(self._requests.popleft())
        return taken

    def _commit(self, requests: list[Request]) -> None:
        committed = []
        with self._log.transaction():
            for request in requests:
                done = self._write(request)
                if done is not None:
                    committed.append(done)
            self._forget_keys()
            is_cheap = self._awaiting.behind <= FEW
            self._put_documents(DOCUMENTS if is_cheap or self._should_write_documents() else 0)
        self._saved_at = self._log.elapsed()
        if committed:
            self._hand_on(committed)

    def _write(self, request: Request) -> Committed | None:
        """Write one request; those that cannot be are told so at once."""
        try:
            if request.key is not None and (used := self._log.key(request.key)) is not None:
                return Committed(request, None, self._repeated(request, used))
            seq = self._log.next_seq
            body = request.prepare(self._log, seq)
        except ClasherError as error:
            request.future.set_exception(error)
            return None
        raw = encode(body)
        self._log.append(request.at, request.who, raw)
        if request.key is not None:
            self._log.add_key(request.key, Key(seq, request.digest), self._log.elapsed())
        entry = Entry(seq, request.at, request.who, body)
        return Committed(request, entry, Receipt(version=seq), len(raw))

    def _repeated(self, request: Request, used: Key) -> Receipt:
        if used.digest != request.digest:
            raise ConflictError(
                f"the key {request.key!r} was used for something else; use a new key for each "
                f"request, and the same one only to repeat it"
            )
        refused = self._log.refused(used.seq)
        if refused is not None:
            raise RefusedError(refused)
        return Receipt(version=used.seq, is_duplicate=True)

    def _forget_keys(self) -> None:
        now = self._log.elapsed()
        if now >= self._keys_until:
            self._log.forget_keys(now - self._options.key_seconds, self._options.keys)
            self._keys_until = now + 60.0

    def _put_documents(self, most: int) -> None:
        self._awaiting.expire(self._log.elapsed())
        changes = self._awaiting.take_changes(most)
        self._log.drop_documents(changes.gone, changes.before)
        self._log.put_documents(changes.rows)
        if len(changes.rows) < most:  # that was all there were
            self._documents_due = monotonic() + TICK

    def _write_documents(self, most: int) -> None:
        if self._awaiting.has_changes or self._log.elapsed() - self._saved_at >= TICK:
            with self._log.transaction():
                self._put_documents(most)
