"""The life of an engine: it opens a folder, runs two threads, and closes or fails as a whole."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from hashlib import blake2b

import msgspec

from clasher.analyzer import Tokenizer
from clasher.errors import StoppedError
from clasher.service import checking, recovery
from clasher.service.admission import Admission
from clasher.service.awaiting import Awaiting
from clasher.service.copies import Copies
from clasher.service.entries import Body
from clasher.service.events import Events
from clasher.service.folder import DataFolder
from clasher.service.learner import Learner
from clasher.service.log import LibraryError, Log, Row, unusable
from clasher.service.options import Options
from clasher.service.reading import Reading
from clasher.service.snapshots import Snapshots
from clasher.service.state import Refusals
from clasher.service.structs import Receipt
from clasher.service.teaching import Teaching
from clasher.service.writer import Request, Writer
from clasher.settings import Settings

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
                f"{self.folder.path}: cannot go on: {error}. Nothing more is acknowledged; all "
                f"that was is kept. See that the disk is sound and has room, then start again."
            )
        self._admission.reject_all(StoppedError(self._failure))
        self._events.close()
        self._writer.close()
        self._learner.put(None)
        self._on_failure(self._failure)
