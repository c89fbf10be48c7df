"""The runner: read, predict, write, learn, and save a snapshot now and then."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Final

from clasher.errors import (
    CommitRefusedError,
    SettingError,
    StoppedError,
    StreamError,
    require_positive,
)
from clasher.flow.folder import FlowFolder, recognise
from clasher.flow.outlets import Outlet, Outlets
from clasher.flow.reader import Patience, Reader
from clasher.flow.state import ROLES, Documents, Figures, FlowState, Meter
from clasher.io.connectors.files import FileSink
from clasher.io.protocol import Caller, Chunk, Party, Sink, Source
from clasher.model import Clasher
from clasher.runtime.snapshots import InitialModel, check_settings, new_model
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer

TICK: Final = 0.1  # seconds between two looks at the clock while a flow waits
SLOW: Final = 3.0  # seconds of a snapshot that a stop does not wait for
EVERY: Final = 30.0  # seconds between two snapshots


@dataclass(frozen=True, kw_only=True)
class FlowOptions:
    """The bounds of a flow.

    Parameters
    ----------
    chunk
        Arrivals to read, and to learn, at a time.
    ahead
        Chunks of a source to read ahead.
    snapshot_documents, snapshot_seconds
        Documents, or seconds, between two snapshots: the most that a start has to repeat. By
        default 30 seconds, or less if a broker's transaction would end before.
    remember
        How many of the last documents to remember, to skip them when they come twice; 0: none.
    idle
        Seconds without any arrival after which the flow ends; None: never.
    give_up
        Seconds after which a stream that does not answer ends the flow; None: never.
    texts
        Whether outputs include the text of the document.
    new_stream
        Whether a folder that has learnt other streams may start to learn an unknown one.
    """

    chunk: int = 4000
    ahead: int = 2
    snapshot_documents: int = 200_000
    snapshot_seconds: float | None = None
    remember: int = 10_000
    idle: float | None = None
    give_up: float | None = None
    texts: bool = False
    new_stream: bool = False

    def __post_init__(self) -> None:
        for name in ("chunk", "ahead", "snapshot_documents"):
            require_positive("FlowOptions", name, getattr(self, name))
        for name in ("snapshot_seconds", "remember"):
            if (getattr(self, name) or 0) < 0:
                raise SettingError.of(name, "0 or more", getattr(self, name), "FlowOptions")

    def interval(self, within: float) -> float:
        """Return the seconds between two snapshots; a party refuses those later than ``within``.

        >>> FlowOptions().interval(float("inf")), FlowOptions().interval(10.0)
        (30.0, 5.0)
        >>> FlowOptions(snapshot_seconds=600).interval(300.0)  # doctest: +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
        clasher.errors.SettingError: --snapshot-every 600: a transaction ends after 300 s, before
        the snapshot; use 150 or less, or raise transaction.timeout.ms in the address of the sink
        """
        most = within / 2
        if self.snapshot_seconds is None:
            return min(EVERY, most)
        if self.snapshot_seconds > most:
            raise SettingError(
                f"--snapshot-every {self.snapshot_seconds:g}: a transaction ends after {within:g} "
                f"s, before the snapshot; use {most:g} or less, or raise transaction.timeout.ms in "
                f"the address of the sink"
            )
        return self.snapshot_seconds


class Flow:
    r"""Learn a stream, each document once, and write the predictions.

    Parameters
    ----------
    folder
        The folder of the model and its snapshots, for one process at a time.
    documents
        The source of documents.
    outlets
        The sinks of predictions.
    labels
        A source of labels that come late, joined by id; the model must have room for waiting
        documents (``Settings.pending``).
    letters
        The sink of arrivals that are not records; by default a file in the folder.
    settings, initial_model
        The model of a new folder: its settings, or the model itself.
    origin
        The file of ``initial_model``, noted in a new folder.
    tokenizer
        The function that splits text, if the model has one.
    options
        The bounds.
    on_note
        Gets single lines about what happens on the way.
    on_progress
        Gets the figures about twice a second.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clasher.io.registry import sink_at, source_at
    >>> with tempfile.TemporaryDirectory() as name:
    ...     news, out = pathlib.Path(name, "news.jsonl"), pathlib.Path(name, "out.jsonl")
    ...     _ = news.write_text('{"id": 1, "text": "wheat", "labels": ["grain"]}\n' * 2)
    ...     outlet = Outlet(sink_at(str(out)))
    ...     figures = Flow(pathlib.Path(name, "model"), source_at(str(news)), [outlet]).run()
    ...     figures.documents, figures.duplicates, out.read_text()
    (1, 1, '{"id":1,"labels":[]}\n')
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        documents: Source,
        outlets: Sequence[Outlet],
        *,
        labels: Source | None = None,
        letters: Sink | None = None,
        settings: Settings | None = None,
        initial_model: Clasher | None = None,
        origin: InitialModel | None = None,
        tokenizer: Tokenizer | None = None,
        options: FlowOptions | None = None,
        on_note: Callable[[str], object] = lambda line: None,
        on_progress: Callable[[Figures], object] = lambda figures: None,
    ) -> None:
        self.options = FlowOptions() if options is None else options
        self._path, self._tokenizer = folder, tokenizer
        self._documents, self._labels = documents, labels
        self._given, self._letters = outlets, letters
        self._settings, self._initial_model, self._origin = settings, initial_model, origin
        self._on_note, self._on_progress = on_note, on_progress
        self._patience = Patience(self._note_trouble, self.options.give_up)
        sinks = [outlet.sink for outlet in outlets] + ([] if letters is None else [letters])
        self._party = only_party(documents, labels, sinks)
        within = None if self._party is None else self._party.within
        self._within = inf if within is None else within
        self._interval = self.options.interval(self._within)
        self._bell = threading.Condition()
        turn = None if labels is None else self.options.chunk
        shared = (self._bell, self._patience, self.options.chunk, self.options.ahead, turn)
        self._readers: list[Reader[Any]] = [Reader(documents, self._prepare, *shared)]
        if labels is not None:
            self._readers.append(Reader(labels, lambda chunk: chunk, *shared))
        self._meter = Meter()
        self._news = 0  # arrivals since the last snapshot
        self._active_at = self._snapshot_at = self._snapshot_took = 0.0

    def _prepare(self, chunk: Chunk) -> Documents:
        """Hash and digest documents ahead of their turn."""
        source = self._documents.name if self.options.remember else None
        return Documents.of(chunk, self._state.model.hash_many(chunk.records.texts), source)

    @property
    def figures(self) -> Figures:
        """The figures of about half a second ago; from any thread."""
        return self._meter.figures

    def stop(self) -> None:
        """Make ``run`` finish its work and return; from any thread, or a signal handler."""
        self._patience.is_stopping = True

    def run(self) -> Figures:
        """Run until the streams end or ``stop`` is called; return the last figures."""
        folder = FlowFolder(self._path, self.options.remember, self._tokenizer)
        with closing(folder) as self._folder:
            self._caller = Caller(self._folder.runner(), tell=self._note_trouble)
            letters = self._letters or FileSink.to(self._folder.dead_letters)
            self._outlets = Outlets(self._given, letters, self._patience, texts=self.options.texts)
            try:
                self._open()
                self._loop()
            except StoppedError as error:
                self._on_note(f"{error}; the next start repeats what came after the last snapshot")
            finally:
                self._close()
        return self._meter.figures

    def _open(self) -> None:
        """Load the snapshot that counts, and open every stream at its position."""
        if self._folder.is_new:
            model = self._initial_model or new_model(self._settings or Settings())
            self._check_pending(model)
            self._state = self._folder.begin(model, self._origin)
            self._recognise(self._state)
        else:
            recover = partial(self._folder.recover, self._party, self._caller, self._recognise)
            name = "" if self._party is None else self._party.name
            self._state = self._patience.until(name, recover)
            check_settings(self._folder.path, self._state.model, self._settings)
            self._check_pending(self._state.model)
        for line in self._folder.notes:
            self._on_note(line)
        # Note a new sink before anything is written to it, so that it can be cut back.
        if self._outlets.open(self._state, self._caller) and not self._commit(always=True):
            return  # went back, and opened everything again
        for reader, arrived in zip(self._readers, self._state.arrived, strict=False):
            position = self._state.positions.get(reader.source.name)
            reader.start(position, self._caller.id, arrived)
        self._news = 0
        self._active_at = self._snapshot_at = time.monotonic()

    def _recognise(self, state: FlowState) -> None:
        """Find the streams in a state, under any of their addresses."""
        find = partial(recognise, state, warn=self._on_note, new=self.options.new_stream)
        for role, reader in zip(ROLES, self._readers, strict=False):
            self._patience.until(reader.source.name, partial(find, role, reader.source))

    def _check_pending(self, model: Clasher) -> None:
        if self._labels is not None and not model.settings.pending:
            raise SettingError(
                f"{self._folder.path}: its model has no room for documents that wait for labels; "
                f"begin a new folder with --pending N"
            )

    def _close(self) -> None:
        for reader in self._readers:
            reader.ask_to_end()
        for reader in self._readers:
            reader.close()
        self._outlets.close()

    def _loop(self) -> None:
        while not self._patience.is_stopping:
            self._take_turn()
            if self._is_due():
                self._commit()
            if self._has_ended() and self._commit():
                break
            with self._bell:
                if all(reader.is_idle for reader in self._readers):
                    self._bell.wait_for(lambda: any(r.has_something for r in self._readers), TICK)
            if self._meter.is_due():
                self._show()
        if self._patience.is_stopping:
            if self._snapshot_took > SLOW:
                raise StoppedError(f"a snapshot takes {self._snapshot_took:.0f} s")
            self._commit()
        self._show()

    def _take_turn(self) -> None:
        """Process a chunk of the source whose turn it is.

        A turn is a fixed number of arrivals, or ends when the source has no more for now. A source
        that does not know whether it has more is waited for. So the order in which a backlog is
        learnt depends on the streams alone, not on time or the size of chunks. The snapshot holds
        whose turn it is, and how much of it is left.
        """
        reader = self._readers[self._state.turn % len(self._readers)]
        try:
            with self._bell:
                self._bell.wait_for(lambda: reader.has_something or reader.is_at_end, TICK)
                item = reader.take()
                if item is None and not reader.is_at_end:
                    return
        except CommitRefusedError as error:
            self._go_back(error)
            return
        except StreamError:
            with suppress(StreamError):  # the party itself may have failed
                self._commit()
            raise
        if item is None:
            self._state.turn += 1
        elif isinstance(item, threading.Event):
            self._commit()
            with self._bell:
                item.set()
                self._bell.notify_all()
        else:
            self._process(reader, item)

    def _has_ended(self) -> bool:
        with self._bell:
            if not all(reader.is_at_end for reader in self._readers):
                self._active_at = time.monotonic()
                return False
            silence = time.monotonic() - self._active_at
            is_enough = self.options.idle is not None and silence >= self.options.idle
            return is_enough or all(reader.is_over for reader in self._readers)

    def _process(self, reader: Reader[Any], item: Any) -> None:
        state, name = self._state, reader.source.name
        is_labels = reader.source is self._labels
        arrivals = len(item if is_labels else item.chunk)
        at, turn = self._readers.index(reader), self.options.chunk
        before = state.arrived[at]
        state.arrived[at] += arrivals
        state.turn += before // turn != state.arrived[at] // turn  # the next source's turn
        self._news += max(1, arrivals)  # a new position alone is worth a snapshot, too
        if is_labels:
            self._outlets.write_letters(state.join(item, name))
        else:
            self._outlets.write(*state.learn(item, name, joining=self._labels is not None))

    def _is_due(self) -> bool:
        if not self._news:
            return False
        # the next snapshot may take longer than the last one
        interval = min(self._interval, self._within - 2 * self._snapshot_took)
        elapsed = time.monotonic() - self._snapshot_at
        return self._news >= self.options.snapshot_documents or elapsed >= interval

    def _commit(self, *, always: bool = False) -> bool:
        """Save what was learnt since the last snapshot, in two phases; return False if refused."""
        if not self._news and not always:
            return True
        state, party = self._state, self._party
        after = 0 if party is None else state.agreed.get(party.name, 0)
        self._outlets.flush(state)
        for role, reader in zip(ROLES, self._readers, strict=False):
            kept, source = state.streams[role], reader.source
            if kept.get(source.name) is None:  # it had no identity when it was opened
                with suppress(StreamError):
                    kept[source.name] = source.identity()
        began = time.monotonic()  # after all waits for sinks: a stop ends those
        self._folder.keep(state, party)
        self._snapshot_took = time.monotonic() - began
        if party is not None:
            position = state.positions.get(self._documents.name)
            try:
                self._patience.until(
                    party.name, lambda: party.commit(self._caller, state.seq, after, position)
                )
            except CommitRefusedError as error:
                self._go_back(error)
                return False
            self._folder.confirm(state)
        self._news = 0
        self._snapshot_at = time.monotonic()
        return True

    def _go_back(self, error: CommitRefusedError) -> None:
        """Forget what was learnt since the last snapshot: another process has it by now."""
        self._meter.refused += 1
        self._close()
        self._folder.snapshots.discard()
        self._open()
        self._on_note(f"{error}; went back to snapshot {self._state.seq}")

    def _note_trouble(self, line: str) -> None:
        self._meter.troubles += 1
        self._on_note(line)

    def _show(self) -> None:
        self._meter.read(self._state, self._readers[0].lag, self._snapshot_took)
        self._on_progress(self._meter.figures)


def only_party(documents: Source, labels: Source | None, sinks: Sequence[Sink]) -> Party | None:
    """Return the one party that must agree to snapshots; two could not agree in one step."""
    if labels is not None and labels.party is not None:
        raise SettingError(
            f"{labels.name}: labels cannot come from a group; leave the group out, then the model "
            f"keeps their position"
        )
    parties = [documents.party, *(sink.party for sink in sinks)]
    distinct = list({party.name: party for party in parties if party is not None}.values())
    if len(distinct) > 1:
        names = " and ".join(party.name for party in distinct)
        raise SettingError(
            f"{names} would each have to agree to every snapshot, but only one can; read without a "
            f"group, or write without transactions"
        )
    return distinct[0] if distinct else None
