"""The thread that owns the two copies of the model: learns what was written, in micro-batches.

Two copies of the state: everyone reads the front one, the learner changes the back one.

Readers never wait for learning: they note on which copy they are, and the learner, once it has
turned the copies round, waits for those who are still on the old front before it touches that.
(Left-right, after Ramalhete and Correia, 2015.)
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
from clasher.service.answers import Differences
from clasher.service.documents import Awaiting
from clasher.service.events import LEARNED, Events
from clasher.service.log import Entry, Feedback, Learn, Relabel, Replace
from clasher.service.options import Options
from clasher.service.state import Prepared, Refusals, State, documents_of
from clasher.service.structs import Receipt
from clasher.service.writer import Committed


class Copies:
    """A state that is read while it is changed.

    Examples
    --------
    >>> from clasher.model import Clasher
    >>> copies = Copies(State(Clasher(64)))
    >>> copies.back.model.learn("wheat", {"grain"})
    >>> with copies.reading() as state:
    ...     print(state.model.labels)
    []
    >>> copies.turn()
    >>> copies.wait()
    >>> with copies.reading() as state:
    ...     print(state.model.labels)
    ['grain']
    """

    def __init__(self, state: State) -> None:
        self.front = state
        self.back = state.copy()
        self._readers = {id(self.front): 0, id(self.back): 0}
        self._left = threading.Condition()

    @contextmanager
    def reading(self) -> Iterator[State]:
        """The front copy, which does not change meanwhile."""
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

    def turn(self) -> None:
        """Let new readers see the back copy; the other one is not to be changed yet: ``wait``."""
        with self._left:
            self.front, self.back = self.back, self.front

    def wait(self) -> None:
        """Wait until nobody reads the back copy any more."""
        with self._left:
            self._left.wait_for(lambda: not self._readers[id(self.back)])


TOGETHER = 2048  # documents of a micro-batch


class Learner:
    """Applies what was committed to both copies, acknowledges it, and writes snapshots.

    Parameters
    ----------
    was_snapshot
        Told of the oldest version that a snapshot is kept of: what is before it may go.
    was_refused
        Told of entries that could not be done.
    fail
        Told of the first error, after which nothing is learnt any more.
    """

    def __init__(
        self,
        copies: Copies,
        snapshots: Snapshots,
        awaiting: Awaiting,
        events: Events,
        options: Options,
        was_snapshot: Callable[[int], object],
        was_refused: Callable[[Refusals], object],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._copies = copies
        self._snapshots = snapshots
        self._awaiting = awaiting
        self._events = events
        self._options = options
        self._was_snapshot = was_snapshot
        self._was_refused = was_refused
        self._fail = fail
        self._came = threading.Condition()
        self._committed: deque[Committed] = deque()
        self._wanted: deque[Future[BinaryIO]] = deque()
        self._is_closing = False
        self._documents = self._bytes = 0  # since the last snapshot
        self.snapshot_version = max(snapshots.versions(), default=0)
        self.thread = threading.Thread(target=self._run, name="clasher learner", daemon=True)

    def put(self, committed: list[Committed] | None) -> None:
        """Have requests learnt that are on disk; None: there will be no more."""
        with self._came:
            if committed is None:
                self._is_closing = True
            else:
                self._committed.extend(committed)
            self._came.notify()

    def want_model(self) -> Future[BinaryIO]:
        """The model as a file, opened for reading, as it is after what is waiting now."""
        future: Future[BinaryIO] = Future()
        with self._came:
            if self._is_closing:
                raise StoppedError("the service is closing")
            self._wanted.append(future)
            self._came.notify()
        return future

    def _run(self) -> None:
        try:
            while self._turn():
                pass
            self._snapshot()
        except BaseException as error:
            self.put(None)
            for future in self._wanted:
                future.set_exception(StoppedError(f"the snapshot could not be written: {error}"))
            self._fail(error)

    def _turn(self) -> bool:
        with self._came:
            self._came.wait_for(lambda: self._committed or self._wanted or self._is_closing)
            batch = self._take()
            wanted = 0 if self._committed else len(self._wanted)
            goes_on = not self._is_closing or bool(self._committed)
        if batch:
            self._learn(batch)
        if wanted:
            self._snapshot()
            path = self._snapshots.model_file(self._copies.back.seq)
            for _ in range(wanted):
                self._wanted[0].set_result(path.open("rb"))
                self._wanted.popleft()
        elif self._is_due():
            self._snapshot()
        return goes_on

    def _take(self) -> list[Committed]:
        taken, documents = [], 0
        while self._committed and documents < TOGETHER:
            taken.append(self._committed.popleft())
            entry = taken[-1].entry
            if entry is not None:
                documents += documents_of(entry)
        return taken

    def _learn(self, batch: list[Committed]) -> None:
        """Left-right: change the back copy, turn them round, change the other in the same way."""
        entries = [done.entry for done in batch if done.entry is not None]
        prepared: Prepared = {}
        refusals = self._copies.back.apply(entries, prepared)
        differences = self._differences(entries)
        if refusals:
            self._was_refused(refusals)
        self._copies.turn()
        for done in batch:
            self._acknowledge(done, refusals, differences)
        self._copies.wait()
        rung = self._copies.back.model.alarms[-1:]
        self._copies.back.apply(entries, prepared)
        self._tell(entries)
        if self._copies.back.model.alarms[-1:] != rung:
            self._events.publish("alarm", words=str(self._copies.back.model.alarms[-1]))
        self._documents += sum(map(documents_of, entries))
        self._bytes += sum(done.size for done in batch)

    def _differences(self, entries: Sequence[Entry]) -> Differences | None:
        """What answers of people have changed, where there are any."""
        answers = [entry.body for entry in entries if isinstance(entry.body, Feedback)]
        if not answers:
            return None
        recent = self._awaiting.newest(self._options.recent_documents)
        return Differences(self._copies.front.model, self._copies.back.model, recent, answers)

    def _acknowledge(
        self, done: Committed, refusals: Refusals, differences: Differences | None
    ) -> None:
        receipt, entry = done.receipt, done.entry
        if entry is None:
            done.request.future.set_result(receipt)
        elif entry.seq in refusals:
            done.request.future.set_exception(RefusedError(refusals[entry.seq]))
        else:
            done.request.future.set_result(_receipt(receipt, entry, differences))

    def _tell(self, entries: Sequence[Entry]) -> None:
        """Say what happened, once per kind."""
        learned = sum(documents_of(entry) for entry in entries if isinstance(entry.body, Learn))
        if learned:
            self._events.publish(LEARNED, documents=learned, version=entries[-1].seq)
        for entry in entries:
            if isinstance(entry.body, Feedback):
                self._events.publish("feedback", id=entry.body.id, who=entry.who, version=entry.seq)
            elif isinstance(entry.body, Relabel):
                said = msgspec.to_builtins(entry.body)
                self._events.publish("label", **{**said, "version": entry.seq})
            elif isinstance(entry.body, Replace):
                self._events.publish("model", version=entry.seq)

    def _is_due(self) -> bool:
        most = self._options
        return self._documents >= most.snapshot_documents or self._bytes >= most.snapshot_bytes

    def _snapshot(self) -> None:
        """From the back copy, so that nobody who predicts waits."""
        state = self._copies.back
        if state.seq != self.snapshot_version or not self._snapshots.versions():
            oldest = self._snapshots.write(state)
            self.snapshot_version = state.seq
            self._was_snapshot(oldest)
            self._events.publish("snapshot", version=state.seq)
        self._documents = self._bytes = 0


def _receipt(receipt: Receipt, entry: Entry, differences: Differences | None) -> Receipt:
    body = entry.body
    if isinstance(body, Learn):
        return msgspec.structs.replace(receipt, documents=len(body.documents))
    if isinstance(body, Feedback) and differences is not None:
        return msgspec.structs.replace(
            receipt, documents=1, id=body.id, before=body.before, after=body.after,
            changes=differences.of(body),
        )  # fmt: skip
    return receipt
