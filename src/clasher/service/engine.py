"""The engine of a service: one model that many share, of which nothing is lost.

What is said is written to a log, many requests in one commit, then learnt, and only then
acknowledged. Predictions are made on a consistent copy and never wait for learning.

What can be asked of an engine: nothing here changes the model, or waits for learning.

The life of an engine: it opens a folder, runs two threads, and closes or fails as a whole.
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
from typing import BinaryIO, Self, TypeVar

import msgspec
from msgspec.structs import replace

from clasher.errors import ConflictError, LabelError, ServiceError, SettingError, StoppedError
from clasher.evaluate import process_memory
from clasher.runtime.folder import DataFolder
from clasher.runtime.judged import Labels
from clasher.runtime.quality import figures
from clasher.runtime.snapshots import Snapshots
from clasher.service import answers, checks, recovery, views
from clasher.service.documents import Awaiting, Predicted, Teaching
from clasher.service.events import Events, Subscription
from clasher.service.export import lessons
from clasher.service.learner import Copies, Learner
from clasher.service.log import Body, Learn, LibraryError, Log, Relabel, Replace, Row, unusable
from clasher.service.options import Options
from clasher.service.recovery import receive
from clasher.service.state import Refusals
from clasher.service.structs import (
    Action,
    Alarmed,
    Document,
    Explained,
    LabelList,
    LabelPage,
    Leased,
    Lesson,
    Metrics,
    NameList,
    Prediction,
    Receipt,
    Recent,
    TeachItem,
)
from clasher.service.views import ORDERS, Listing, predict, shown
from clasher.service.writer import Admission, Request, Writer
from clasher.settings import Settings
from clasher.text import label_names
from clasher.text.analyzer import Tokenizer

WORDS = 5  # of a label in a list
WORDS_OF_ONE = 20
SUGGESTED = 9  # labels of a document to teach: one for each digit key


class Reading:
    """Predictions, explanations, labels and figures, from a consistent copy."""

    options: Options
    folder: DataFolder
    _awaiting: Awaiting
    _copies: Copies
    _events: Events
    _admission: Admission
    _learner: Learner
    _log: Log
    _clock: Callable[[], float]
    _timer: Callable[[], float]
    _started: float

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._predicted = 0

    def predict(
        self, documents: Sequence[Document], top: int = 5, keep: bool = True
    ) -> list[Prediction]:
        """The labels of documents, with their probabilities and those of the ``top`` best.

        Unless told not to ``keep`` them, documents can be spoken of by id: ``feedback``.
        """
        for place, document in enumerate(documents):
            checks.check_text(document.text, f"document {place}: ")
            if document.id is not None:
                checks.check_name("id", document.id)
        with self._copies.reading() as state:
            predicted = predict(state, documents, top, self._clock())
        if keep:
            self._awaiting.add(predicted, self._log.elapsed())
        with self._counting:
            self._predicted += len(predicted)
        return [shown(document) for document in predicted]

    def _predict_again(self, texts: Sequence[str]) -> list[Predicted]:
        """Predict texts that somebody is about to teach; nothing is kept or counted."""
        with self._copies.reading() as state:
            return predict(state, [Document(text=text) for text in texts], SUGGESTED, 0.0)

    def explain(
        self, text: str, labels: Sequence[str] | None = None, top: int = 3
    ) -> list[Explained]:
        """Why these labels, or the ``top`` best ones: signed stretches of the text.

        The weightiest thousand stretches of each label are told; ``other`` has the sum of the rest.
        Learning goes on between two labels, so that they may be of different versions.
        """
        names = self.best(text, top) if labels is None else labels
        return [self.explain_one(text, name) for name in names]

    def best(self, text: str, top: int) -> list[str]:
        """The ``top`` best labels of a text, the best first."""
        checks.check_text(text)
        with self._copies.reading() as state:
            return list(predict(state, [Document(text=text)], top, 0.0)[0].probabilities)[:top]

    def explain_one(self, text: str, label: str) -> Explained:
        """Why this label: signed stretches of the text."""
        checks.check_text(text)
        with self._copies.reading() as state:
            explanation = state.model.explain(text, state.labels.now(label))
        return views.explained(explanation)

    def labels(
        self,
        query: str = "",
        sort: str = "support",
        start: int = 0,
        most: int | None = None,
        words: int = WORDS,
        descending: bool | None = None,
    ) -> LabelList:
        """The labels whose names contain ``query``, a page of them; words are of that page only.

        Unless told otherwise, names ascend, and the largest figures come first.
        """
        if sort not in ORDERS:
            raise SettingError.of("sort", "one of " + ", ".join(ORDERS), sort, "labels")
        with self._copies.reading() as state:
            listing = Listing(state)
            found = listing.names(query, sort, descending)
            told = [
                replace(listing.of(name), words=views.words(state, name, words))
                for name in found[start : None if most is None else start + most]
            ]
            return LabelList(labels=told, total=len(found))

    def names(self) -> NameList:
        """The names of all labels, for those who search in them."""
        with self._copies.reading() as state:
            return Listing(state).all_names()

    def label(self, label: str | int) -> LabelPage:
        """All about a label, given by name or number: words, neighbours, recent documents."""
        name = self._name_of(label)
        with self._copies.reading() as state:
            recent = self._awaiting.newest(self.options.awaiting.documents)
            return views.label_page(state, name, recent, WORDS_OF_ONE)

    def recent(self, most: int = 50) -> list[Recent]:
        """The last documents that were predicted, the newest first."""
        return [document.recent() for document in self._awaiting.newest(most)]

    def document(self, id: str) -> Recent:  # noqa: A002
        """A document that was predicted, by its id."""
        return self._awaiting.get(id).recent()

    def alarms(self) -> list[Alarmed]:
        """The changes that the model noticed, the newest first."""
        untaught = self._awaiting.untaught(self._log.elapsed())
        with self._copies.reading() as state:
            return views.alarms(state, untaught)

    @property
    def settings(self) -> Settings:
        """The settings of the model."""
        return self._copies.front.model.settings

    @property
    def version(self) -> int:
        """The version of the model that predicts now: the last entry of the log that it learnt."""
        return self._copies.front.seq

    def metrics(self) -> Metrics:
        """How the service is doing."""
        kept = self._log.kept
        with self._copies.reading() as state:
            model, most = state.model.nbytes, state.model.max_nbytes
            return Metrics(
                documents_learned=state.learned,
                documents_predicted=self._predicted,
                documents_taught=state.taught,
                labels=len(state.model.labels),
                version=state.seq,
                cumulative=figures(state.quality.all),
                recent=figures(state.quality.recent()),
                threshold=state.model.threshold,
                model_bytes=2 * model,
                model_bytes_most=2 * most,
                memory_bytes=process_memory(),
                disk_bytes=self.folder.bytes_on_disk(),
                disk_bytes_most=self._most_on_disk(most),
                log_entries=kept.entries,
                log_dropped=kept.dropped,
                awaiting=len(self._awaiting),
                awaiting_most=self.options.awaiting.documents,
                awaiting_dropped=self._awaiting.dropped,
                leased=self._awaiting.leased(self._log.elapsed()),
                waiting_requests=len(self._admission),
                waiting_most=self._admission.most,
                subscribers=len(self._events),
                subscribers_dropped=self._events.dropped,
                snapshot_version=self._learner.snapshot_version,
                uptime_seconds=self._timer() - self._started,
            )

    def _most_on_disk(self, model: int) -> int:
        """Two snapshots, one that is being written and a damaged one; the log and its journal."""
        options = self.options
        log = options.log_bytes + 2 * options.snapshot_bytes + options.awaiting.bytes
        return 4 * model + 2 * log

    def _name_of(self, label: str | int) -> str:
        """What a label is called now."""
        with self._copies.reading() as state:
            if isinstance(label, str):
                name = state.labels.now(label)
                return name if name in state.labels.numbers else _unknown(label)
            names = state.labels.names()
            return names[label] if label in names else _unknown(label)


def _unknown(label: str | int) -> str:
    raise LabelError(f"the model knows no label {label!r}")


DISK_FAILED = 74  # EX_IOERR


def exit_process(why: str) -> None:
    """End the process at once, with one line: what is not on disk must not be acknowledged."""
    try:
        print(f"clasher: {why}", file=sys.stderr, flush=True)
    finally:  # standard error may go to the disk that is full
        os._exit(DISK_FAILED)


class Running(Reading):
    """An engine without what can be said to it: see ``Engine``."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: Settings | None = None,
        *,
        options: Options | None = None,
        tokenizer: Tokenizer | None = None,
        on_failure: Callable[[str], None] = exit_process,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
        is_stopping: Callable[[], bool] = bool,
        accept_loss: bool = False,
    ) -> None:
        super().__init__()
        self.options = Options() if options is None else options
        self._clock, self._tokenizer, self._on_failure = clock, tokenizer, on_failure
        self._timer, self._started = timer, timer()
        self._failure: str | None = None
        self._failing = threading.Lock()
        self._arriving: list[str] = []  # models that no entry names yet
        self._leftover: list[Callable[[Log], object]] = []
        self._is_closed = False
        self.folder = DataFolder(folder)
        try:
            if not accept_loss:
                recovery.check_log_exists(self.folder)
            self._log = Log(self.folder.log, accept_loss=accept_loss, timer=timer)
            snapshots = Snapshots(self.folder.snapshots, tokenizer)
            found = recovery.recover(
                self.folder, self._log, snapshots, settings, tokenizer, is_stopping, accept_loss
            )
            self._awaiting = Awaiting(self.options.awaiting)
            self._awaiting.load(self._log.documents(), self._log.elapsed())
        except BaseException as error:
            if hasattr(self, "_log"):
                self._log.abandon()
            self.folder.close()
            if isinstance(error, LibraryError):
                raise unusable(self.folder.log, error) from error
            raise
        self.told = [*self._log.told, *found.told]
        """What was found amiss at the start: damaged snapshots, losses that were accepted."""
        self.replayed = found.replayed
        """How many entries of the log were done again at the start."""
        self._copies = Copies(found.state)
        self._teaching = Teaching(self._awaiting, self.options.lease_seconds, self._predict_again)
        self._events = Events(clock)
        self._admission = Admission(self.options.waiting_requests, self.options.waiting_bytes)
        self._learner = Learner(
            self._copies, snapshots, self._awaiting, self._events, self.options,
            self._compact, self._note_refused, self._fail,
        )  # fmt: skip
        self._writer = Writer(
            self._log, self._awaiting, self.options, self._learner.put, self._fail
        )
        for thread in (self._learner.thread, self._writer.thread):
            thread.start()

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

    # ── how it is done ───────────────────────────────────────────────────────────────────────

    def _submit(
        self, prepare: Callable[[Log, int], Body], said: object, who: str, key: str | None
    ) -> Future[Receipt]:
        self._check_alive()
        checks.check_name("who", who)
        raw = msgspec.msgpack.encode(said)
        digest = b""
        if key is not None:
            checks.check_name("key", key)
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
                f"{self.folder.path}: cannot go on: {error}. Nothing more is acknowledged; all "
                f"that was is kept. See that the disk is sound and has room, then start again."
            )
        self._admission.reject_all(StoppedError(self._failure))
        self._events.close()
        self._writer.close()
        self._learner.put(None)
        self._on_failure(self._failure)


NOBODY = "anonymous"

Lease = TypeVar("Lease", Leased, TeachItem)


class Engine(Running, AbstractContextManager["Engine"]):
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
        The time of day, in seconds since 1970: shown, and never used to expire anything.
    timer
        A clock that never jumps: how long keys, leases and waiting documents last.
    is_stopping
        Asked while a long log is read: where it says so, ``StoppedError`` ends the start.
    accept_loss
        Go on where the end of the log is missing, or keys or waiting documents are damaged;
        ``told`` says what is lost. Otherwise ``FolderError`` says it.

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
    ...         names = [label.name for label in engine.labels().labels]
    ...         print(engine.metrics().documents_learned, names)
    6 ['grain', 'corn']
    """

    # ── teaching ─────────────────────────────────────────────────────────────────────────────

    def learn(
        self, documents: Sequence[Document], who: str = NOBODY, key: str | None = None
    ) -> Future[Receipt]:
        """Learn documents, all or none; those without labels have their words counted only.

        The same ``key`` again counts once: its receipt says so.
        """
        body = Learn(checks.taught(documents))
        with self._copies.reading() as state:
            checks.check_room(state, [document.labels for document in body.documents])
        return self._submit(lambda log, seq: body, body, who, key)

    def feedback(
        self,
        id: str,  # noqa: A002
        labels: Labels,
        who: str = NOBODY,
        key: str | None = None,
        digest: str | None = None,
    ) -> Future[Receipt]:
        """Learn the labels of a document that was predicted, in place of those said before.

        A list says all of its labels; a mapping says yes or no to some, and adds to what was said
        before. ``digest`` ties the answer to the text that was shown (``TeachItem.digest``): it is
        learnt on that text, also when the id was predicted again with another one. Raises
        ``UnknownDocumentError`` where the document is not kept (any more), and ``ConflictError``
        where its text is another one.
        """
        labels = checks.check_labels(labels)
        now = self._log.elapsed()

        def find() -> Predicted:
            return self._awaiting.find_shown(id, digest, who, now)

        find()
        with self._copies.reading() as state:
            checks.check_room(state, [labels])
        answer = answers.Answer(self._awaiting, find, labels)
        said = ["feedback", id, labels, *([] if digest is None else [digest])]
        future = self._submit(answer.prepare, said, who, key)
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
        if into is not None:
            into = label_names.check_name(into)
        body = Relabel(action=action, label=self._name_of(label), into=into)
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

    def teach(self, who: str, most: int = 1, ids: Sequence[str] | None = None) -> list[TeachItem]:
        """Documents for somebody to teach: uncertain, diverse and random ones, each says why.

        Nobody else gets them before the lease expires; ``feedback`` answers, and ``renew`` prolongs
        the lease. With ``ids``, those of these documents that are free. They are predicted now, and
        this prediction is the one that the answer judges.
        """
        checks.check_name("who", who)
        now = self._log.elapsed()
        if ids is not None:
            items = self._teaching.lease_these(who, ids, now)
        else:
            items = self._teaching.lease(who, most, now)
        return self._by_time_of_day(items)

    def renew(self, ids: Sequence[str], who: str) -> list[Leased]:
        """Prolong the leases that somebody has on these documents; lost ones are left out."""
        return self._by_time_of_day(self._teaching.renew(who, ids, self._log.elapsed()))

    def _by_time_of_day(self, leases: Sequence[Lease]) -> list[Lease]:
        """Tell people the time of day; leases end by the timer of the log."""
        since = self._clock() - self._log.elapsed()
        return [replace(one, leased_until=one.leased_until + since) for one in leases]

    def release(self, id: str, who: str) -> None:  # noqa: A002
        """Give a document back unanswered."""
        self._teaching.release(id, who)

    # ── what was taught, and the model ───────────────────────────────────────────────────────

    def log(self, after: int = 0) -> Iterator[Lesson]:
        """What was taught after a version, oldest first, a page at a time.

        Raises ``ConflictError`` where the log is shortened faster than it is read.
        """
        begun = False
        while rows := self._rows(after):
            if begun and self._log.dropped_through > after:
                raise ConflictError(
                    f"entries after version {after} were deleted during the export; export again, "
                    f"or keep a longer log"
                )
            begun = True
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
