"""The engine of a service: one model that many share, of which nothing is lost.

What is said is written to a log, many requests in one commit, then learnt, and only then
acknowledged. Predictions are made on a consistent copy and never wait for learning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import BinaryIO, Self, TypeVar

from msgspec.structs import replace

from clasher import label_names
from clasher.errors import ConflictError, LabelError, ServiceError
from clasher.service import answers, checking
from clasher.service.awaiting import Predicted
from clasher.service.entries import Learn, Relabel, Replace
from clasher.service.events import Subscription
from clasher.service.lessons import lessons
from clasher.service.replacing import receive
from clasher.service.running import Running
from clasher.service.structs import Action, Document, Labels, Leased, Lesson, Receipt, TeachItem

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
        body = Learn(checking.taught(documents))
        with self._copies.reading() as state:
            checking.check_room(state, [document.labels for document in body.documents])
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
        labels = checking.check_labels(labels)
        now = self._log.elapsed()

        def find() -> Predicted:
            return self._awaiting.find_shown(id, digest, who, now)

        find()
        with self._copies.reading() as state:
            checking.check_room(state, [labels])
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
        checking.check_name("who", who)
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
