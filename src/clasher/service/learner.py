"""The thread that owns the two copies of the model: it learns committed requests in batches.

Readers use the front copy and the learner changes the back copy, so predictions never wait for
learning. Each reader registers on its copy; after the learner has swapped the copies, it waits for
the readers of the old front before it changes that (left-right, after Ramalhete and Correia, 2015).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import BinaryIO

import msgspec

from clasher.errors import RefusedError, StoppedError
from clasher.runtime.snapshots import Snapshots
from clasher.service.answers import compare
from clasher.service.documents import DocumentQueue
from clasher.service.events import LEARNED, Events
from clasher.service.log import Entry, Feedback, Learn, Relabel, Replace
from clasher.service.options import EngineOptions
from clasher.service.state import Prepared, Refusals, ServiceState, documents_of
from clasher.service.structs import Changes
from clasher.service.writer import Committed

TOGETHER = 2048  # documents in a batch


class Copies:
    """Two copies of a state: one to read while the other changes."""

    def __init__(self, state: ServiceState) -> None:
        self.front = state
        self.back = state.copy()
        self._readers = {id(self.front): 0, id(self.back): 0}
        self._left = threading.Condition()

    @contextmanager
    def reading(self) -> Iterator[ServiceState]:
        """Yield the front copy, which does not change during the block."""
        with self._left:
            state = self.front
            self._readers[id(state)] += 1
        try:
            yield state
        finally:
            with self._left:
                self._readers[id(state)] -= 1
                if not self._readers[id(state)]:
                    self._left.notify_all()

    def swap(self) -> None:
        """Show new readers the back copy; ``wait`` before you change the other one."""
        with self._left:
            self.front, self.back = self.back, self.front

    def wait(self) -> None:
        with self._left:
            self._left.wait_for(lambda: not self._readers[id(self.back)])


class Learner:
    """Apply committed requests to both copies, acknowledge them, and write snapshots.

    ``on_snapshot`` gets the version up to which the log is no longer needed, ``on_refused`` the
    entries that could not be applied, ``fail`` the first error, after which nothing is learnt.
    """

    def __init__(
        self,
        copies: Copies,
        snapshots: Snapshots,
        queue: DocumentQueue,
        events: Events,
        options: EngineOptions,
        on_snapshot: Callable[[int], object],
        on_refused: Callable[[Refusals], object],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._copies, self._snapshots, self._queue = copies, snapshots, queue
        self._events, self._options = events, options
        self._on_snapshot, self._on_refused, self._fail = on_snapshot, on_refused, fail
        self._came = threading.Condition()
        self._committed: deque[Committed] = deque()
        self._model_requests: deque[Future[BinaryIO]] = deque()
        self._is_closing = False
        self._documents = self._bytes = 0  # since the last snapshot
        self.snapshot_version = max(snapshots.versions(), default=0)
        self.thread = threading.Thread(target=self._run, name="clasher learner", daemon=True)

    def put(self, committed: list[Committed] | None) -> None:
        """Queue requests that are on disk; None ends the thread."""
        with self._came:
            if committed is None:
                self._is_closing = True
            else:
                self._committed.extend(committed)
            self._came.notify()

    def request_model(self) -> Future[BinaryIO]:
        """Return the model as an open file, after all that is queued now."""
        future: Future[BinaryIO] = Future()
        with self._came:
            if self._is_closing:
                raise StoppedError("the service is closing")
            self._model_requests.append(future)
            self._came.notify()
        return future

    def _run(self) -> None:
        try:
            while self._turn():
                pass
            self._snapshot()
        except BaseException as error:
            self.put(None)
            for future in self._model_requests:
                future.set_exception(StoppedError(f"the snapshot could not be written: {error}"))
            self._fail(error)

    def _turn(self) -> bool:
        with self._came:
            self._came.wait_for(lambda: self._committed or self._model_requests or self._is_closing)
            batch: list[Committed] = []
            documents = 0
            while self._committed and documents < TOGETHER:
                batch.append(self._committed.popleft())
                documents += 0 if (entry := batch[-1].entry) is None else documents_of(entry)
            requested = 0 if self._committed else len(self._model_requests)
            goes_on = not self._is_closing or bool(self._committed)
        if batch:
            self._learn(batch)
        if requested:
            self._snapshot()
            path = self._snapshots.model_file(self._copies.back.seq)
            for _ in range(requested):
                self._model_requests[0].set_result(path.open("rb"))
                self._model_requests.popleft()
        elif (
            self._documents >= self._options.snapshot_documents
            or self._bytes >= self._options.snapshot_bytes
        ):
            self._snapshot()
        return goes_on

    def _learn(self, batch: list[Committed]) -> None:
        """Change the back copy, swap, acknowledge, change the other copy in the same way."""
        entries = [done.entry for done in batch if done.entry is not None]
        prepared: Prepared = {}
        refusals = self._copies.back.apply(entries, prepared)
        changes: dict[int, Changes] = {}
        answers = {one.seq: one.body for one in entries if isinstance(one.body, Feedback)}
        if answers:
            recent = self._queue.newest(self._options.recent_documents)
            before, after = self._copies.front.model, self._copies.back.model
            found = compare(before, after, recent, list(answers.values()))
            changes = dict(zip(answers, found, strict=True))
        if refusals:
            self._on_refused(refusals)
        self._copies.swap()
        for done in batch:
            self._acknowledge(done, refusals, changes)
        self._copies.wait()
        rung = self._copies.back.model.alarms[-1:]
        self._copies.back.apply(entries, prepared)
        self._publish(entries)
        if self._copies.back.model.alarms[-1:] != rung:
            self._events.publish("alarm", words=str(self._copies.back.model.alarms[-1]))
        self._documents += sum(map(documents_of, entries))
        self._bytes += sum(done.size for done in batch)

    def _acknowledge(
        self, done: Committed, refusals: Refusals, changes: dict[int, Changes]
    ) -> None:
        receipt, entry = done.receipt, done.entry
        if entry is not None and entry.seq in refusals:
            done.request.future.set_exception(RefusedError(refusals[entry.seq]))
            return
        if entry is not None and isinstance(body := entry.body, Learn):
            receipt = msgspec.structs.replace(receipt, documents=len(body.documents))
        elif entry is not None and isinstance(body := entry.body, Feedback):
            receipt = msgspec.structs.replace(
                receipt, documents=1, id=body.id, before=body.before, after=body.after,
                changes=changes[entry.seq],
            )  # fmt: skip
        done.request.future.set_result(receipt)

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
        """Write the back copy, so that predictions do not wait."""
        state = self._copies.back
        if state.seq != self.snapshot_version or not self._snapshots.versions():
            oldest = self._snapshots.write(state)
            self.snapshot_version = state.seq
            self._on_snapshot(oldest)
            self._events.publish("snapshot", version=state.seq)
        self._documents = self._bytes = 0
