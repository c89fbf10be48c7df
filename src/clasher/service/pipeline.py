"""The two threads of a service: the writer owns the log, the learner the copies of the model.

The writer saves many requests in one commit. While one commit waits for the disk, the next requests
gather: the more requests, the fewer flushes each of them costs.

The learner learns committed requests in batches. Readers use the front copy and the learner changes
the back copy, so predictions never wait for learning. Each reader registers on its copy; after the
learner has swapped the copies, it waits for the readers of the old front before it changes that
(left-right, after Ramalhete and Correia, 2015).

A snapshot is written by a third thread from the back copy, which stays as it is meanwhile. The
learner goes on with the front copy alone, in small batches for which readers wait, and the third
thread then repeats these changes on the back copy.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, BinaryIO, TypeAlias

import msgspec

from clasher.errors import BusyError, ClasherError, ConflictError, RefusedError, StoppedError
from clasher.service.documents import DocumentQueue
from clasher.service.events import LEARNED, Events
from clasher.service.log import Body, Entry, Feedback, Learn, Log, Relabel, Replace, encode
from clasher.service.recovery import ServiceFolder
from clasher.service.state import Prepared, Refusals, ServiceState, documents_of
from clasher.service.structs import Changes, EngineOptions, Receipt
from clasher.service.views import changes_of, decisions

RETRY_AFTER = 1.0  # seconds
TOGETHER = 1024  # requests in one commit
TOGETHER_BYTES = 8 * 2**20
TICK = 1.0  # seconds until predicted documents are written
FLUSHED = 5.0  # seconds between flushes of the mark
SAVED = 600.0  # seconds until the running time of an idle log is written
DOCUMENTS = 2000  # predicted documents to write in one commit
FEW = 10  # predicted documents to write with any commit: more wait, and may be gone by then
KEYS_CHECKED = 60.0  # seconds between two searches for expired keys
BATCH = 2048  # documents to learn at a time
SMALL_BATCH = 128  # while readers wait


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
    entry: Entry | None = None  # on disk; None if the request repeats an earlier one
    receipt: Receipt = field(default_factory=lambda: Receipt(version=0))
    written: int = 0  # bytes of the entry


Change: TypeAlias = Callable[[ServiceState], Refusals]


class Copies:
    """Two copies of a state: one to read while the other changes, or is written to disk."""

    def __init__(self, state: ServiceState) -> None:
        self.front = state
        self.back = state.copy()
        self.is_kept = False  # the back copy: only the thread that saves it may change it
        self._readers = {id(self.front): 0, id(self.back): 0}
        self._is_closed = False  # to readers
        self._turn = threading.Condition()
        self._behind: deque[Change] = deque()  # that the back copy lacks

    @contextmanager
    def reading(self) -> Iterator[ServiceState]:
        """Yield the front copy, which does not change during the block."""
        with self._turn:
            self._turn.wait_for(lambda: not self._is_closed)
            state = self.front
            self._readers[id(state)] += 1
        try:
            yield state
        finally:
            with self._turn:
                self._readers[id(state)] -= 1
                if not self._readers[id(state)]:
                    self._turn.notify_all()

    def change(self, change: Change) -> Refusals:
        """Make a change that new readers see; ``repeat`` it afterwards."""
        if not self.is_kept:
            refusals = change(self.back)
            with self._turn:
                self.front, self.back = self.back, self.front
            return refusals
        with self._turn:
            self._is_closed = True
            self._turn.wait_for(lambda: not self._readers[id(self.front)])
        try:
            return change(self.front)
        finally:
            with self._turn:
                self._is_closed = False
                self._turn.notify_all()

    def repeat(self, change: Change) -> None:
        """Repeat a change on the back copy, or leave that to its keeper."""
        with self._turn:
            if self.is_kept:
                self._behind.append(change)
                return
            self._turn.wait_for(lambda: not self._readers[id(self.back)])
        change(self.back)

    def keep(self) -> ServiceState:
        """Return the back copy, which no one else changes until ``give_back``."""
        self.is_kept = True
        return self.back

    def give_back(self) -> None:
        """Repeat on the back copy what the learner has done meanwhile, and end ``keep``."""
        while True:
            with self._turn:
                if not self._behind:
                    self.is_kept = False
                    return
                change = self._behind.popleft()
            change(self.back)


class Pipeline:
    """Write requests to the log, then learn and acknowledge them.

    The first error ends both threads; ``on_failure`` gets it as ``failure``.
    """

    def __init__(
        self,
        folder: ServiceFolder,
        log: Log,
        copies: Copies,
        queue: DocumentQueue,
        events: Events,
        options: EngineOptions,
        on_failure: Callable[[str], None],
    ) -> None:
        self._folder, self._log, self._copies = folder, log, copies
        self._queue, self._events, self._options = queue, events, options
        self._on_failure = on_failure
        self.failure: str | None = None
        self._came = threading.Condition()  # of requests and jobs, for the writer
        self._inside: dict[Request, None] = {}  # accepted, but not answered yet
        self._bytes = 0
        self._requests: deque[Request] = deque()
        self._jobs: deque[tuple[Callable[[Log], Any], Future[Any]]] = deque()
        self._is_closing = False
        self._keys_due = self._documents_due = 0.0
        self._flush_due = monotonic() + FLUSHED
        self._saved_at = log.elapsed()
        self._written = threading.Condition()  # for the learner
        self._committed: deque[Request] = deque()
        self._model_requests: deque[Future[BinaryIO]] = deque()
        self._has_written_all = False
        self._is_saving = False
        self._saver: threading.Thread | None = None
        self._learnt_documents = self._learnt_bytes = 0  # since the last snapshot
        self.snapshot_version = max(folder.snapshots.versions(), default=0)
        self._threads = [
            threading.Thread(target=self._run, args=(work,), name=f"clasher {name}", daemon=True)
            for name, work in (("writer", self._write_all), ("learner", self._learn_all))
        ]
        for thread in self._threads:
            thread.start()

    def put(self, request: Request) -> None:
        """Accept a request, or raise ``BusyError``; a single one is always accepted."""
        most, most_bytes = self._options.waiting_requests, self._options.waiting_bytes
        with self._came:
            self._refuse_if(self._is_closing)
            is_full = len(self) >= most or self._bytes + request.size > most_bytes
            if is_full and self._inside:
                raise BusyError(RETRY_AFTER)
            self._inside[request] = None
            self._bytes += request.size
            request.future.set_running_or_notify_cancel()  # a written entry cannot be cancelled
            request.future.add_done_callback(lambda _: self._leave(request))
            self._requests.append(request)
            self._came.notify()

    def _refuse_if(self, is_over: bool) -> None:
        if is_over:
            raise StoppedError(self.failure or "the service is closed")

    def _leave(self, request: Request) -> None:
        with self._came:
            del self._inside[request]
            self._bytes -= request.size

    def __len__(self) -> int:
        return len(self._inside)

    def call(self, work: Callable[[Log], Any], *, is_late: bool = False) -> Future[Any]:
        """Queue work with the log, to be done between two commits; late work, or at the end."""
        future: Future[Any] = Future()
        with self._came:
            self._refuse_if(self._is_closing and not is_late)
            self._jobs.append((work, future))
            self._came.notify()
        return future

    def request_model(self) -> Future[BinaryIO]:
        """Return the model as an open file, after everything queued so far."""
        future: Future[BinaryIO] = Future()
        with self._written:
            self._refuse_if(self._has_written_all)
            self._model_requests.append(future)
            self._written.notify()
        return future

    def close(self) -> None:
        """Finish all accepted requests, and write a snapshot."""
        with self._came:
            self._is_closing = True
            self._came.notify()
        for thread in self._threads:
            thread.join()
        if self.failure is None:
            self._do_jobs()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Stop acknowledging permanently; only data on disk was acknowledged."""
        with self._came:
            if self.failure is not None:
                return
            self.failure = (
                f"{self._folder.path}: cannot go on: {error}. Nothing more is acknowledged; all "
                f"that was acknowledged is kept. Check that the disk works and has room, then "
                f"start again."
            )
            self._is_closing = True
            self._came.notify()
        self._end_learning()
        with self._came, self._written:
            waiting: list[Future[Any]] = [request.future for request in self._inside]
            waiting += [*self._model_requests, *(future for _, future in self._jobs)]
        for future in waiting:
            with suppress(InvalidStateError):  # answered meanwhile
                future.set_exception(StoppedError(self.failure))
        self._events.close()
        self._on_failure(self.failure)

    def _write_all(self) -> None:
        while self._write_turn():
            pass
        if self._queue.has_changes or self._log.elapsed() - self._saved_at >= TICK:
            with self._log.transaction():
                self._write_documents(most=self._options.awaiting.documents)
        self._log.mark.flush()
        self._end_learning()

    def _end_learning(self) -> None:
        with self._written:
            self._has_written_all = True
            self._written.notify()

    def _write_turn(self) -> bool:
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
            self._log.mark.flush()
            self._flush_due = monotonic() + FLUSHED
        self._do_jobs()
        return goes_on

    def _do_jobs(self) -> None:
        while self._jobs:
            work, future = self._jobs[0]
            try:
                future.set_result(work(self._log))
            except ClasherError as error:  # an error of the database ends the thread
                future.set_exception(error)
            self._jobs.popleft()

    def _are_documents_due(self) -> bool:
        return self._queue.behind > 0 and monotonic() >= self._documents_due

    def _commit(self, requests: list[Request]) -> None:
        with self._log.transaction():
            committed = [request for request in requests if self._write(request)]
            if (now := self._log.elapsed()) >= self._keys_due:
                self._log.forget_keys(now - self._options.key_seconds, self._options.keys)
                self._keys_due = now + KEYS_CHECKED
            is_cheap = self._queue.behind <= FEW
            self._write_documents(DOCUMENTS if is_cheap or self._are_documents_due() else 0)
        self._saved_at = self._log.elapsed()
        with self._written:
            self._committed.extend(committed)
            self._written.notify()

    def _write(self, request: Request) -> bool:
        """Write an entry, unless it repeats one; return False if the request is refused."""
        try:
            if request.key is not None and (used := self._log.key(request.key)) is not None:
                request.receipt = self._repeated(request, *used)
                return True
            seq = self._log.next_seq
            body = request.prepare(self._log, seq)
        except ClasherError as error:
            request.future.set_exception(error)
            return False
        raw = encode(body)
        self._log.append(request.at, request.who, raw)
        if request.key is not None:
            self._log.add_key(request.key, seq, request.digest, self._log.elapsed())
        request.entry, request.written = Entry(seq, request.at, request.who, body), len(raw)
        request.receipt = Receipt(version=seq)
        if isinstance(body, Learn):
            request.receipt = Receipt(version=seq, documents=len(body.documents))
        elif isinstance(body, Feedback):
            request.receipt = Receipt(
                version=seq, documents=1, id=body.id, before=body.before, after=body.after
            )
        return True

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
        changes = self._queue.take_changes(most)
        self._log.write_documents(*changes)
        if len(changes[0]) < most:  # none is left
            self._documents_due = monotonic() + TICK

    def _learn_all(self) -> None:
        while self._learn_turn():
            pass
        self._end_saving()
        self._snapshot()
        self._end_saving()

    def _learn_turn(self) -> bool:
        with self._written:
            self._written.wait_for(
                lambda: (
                    self._committed
                    or (self._model_requests and not self._is_saving)
                    or self._has_written_all
                )
            )
            batch: list[Request] = []
            documents, most = 0, SMALL_BATCH if self._copies.is_kept else BATCH
            while self._committed and documents < most:
                batch.append(self._committed.popleft())
                documents += 0 if (entry := batch[-1].entry) is None else documents_of(entry)
            is_wanted = bool(self._model_requests) and not self._committed
            goes_on = not self._has_written_all or bool(self._committed)
        if batch:
            self._learn(batch)
        is_due = (
            self._learnt_documents >= self._options.snapshot_documents
            or self._learnt_bytes >= self._options.snapshot_bytes
        )
        if is_due:  # the log and the changes to repeat must not grow without bound
            self._end_saving()
        if is_due or (is_wanted and not self._is_saving):
            self._snapshot()
        return goes_on

    def _learn(self, batch: list[Request]) -> None:
        """Show readers the change, acknowledge it, and make it on the other copy too."""
        entries = [done.entry for done in batch if done.entry is not None]
        prepared: Prepared = {}

        def change(state: ServiceState) -> Refusals:
            return state.apply(entries, prepared)

        answers = {one.seq: one.body for one in entries if isinstance(one.body, Feedback)}
        given = list(answers.values())
        recent = self._queue.newest(self._options.recent_documents) if given else []
        before = decisions(self._copies.front.model, recent, given)
        rung = self._copies.front.model.alarms[-1:]
        refusals = self._copies.change(change)
        after = decisions(self._copies.front.model, recent, given)
        found = changes_of(before, after, recent, given)
        changes: dict[int, Changes] = dict(zip(answers, found, strict=True))
        if refusals:
            self.call(lambda log: log.mark_refused(refusals), is_late=True)
        for done in batch:
            version = done.receipt.version
            if version in refusals:
                done.future.set_exception(RefusedError(refusals[version]))
            else:
                own = None if done.entry is None else changes.get(version)
                done.future.set_result(msgspec.structs.replace(done.receipt, changes=own))
        self._copies.repeat(change)
        self._publish(entries)
        if self._copies.front.model.alarms[-1:] != rung:
            self._events.publish("alarm", words=str(self._copies.front.model.alarms[-1]))
        self._learnt_documents += sum(map(documents_of, entries))
        self._learnt_bytes += sum(done.written for done in batch)

    def _publish(self, entries: Sequence[Entry]) -> None:
        learned = sum(documents_of(entry) for entry in entries if isinstance(entry.body, Learn))
        if learned:
            self._events.publish(LEARNED, documents=learned, version=entries[-1].seq)
        for entry in entries:
            body = entry.body
            if isinstance(body, Feedback):
                self._events.publish("feedback", id=body.id, who=entry.who, version=entry.seq)
            elif isinstance(body, Relabel):
                self._events.publish("label", **msgspec.to_builtins(body), version=entry.seq)
            elif isinstance(body, Replace):
                self._events.publish("model", version=entry.seq)

    def _snapshot(self) -> None:
        """Begin to write the back copy, while the front copy learns and predicts."""
        self._learnt_documents = self._learnt_bytes = 0
        requested = len(self._model_requests)
        self._is_saving = True
        state = self._copies.keep()

        def save() -> None:
            if state.seq != self.snapshot_version or not self._folder.snapshots.versions():
                oldest = self._folder.snapshots.write(state)
                self.call(lambda log: log.compact(oldest, self._options.log_bytes), is_late=True)
                self.call(lambda log: self._folder.drop_models(log, oldest), is_late=True)
                self.snapshot_version = state.seq
                self._events.publish("snapshot", version=state.seq)
            path = self._folder.snapshots.model_file(state.seq)
            for _ in range(requested):
                self._model_requests[0].set_result(path.open("rb"))
                self._model_requests.popleft()
            self._copies.give_back()
            with self._written:
                self._is_saving = False
                self._written.notify()

        self._saver = threading.Thread(
            target=self._run, args=(save,), name="clasher snapshot", daemon=True
        )
        self._saver.start()

    def _end_saving(self) -> None:
        """Wait for the snapshot that is being written."""
        if self._saver is not None:
            self._saver.join()
