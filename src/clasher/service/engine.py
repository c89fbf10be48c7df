"""The engine of a service: one model that many people share, and that loses nothing.

The writer thread saves requests to a log, many in one commit; the learner thread learns them and
acknowledges them. Predictions use a consistent copy of the model and never wait for learning.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from hashlib import blake2b
from typing import BinaryIO, Self, TypeVar

import msgspec
from msgspec.structs import replace

from clasher import durable
from clasher.errors import ConflictError, LabelError, ServiceError, SettingError
from clasher.evaluate import process_memory
from clasher.runtime.judged import Labels
from clasher.runtime.quality import figures
from clasher.service import checks, structs, views
from clasher.service.documents import Answer, DocumentQueue, Leases, PredictedDocument
from clasher.service.events import Events, Subscription
from clasher.service.export import lessons
from clasher.service.log import Body, DatabaseError, Entry, Learn, Log, Relabel, Replace, open_error
from clasher.service.pipeline import Copies, Pipeline, Request
from clasher.service.recovery import ServiceFolder, recover
from clasher.service.structs import Document, EngineOptions, Leased, Receipt, TeachItem
from clasher.settings import Settings
from clasher.text import label_names
from clasher.text.analyzer import Tokenizer

WORDS = 5  # of a label in a list
SUGGESTED = 9  # labels of a document to teach: one for each digit key
NOBODY = "anonymous"

Lease = TypeVar("Lease", Leased, TeachItem)


def exit_process(why: str) -> None:
    """End the process at once, with one line: changes that are not on disk need no reply."""
    try:
        print(f"clasher: {why}", file=sys.stderr, flush=True)
    finally:  # standard error may go to the full disk
        os._exit(os.EX_IOERR)


class Engine:
    """A model in a data folder, shared by threads, that any crash leaves exactly as it was.

    Every method may be called from any thread. Methods that teach return a future, which is done
    when the change is on disk and learnt. They raise at once if the request is invalid, and
    ``BusyError`` if too many requests wait.

    Parameters
    ----------
    folder
        The data folder; made if missing. A second process is refused.
    settings
        The settings of the model in a new folder; an existing folder has its own.
    options
        The bounds of the service.
    tokenizer
        The function that splits text, for a model that was made with one.
    on_failure
        Called when the disk has failed; by default the process ends with one line that says why.
    clock
        The time of day, in seconds since 1970: shown, but never used to expire anything.
    timer
        A clock that never jumps, for keys, leases and waiting documents.
    is_stopping
        Asked while a long log is replayed: if it returns true, ``StoppedError`` ends the start.
    accept_loss
        Go on if the end of the log is missing, or keys or waiting documents are damaged; ``notes``
        says what is lost. Otherwise ``FolderError`` says it.

    Attributes
    ----------
    notes : list of str
        Problems found at the start: damaged snapshots, accepted losses.
    replayed : int
        Log entries that the start replayed.

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

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: Settings | None = None,
        *,
        options: EngineOptions | None = None,
        tokenizer: Tokenizer | None = None,
        on_failure: Callable[[str], None] = exit_process,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
        is_stopping: Callable[[], bool] = bool,
        accept_loss: bool = False,
    ) -> None:
        self.options = EngineOptions() if options is None else options
        self._clock = clock
        self._timer, self._started = timer, timer()
        self._predicted, self._predicted_lock = 0, threading.Lock()
        self._is_closed = False
        self.folder = ServiceFolder(folder, tokenizer)
        log: Log | None = None
        try:
            if not accept_loss:
                self.folder.check_log_exists()
            self._log = log = Log(self.folder.log, accept_loss=accept_loss, timer=timer)
            state, notes, self.replayed = recover(
                self.folder, log, settings, is_stopping, accept_loss
            )
            self._queue = DocumentQueue(self.options.awaiting)
            self._queue.load(log.documents(), log.elapsed())
        except BaseException as error:
            if log is not None:
                log.abandon()
            self.folder.close()
            if isinstance(error, DatabaseError):
                raise open_error(self.folder.log, error) from error
            raise
        self.notes = [*log.notes, *notes]
        self._copies = Copies(state)
        self._leases = Leases(self._queue, self.options.lease_seconds, self._predict_texts)
        self._events = Events(clock)
        self._pipeline = Pipeline(
            self.folder, log, self._copies, self._queue, self._events, self.options, on_failure
        )

    def predict(
        self, documents: Sequence[Document], top: int = 5, keep: bool = True
    ) -> list[structs.Prediction]:
        """Predict documents, with the probabilities of their labels and of the ``top`` best.

        With ``keep``, ``feedback`` can name the documents by id.
        """
        checks.check_documents(documents)
        with self._copies.reading() as state:
            predicted = views.predict(state, documents, top, self._clock())
        if keep:
            self._queue.add(predicted, self._log.elapsed())
        with self._predicted_lock:
            self._predicted += len(predicted)
        return [
            structs.Prediction(
                id=one.id, labels=one.labels, probabilities=list(one.probabilities.items()),
                version=one.version,
            )
            for one in predicted
        ]  # fmt: skip

    def _predict_texts(self, texts: Sequence[str], top: int = SUGGESTED) -> list[PredictedDocument]:
        """Predict texts without keeping or counting them."""
        with self._copies.reading() as state:
            return views.predict(state, [Document(text=text) for text in texts], top, 0.0)

    def explain(
        self, text: str, labels: Sequence[str] | None = None, top: int = 3
    ) -> list[structs.Explained]:
        """Explain these labels, or the ``top`` best ones, by signed stretches of the text.

        Each label has its 1,000 weightiest stretches; ``other`` holds the sum of the rest. Learning
        goes on between two labels, so they may come from different versions.
        """
        names = self.best(text, top) if labels is None else labels
        return [self.explain_one(text, name) for name in names]

    def best(self, text: str, top: int) -> list[str]:
        """Return the ``top`` best labels of a text, best first."""
        checks.check_text(text)
        return list(self._predict_texts([text], top)[0].probabilities)[:top]

    def explain_one(self, text: str, label: str) -> structs.Explained:
        """Explain one label by signed stretches of the text."""
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
    ) -> structs.LabelList:
        """Return a page of the labels whose names contain ``query``, each with some words.

        By default names ascend, and the largest values come first.
        """
        if sort not in views.ORDERS:
            raise SettingError.of("sort", "one of " + ", ".join(views.ORDERS), sort, "labels")
        with self._copies.reading() as state:
            listing = views.Listing(state)
            found = listing.names(query, sort, descending)
            page = found[start : None if most is None else start + most]
            return structs.LabelList(
                labels=[listing.of(name, words) for name in page], total=len(found)
            )

    def names(self) -> structs.NameList:
        """Return the names of all labels, for searching."""
        with self._copies.reading() as state:
            return views.Listing(state).all_names()

    def label(self, label: str | int) -> structs.LabelPage:
        """Describe a label, given by name or number: words, neighbours, recent documents."""
        name = self._name_of(label)
        with self._copies.reading() as state:
            recent = self._queue.newest(self.options.awaiting.documents)
            return views.label_page(state, name, recent, words=20)

    def recent(self, most: int = 50) -> list[structs.Recent]:
        """Return the last predicted documents, newest first."""
        return [document.recent() for document in self._queue.newest(most)]

    def document(self, id: str) -> structs.Recent:  # noqa: A002
        """Return a predicted document by its id."""
        return self._queue.get(id).recent()

    def alarms(self) -> list[structs.DriftAlarm]:
        """Return the drift alarms of the model, newest first."""
        untaught = self._queue.untaught(self._log.elapsed())
        with self._copies.reading() as state:
            return views.alarms(state, untaught)

    @property
    def settings(self) -> Settings:
        """The settings of the model."""
        return self._copies.front.model.settings

    @property
    def version(self) -> int:
        """The version of the model that predicts now: the last log entry that it has learnt."""
        return self._copies.front.seq

    def metrics(self) -> structs.Metrics:
        """Return counts and measures of the service."""
        options = self.options
        with self._copies.reading() as state:
            most = state.model.max_nbytes
            # two snapshots, one being written and a damaged one; the log and its journal
            log_most = options.log_bytes + 3 * options.snapshot_bytes + options.awaiting.bytes
            return structs.Metrics(
                documents_learned=state.learned,
                documents_predicted=self._predicted,
                documents_taught=state.taught,
                labels=len(state.model.labels),
                version=state.seq,
                cumulative=figures(state.quality.all),
                recent=figures(state.quality.recent()),
                threshold=state.model.threshold,
                model_bytes=2 * state.model.nbytes,
                model_bytes_most=2 * most,
                model_dropped_values=state.model.dropped_values,
                memory_bytes=process_memory(),
                disk_bytes=durable.size(self.folder.path),
                disk_bytes_most=4 * most + 2 * log_most,
                log_entries=self._log.entries,
                log_dropped=self._log.dropped_through,
                awaiting=len(self._queue),
                awaiting_most=options.awaiting.documents,
                awaiting_dropped=self._queue.dropped,
                leased=self._queue.leased(self._log.elapsed()),
                waiting_requests=len(self._pipeline),
                waiting_most=options.waiting_requests,
                subscribers=len(self._events),
                subscribers_dropped=self._events.dropped,
                snapshot_version=self._pipeline.snapshot_version,
                uptime_seconds=self._timer() - self._started,
            )

    def _name_of(self, label: str | int) -> str:
        """Return the current name of a label."""
        with self._copies.reading() as state:
            labels = state.labels
            name = labels.now(label) if isinstance(label, str) else labels.names().get(label)
            if name is None or name not in labels.numbers:
                raise LabelError(f"the model knows no label {label!r}")
            return name

    def learn(
        self, documents: Sequence[Document], who: str = NOBODY, key: str | None = None
    ) -> Future[Receipt]:
        """Learn documents, all or none; of unlabelled ones only the words are counted.

        A repeated ``key`` counts once: the receipt says so.
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
        """Learn the labels of a predicted document, in place of an earlier answer.

        A list gives all of its labels; a mapping says yes or no to some, and adds to the earlier
        answer. ``digest`` ties the answer to the text that was shown (``TeachItem.digest``), also
        if the id was predicted again with another text. Raises ``UnknownDocumentError`` if the
        document is not kept, and ``ConflictError`` if it has another text now.
        """
        labels = checks.check_labels(labels)
        now = self._log.elapsed()
        find = partial(self._queue.find_shown, id, digest, who, now)
        find()
        with self._copies.reading() as state:
            checks.check_room(state, [labels])
        answer = Answer(self._queue)
        request = ["feedback", id, labels, *([] if digest is None else [digest])]
        future = self._submit(partial(answer.give, find, labels), request, who, key)
        future.add_done_callback(answer.settle)
        return future

    def undo(self, version: int, who: str = NOBODY, key: str | None = None) -> Future[Receipt]:
        """Take back the answer with this version; an earlier answer counts again.

        Words, prototypes and statistics are unlearnt as ``Clasher.unlearn`` says. The weights of
        the margin rule have no inverse: a trace stays until other documents move them. An undo can
        be undone.
        """
        answer = Answer(self._queue)
        future = self._submit(partial(answer.undo, version), ["undo", version], who, key)
        future.add_done_callback(answer.settle)
        return future

    def relabel(
        self,
        action: structs.Action,
        label: str | int,
        into: str | None = None,
        who: str = NOBODY,
        key: str | None = None,
    ) -> Future[Receipt]:
        """Rename, merge, retire, pin or unpin a label, given by its name or number.

        ``into`` is the new name, or the label to merge with. A renamed label keeps its number, and
        its former names still mean it. Pinned labels are never evicted.
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
        """Replace the model by another one, as ``Clasher.save`` writes it.

        Labels of the same names keep their numbers; quality restarts.
        """
        digest = self.folder.receive_model(source)
        body = Replace(digest)
        try:
            future = self._submit(lambda log, seq: body, body, who, key)
        except ServiceError:
            self.folder.arriving.remove(digest)
            raise
        future.add_done_callback(lambda _: self.folder.arriving.remove(digest))
        return future

    def teach(self, who: str, most: int = 1, ids: Sequence[str] | None = None) -> list[TeachItem]:
        """Lease documents to a person to teach: uncertain, diverse and random ones.

        Nobody else gets them before the lease expires; ``feedback`` answers, and ``renew`` prolongs
        the lease. With ``ids``, lease those of these documents that are free. The documents are
        predicted again, and the answer judges this prediction.
        """
        checks.check_name("who", who)
        now = self._log.elapsed()
        leases = self._leases
        items = leases.lease(who, most, now) if ids is None else leases.lease_these(who, ids, now)
        return self._in_time_of_day(items)

    def renew(self, ids: Sequence[str], who: str) -> list[Leased]:
        """Prolong a person's leases on these documents; leave out lost ones."""
        return self._in_time_of_day(self._leases.renew(who, ids, self._log.elapsed()))

    def _in_time_of_day(self, leases: Sequence[Lease]) -> list[Lease]:
        """Convert the ends of leases from the clock of the log to the time of day."""
        since = self._clock() - self._log.elapsed()
        return [replace(one, leased_until=one.leased_until + since) for one in leases]

    def release(self, id: str, who: str) -> None:  # noqa: A002
        """Return a leased document without an answer."""
        self._leases.release(id, who)

    def log(self, after: int = 0) -> Iterator[structs.Lesson]:
        """Yield what was taught after a version, oldest first, reading a page at a time.

        Raises ``ConflictError`` if the log is shortened faster than it is read.
        """
        first = after
        while True:
            rows: list[Entry] = self._pipeline.call(partial(Log.rows, after=after)).result()
            if not rows:
                return
            if after > first and self._log.dropped_through > after:
                raise ConflictError(
                    f"entries after version {after} were deleted during the export; export again, "
                    f"or keep a longer log"
                )
            for row in rows:
                yield from lessons(row)
            after = rows[-1].seq

    def model_file(self) -> Future[BinaryIO]:
        """Return the current model as a file that is open for reading; its name may vanish."""
        return self._pipeline.request_model()

    def subscribe(self, notify: Callable[[], None] | None = None) -> Subscription:
        """Subscribe to events: ``learned``, ``feedback``, ``label``, ``model``, ``snapshot``.

        ``notify`` is called from another thread when an event has come. A subscriber that does not
        keep up is dropped.
        """
        return self._events.subscribe(notify)

    def _submit(
        self, prepare: Callable[[Log, int], Body], content: object, who: str, key: str | None
    ) -> Future[Receipt]:
        checks.check_name("who", who)
        raw = msgspec.msgpack.encode(content)
        if key is not None:
            checks.check_name("key", key)
        digest = b"" if key is None else blake2b(raw, digest_size=16).digest()
        request = Request(who, self._clock(), len(raw), prepare, key, digest)
        self._pipeline.put(request)
        return request.future

    @property
    def failure(self) -> str | None:
        """Why no more requests are accepted, None if all is well."""
        return self._pipeline.failure

    def close(self) -> None:
        """Finish all accepted requests, write a snapshot, and release the folder."""
        if self._is_closed:
            return
        self._is_closed = True
        self._pipeline.close()
        self._events.close()
        if self.failure is None:
            self._log.close()
        else:
            self._log.abandon()
        self.folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
