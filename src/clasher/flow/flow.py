"""The runner: read, predict, write, learn, and now and then a snapshot.

Who must agree to the snapshots of a flow: one at most.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from clasher.errors import CommitRefusedError, SettingError, StoppedError, StreamError
from clasher.flow import learner
from clasher.flow.folder import FlowFolder, check_settings, model_of, recognise
from clasher.flow.options import Options
from clasher.flow.outlets import Outlet, Outlets
from clasher.flow.reader import Patience, Reader, Settling
from clasher.flow.state import ROLES, Figures, Meter, State
from clasher.io.connectors.files import FileSink
from clasher.io.protocol import Caller, Party, Sink, Source
from clasher.model import Clasher
from clasher.runtime.snapshots import Beginning
from clasher.settings import Settings
from clasher.text.analyzer import Tokenizer


def only_party(documents: Source, labels: Source | None, sinks: Sequence[Sink]) -> Party | None:
    """The one party that must agree to snapshots; two could not agree in one step."""
    if labels is not None and labels.party is not None:
        raise SettingError(
            f"{labels.name}: labels cannot come from a group; leave the group out, then their "
            f"position is kept with the model"
        )
    parties = [documents.party, *(sink.party for sink in sinks)]
    distinct = list({party.name: party for party in parties if party is not None}.values())
    if len(distinct) > 1:
        names = " and ".join(party.name for party in distinct)
        raise SettingError(
            f"{names} would each have to agree to every snapshot, which only one can; read without "
            f"a group, or write without transactions"
        )
    return distinct[0] if distinct else None


TICK: Final = 0.1  # seconds after which a flow that waits looks at the clock
SLOW: Final = 3.0  # seconds of a snapshot that a stop does not wait for


class Flow:
    r"""Learns a stream, each document once, and writes what it predicts.

    Parameters
    ----------
    folder
        Where the model and its snapshots are kept, for one process at a time.
    documents
        The source of documents.
    outlets
        Where predictions go.
    labels
        A source of labels that come late, joined by id; the model must have room for documents to
        wait (``Settings.pending``).
    letters
        Where arrivals go that are no records; by default to a file in the folder.
    settings, begin_with
        The model of a folder that is new: its settings, or the model itself.
    begun
        The file of ``begin_with``, noted in a folder that is new.
    tokenizer
        The function that cuts text, where the model has one.
    options
        The bounds.
    tell
        Told what happens on the way, in single lines.
    on_progress
        Shown the figures about twice a second.

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
        begin_with: Clasher | None = None,
        begun: Beginning | None = None,
        tokenizer: Tokenizer | None = None,
        options: Options | None = None,
        tell: Callable[[str], object] = lambda line: None,
        on_progress: Callable[[Figures], object] = lambda figures: None,
    ) -> None:
        self.options = Options() if options is None else options
        self._path, self._tokenizer = folder, tokenizer
        self._documents, self._labels = documents, labels
        self._given, self._letters = outlets, letters
        self._settings, self._begin_with, self._begun = settings, begin_with, begun
        self._tell, self._on_progress = tell, on_progress
        self._patience = Patience(self._note_trouble, self.options.give_up)
        sinks = [outlet.sink for outlet in outlets] + ([] if letters is None else [letters])
        self._party = only_party(documents, labels, sinks)
        self._within = None if self._party is None else self._party.within
        self._interval = self.options.interval(self._within)
        self._bell = threading.Condition()
        self._meter = Meter()
        self._news = 0  # arrivals since the last snapshot
        self._active_at = self._snapshot_at = self._snapshot_took = 0.0

    @property
    def figures(self) -> Figures:
        """How it was doing about half a second ago; from any thread."""
        return self._meter.figures

    def stop(self) -> None:
        """Have ``run`` finish what is in hand and return; from any thread, or a signal handler."""
        self._patience.is_stopping = True

    def run(self) -> Figures:
        """Run until the streams end, or somebody says to stop; returns the last figures."""
        self._folder = FlowFolder(self._path, self.options.remember, self._tokenizer)
        try:
            self._caller = Caller(self._folder.runner(), tell=self._note_trouble)
            letters = self._letters or FileSink.to(self._folder.dead_letters)
            self._outlets = Outlets(self._given, letters, self._patience, texts=self.options.texts)
            self._readers = self._make_readers()
            try:
                self._open()
                self._flow()
            except StoppedError as error:
                self._tell(f"{error}; what came after the last snapshot is done again next time")
            finally:
                self._close()
        finally:
            self._folder.close()
        return self._meter.figures

    # ── beginning, and beginning again ───────────────────────────────────────────────────────

    def _make_readers(self) -> list[Reader[Any]]:
        turn = None if self._labels is None else self.options.chunk
        shared = (self._bell, self._patience, self.options, turn)

        def prepare(chunk: Any) -> learner.Documents:
            name, remember = self._documents.name, self.options.remember
            return learner.prepare(chunk, name, self._state.model, remember)

        readers: list[Reader[Any]] = [Reader(self._documents, prepare, *shared)]
        if self._labels is not None:
            readers.append(Reader(self._labels, lambda chunk: chunk, *shared))
        return readers

    def _open(self) -> None:
        """Take up the snapshot that counts, and open every stream where it left it."""
        if self._folder.is_new:
            model = self._begin_with or model_of(self._settings or Settings())
            self._check_room(model)
            self._state = self._folder.begin(model, self._begun)
            self._recognise(self._state)
        else:
            what = "" if self._party is None else self._party.name
            self._state = self._patience.until(
                what, lambda: self._folder.recover(self._party, self._caller, self._recognise)
            )
            check_settings(self._state, self._settings, self._folder.path)
            self._check_room(self._state.model)
        for line in self._folder.told:
            self._tell(line)
        # A new sink is noted before anything is written to it, so that it can be cut back.
        if self._outlets.open(self._state, self._caller) and not self._commit(always=True):
            return  # went back, and opened everything anew
        for reader, arrived in zip(self._readers, self._state.arrived, strict=False):
            position = self._state.positions.get(reader.source.name)
            reader.start(position, self._caller.id, arrived)
        self._news = 0
        self._active_at = self._snapshot_at = time.monotonic()

    def _recognise(self, state: State) -> None:
        """Find the streams in a state, whatever their addresses are spelt like."""
        for role, reader in zip(ROLES, self._readers, strict=False):
            source = reader.source
            new = self.options.new_stream
            self._patience.until(
                source.name, partial(recognise, state, role, source, self._tell, new=new)
            )

    def _note_identities(self) -> None:
        """Note what streams say of themselves that could not say anything when they were opened."""
        for role, reader in zip(ROLES, self._readers, strict=False):
            kept, source = self._state.streams[role], reader.source
            if kept.get(source.name) is None:
                with suppress(StreamError):
                    kept[source.name] = source.identity()

    def _check_room(self, model: Clasher) -> None:
        if self._labels is not None and not model.settings.pending:
            raise SettingError(
                f"{self._folder.path}: its model has no room for documents to wait for labels; "
                f"begin a new folder with --pending N"
            )

    def _close(self) -> None:
        for reader in self._readers:
            reader.ask_to_end()
        for reader in self._readers:
            reader.close()
        self._outlets.close()

    # ── the loop ─────────────────────────────────────────────────────────────────────────────

    def _flow(self) -> None:
        while not self._patience.is_stopping:
            self._take_turn()
            if self._is_due():
                self._commit()
            if self._has_ended() and self._commit():
                break
            self._wait_for_more()
            self._show()
        if self._patience.is_stopping:
            if self._snapshot_took > SLOW:
                raise StoppedError(f"a snapshot takes {self._snapshot_took:.0f} s")
            self._commit()
        self._show(at_once=True)

    def _take_turn(self) -> None:
        """Process a chunk of the source whose turn it is.

        A turn is a fixed number of arrivals, or ends where the source has no more now. A source
        that does not know whether it has more is waited for. So the order in which a backlog is
        learnt depends on the streams alone, not on the moment or the size of chunks. Whose turn it
        is, and how much of it is left, stands in the snapshot.
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
            with suppress(StreamError):  # it may be the party that has failed
                self._commit()
            raise
        if item is not None:
            self._process(reader, item)
        else:
            self._state.turn += 1

    def _has_ended(self) -> bool:
        with self._bell:
            if not all(reader.is_at_end for reader in self._readers):
                self._active_at = time.monotonic()
                return False
            silence = time.monotonic() - self._active_at
            is_enough = self.options.idle is not None and silence >= self.options.idle
            return is_enough or all(reader.is_over for reader in self._readers)

    def _wait_for_more(self) -> None:
        with self._bell:
            if all(reader.is_idle for reader in self._readers):
                self._bell.wait_for(lambda: any(r.has_something for r in self._readers), TICK)

    def _process(self, reader: Reader[Any], item: Any) -> None:
        if isinstance(item, Settling):
            self._commit()
            with self._bell:
                item.is_done = True
                self._bell.notify_all()
            return
        self._count(reader, len(item.chunk if isinstance(item, learner.Documents) else item))
        if isinstance(item, learner.Documents):
            joining = self._labels is not None
            predicted = learner.learn(self._state, item, reader.source.name, joining=joining)
            self._news += max(1, len(item.chunk))  # a position alone is worth keeping, too
            self._outlets.write(predicted)
        else:
            poison = learner.join(self._state, item, reader.source.name)
            self._news += max(1, len(item))
            self._outlets.write_letters(poison)

    def _count(self, reader: Reader[Any], arrivals: int) -> None:
        """Count arrivals; the next source has its turn where that of this one is over."""
        at, turn = self._readers.index(reader), self.options.chunk
        before = self._state.arrived[at]
        self._state.arrived[at] += arrivals
        self._state.turn += before // turn != self._state.arrived[at] // turn

    # ── snapshots ────────────────────────────────────────────────────────────────────────────

    def _is_due(self) -> bool:
        if not self._news:
            return False
        interval = self._interval
        if self._within is not None:  # the next snapshot may take longer than the last one
            interval = min(interval, self._within - 2 * self._snapshot_took)
        elapsed = time.monotonic() - self._snapshot_at
        return self._news >= self.options.snapshot_documents or elapsed >= interval

    def _commit(self, *, always: bool = False) -> bool:
        """Make what was learnt since the last snapshot last, in two phases; whether it does."""
        if not self._news and not always:
            return True
        began, state, party = time.monotonic(), self._state, self._party
        after = 0 if party is None else state.agreed.get(party.name, 0)
        self._outlets.flush(state)
        self._note_identities()
        self._folder.keep(state, party)
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
        self._snapshot_took = self._snapshot_at - began
        return True

    def _go_back(self, error: CommitRefusedError) -> None:
        """Forget what was learnt since the last snapshot: it belongs to somebody else by now."""
        self._meter.refused += 1
        self._close()
        self._folder.discard()
        self._open()
        self._tell(f"{error}; went back to snapshot {self._state.seq}")

    # ── what is told ─────────────────────────────────────────────────────────────────────────

    def _note_trouble(self, line: str) -> None:
        self._meter.troubles += 1
        self._tell(line)

    def _show(self, *, at_once: bool = False) -> None:
        if self._meter.is_due() or at_once:
            self._meter.read(self._state, self._readers[0].lag, self._snapshot_took)
            self._on_progress(self._meter.figures)
