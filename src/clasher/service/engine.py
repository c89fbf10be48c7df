"""The engine of a service: one model that many share, of which nothing is lost.

What is said is written to a log, many requests in one commit, then learnt, and only then
acknowledged. Predictions are made on a consistent copy and never wait for learning.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import BinaryIO, Self

import msgspec

from clasher.analyzer import Tokenizer
from clasher.errors import LabelError, ServiceError, StoppedError
from clasher.service import answers, checking, recovery
from clasher.service.admission import Admission
from clasher.service.awaiting import Awaiting
from clasher.service.copies import Copies
from clasher.service.entries import Body, Learn, Relabel, Replace
from clasher.service.events import Events, Subscription
from clasher.service.folder import DataFolder
from clasher.service.learner import Learner
from clasher.service.lessons import lessons
from clasher.service.log import Log, Row
from clasher.service.options import Options
from clasher.service.reading import Reading
from clasher.service.replacing import receive
from clasher.service.snapshots import Snapshots
from clasher.service.state import Refusals
from clasher.service.structs import Action, Document, Labels, Lesson, Receipt, TeachItem
from clasher.service.teaching import Teaching
from clasher.service.writer import Request, Writer
from clasher.settings import Settings

NOBODY = "anonymous"
DISK_FAILED = 74  # EX_IOERR


def exit_process(why: str) -> None:
    """End the process at once, with one line: what is not on disk must not be acknowledged."""
    print(f"clasher: {why}", file=sys.stderr, flush=True)
    os._exit(DISK_FAILED)


class Engine(Reading, AbstractContextManager["Engine"]):
    """A model in a data folder, shared by threads, and exactly as it was after any crash.

    Every method may be called from any thread. Those that teach return a future, whose result is
    there when it is on disk and learnt; they raise at once where what is asked for cannot be, and
    ``BusyError`` where too much is waiting.

    Parameters
    ----------
    folder
        The data folder; made where there is none. A second process is refused.
    settings
        The settings of the model of a new folder; an old one has its own.
    options
        The bounds of the service.
    tokenizer
        The function that cuts text, for a model that was made with one.
    on_failure
        What to do when the disk has failed; by default the process ends, with a line that says why.
    clock
        The time, in seconds since 1970.

    Examples
    --------
    >>> import tempfile
    >>> from clasher.settings import Settings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Engine(folder, Settings(dimensions=1024)) as engine:
    ...         text = Document(text="wheat and corn", labels=["grain"])
    ...         receipt = engine.learn([text] * 5, who="ann").result()
    ...         predicted = engine.predict([Document(text="corn and wheat")])[0]
    ...         answer = engine.feedback(predicted.id, ["grain", "corn"], who="bob").result()
    ...     with Engine(folder) as engine:
    ...         print(engine.metrics().documents_learned, [label.name for label in engine.labels()])
    6 ['grain', 'corn']
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: Settings | None = None,
        *,
        options: Options | None = None,
        tokenizer: Tokenizer | None = None,
        on_failure: Callable[[str], None] = exit_process,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.options = Options() if options is None else options
        self._clock, self._tokenizer, self._on_failure = clock, tokenizer, on_failure
        self._started = clock()
        self._failure: str | None = None
        self._failing = threading.Lock()
        self._arriving: list[str] = []  # models that no entry names yet
        self._leftover: list[Callable[[Log], object]] = []
        self._is_closed = False
        self.folder = DataFolder(folder)
        try:
            self._log = Log(self.folder.log)
            snapshots = Snapshots(self.folder.snapshots, tokenizer)
            found = recovery.recover(self.folder, self._log, snapshots, settings, tokenizer)
            self._awaiting = Awaiting(self.options.awaiting)
            self._awaiting.load(self._log.documents())
        except BaseException:
            if hasattr(self, "_log"):
                self._log.close()
            self.folder.close()
            raise
        self.told = found.told
        """What was found amiss at the start: damaged snapshots."""
        self.replayed = found.replayed
        """How many entries of the log were done again at the start."""
        self._copies = Copies(found.state)
        self._teaching = Teaching(self._awaiting, self.options.lease_seconds)
        self._events = Events(clock)
        self._admission = Admission(self.options.waiting_requests, self.options.waiting_bytes)
        self._learner = Learner(
            self._copies, snapshots, self._awaiting, self._events, self.options,
            self._compact, self._note_refused, self._fail,
        )  # fmt: skip
        self._writer = Writer(
            self._log, self._awaiting, self.options, self._learner.put, self._fail, clock
        )
        for thread in (self._learner.thread, self._writer.thread):
            thread.start()

    # ── teaching ─────────────────────────────────────────────────────────────────────────────

    def learn(
        self, documents: Sequence[Document], who: str = NOBODY, key: str | None = None
    ) -> Future[Receipt]:
        """Learn documents, all or none; those without labels have their words counted only.

        The same ``key`` again counts once: its receipt says so.
        """
        body = Learn(checking.taught(documents))
        with self._copies.reading() as state:
            checking.check_room(state, [document.labels for document in documents])
        return self._submit(lambda log, seq: body, body, who, key)

    def feedback(
        self,
        id: str,  # noqa: A002
        labels: Labels,
        who: str = NOBODY,
        key: str | None = None,
    ) -> Future[Receipt]:
        """Learn the labels of a document that was predicted, in place of those said before.

        A list says all of its labels; a mapping says yes or no to some, and adds to what was said
        before. Raises ``UnknownDocumentError`` where the document is not kept (any more).
        """
        checking.check_labels(labels)
        self._awaiting.get(id)
        with self._copies.reading() as state:
            checking.check_room(state, [labels])
        answer = answers.Answer(self._awaiting, id, labels)
        future = self._submit(answer.prepare, ["feedback", id, labels], who, key)
        future.add_done_callback(answer.settle)
        return future

    def undo(self, version: int, who: str = NOBODY, key: str | None = None) -> Future[Receipt]:
        """Take back the answer with this version; what was said before it, if anything, is learnt.

        The words, prototypes and statistics are unlearnt as ``Clasher.unlearn`` says; the weights
        of the margin rule have no inverse and keep a trace, until other documents move them. An
        undo can be undone.
        """
        undo = answers.Undo(self._awaiting, version)
        future = self._submit(undo.prepare, ["undo", version], who, key)
        future.add_done_callback(undo.settle)
        return future

    def relabel(
        self,
        action: Action,
        label: str | int,
        into: str | None = None,
        who: str = NOBODY,
        key: str | None = None,
    ) -> Future[Receipt]:
        """Rename, merge, retire, pin or unpin a label, given by its name or by its number.

        ``into`` is the new name, or the label that it becomes one with. A label keeps its number
        through a renaming, and its former names go on to mean it. Pinned labels are never given up
        for new ones.
        """
        if (into is None) != (action not in ("rename", "merge")):
            raise LabelError(f"to {action} a label needs {'one' if into else 'two'} of them")
        body = Relabel(action=action, label=self._name_of(label), into=into)
        for name in (body.label, body.into or body.label):
            checking.check_labels([name])
        return self._submit(lambda log, seq: body, body, who, key)

    def replace_model(
        self, source: BinaryIO, who: str = NOBODY, key: str | None = None
    ) -> Future[Receipt]:
        """Put another model, as ``Clasher.save`` writes it, in the place of this one.

        Labels of the same names keep their numbers; the quality is measured anew.
        """
        digest = receive(source, self.folder.models, self._tokenizer, self._arriving.append)
        body = Replace(digest)
        try:
            future = self._submit(lambda log, seq: body, body, who, key)
        except ServiceError:
            self._arriving.remove(digest)
            raise
        future.add_done_callback(lambda _: self._arriving.remove(digest))
        return future

    def teach(self, who: str, most: int = 1) -> list[TeachItem]:
        """Documents for somebody to teach: uncertain, diverse and random ones, each says why.

        Nobody else gets them before the lease expires; ``feedback`` answers.
        """
        checking.check_name("who", who)
        return self._teaching.lease(who, most, self._clock())

    def release(self, id: str, who: str) -> None:  # noqa: A002
        """Give a document back unanswered."""
        self._teaching.release(id, who)

    # ── what was taught, and the model ───────────────────────────────────────────────────────

    def log(self, after: int = 0) -> Iterator[Lesson]:
        """What was taught after a version, oldest first, a page at a time."""
        while rows := self._rows(after):
            for row in rows:
                yield from lessons(row)
            after = rows[-1].entry.seq

    def model_file(self) -> Future[BinaryIO]:
        """The model of now as a file, opened for reading, whose name may vanish."""
        self._check_alive()
        return self._learner.want_model()

    def subscribe(self, notify: Callable[[], None] | None = None) -> Subscription:
        """Hear of what happens: ``learned``, ``feedback``, ``label``, ``model``, ``snapshot``.

        ``notify`` is called from another thread when something has come. Who does not take events
        as they come is let go.
        """
        return self._events.subscribe(notify)

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    @property
    def failure(self) -> str | None:
        """Why nothing is taken any more, None where all is well."""
        return self._failure

    def close(self) -> None:
        """Finish what was accepted, write a snapshot, and let the folder go."""
        if self._is_closed:
            return
        self._is_closed = True
        self._writer.close()
        for thread in (self._writer.thread, self._learner.thread):
            thread.join()
        self._events.close()
        if self._failure is None:
            for work in self._leftover:
                work(self._log)
            self._log.close()
        else:
            self._log.abandon()
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ── how it is done ───────────────────────────────────────────────────────────────────────

    def _submit(
        self, prepare: Callable[[Log, int], Body], said: object, who: str, key: str | None
    ) -> Future[Receipt]:
        self._check_alive()
        checking.check_name("who", who)
        raw = msgspec.msgpack.encode(said)
        digest = b""
        if key is not None:
            checking.check_name("key", key)
            digest = blake2b(raw, digest_size=16).digest()
        request = Request(who, self._clock(), len(raw), prepare, key, digest)
        self._admission.admit(request)
        try:
            self._writer.put(request)
        except StoppedError as error:
            request.future.set_exception(error)
            raise
        return request.future

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise StoppedError(self._failure)
        if self._is_closed:
            raise StoppedError("the service is closed")

    def _rows(self, after: int) -> list[Row]:
        """A page of the log, read by the thread that owns it."""
        self._check_alive()
        rows: list[Row] = self._writer.call(lambda log: log.rows(after)).result()
        return rows

    def _compact(self, through: int) -> None:
        """Shorten the log behind the oldest snapshot that is kept."""

        def compact(log: Log) -> None:
            log.compact(through, self.options.log_bytes)
            recovery.drop_models(self.folder, log, through, self._arriving)

        self._later(compact)

    def _note_refused(self, refusals: Refusals) -> None:
        def note(log: Log) -> None:
            with log.transaction():
                log.mark_refused(refusals)

        self._later(note)

    def _later(self, work: Callable[[Log], object]) -> None:
        """What need not be done now; the writer may have ended already."""
        try:
            self._writer.call(work)
        except StoppedError:
            self._leftover.append(work)

    def _fail(self, error: BaseException) -> None:
        """Stop acknowledging, for good: what is not on disk was never promised."""
        with self._failing:
            if self._failure is not None:
                return
            self._failure = (
                f"{self.folder.path}: cannot go on: {error}. Nothing more is acknowledged; all that "
                f"was is kept. Make sure that the disk is sound and has room, then start again."
            )
        self._admission.reject_all(StoppedError(self._failure))
        self._events.close()
        self._writer.close()
        self._learner.put(None)
        self._on_failure(self._failure)
