"""``clasher run``: makes a flow of what the command line says, and shows how it is doing."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from clasher.app import notes
from clasher.app.figures import counted, decimals
from clasher.app.progress import Bar
from clasher.app.wanted import Wanted
from clasher.flow import Figures, Flow, Options, Outlet, Route
from clasher.io.addresses import STANDARD
from clasher.io.records import Fields
from clasher.io.registry import commit_as_one, sink_at, source_at
from clasher.model import Clasher
from clasher.service import beginnings
from clasher.service.beginnings import Beginning
from clasher.service.snapshots import MODEL
from clasher.settings import Settings

WAITING = 10_000  # documents that may wait for labels where nothing else is said
YOUNG = 50_000  # objects that are made between two looks of the collector


@dataclass(frozen=True, kw_only=True)
class Streams:
    """What the command line says, but for the settings of the model."""

    source: str
    labels_from: str | None
    decoder: str | None
    text: str
    labels: str
    label_separator: str | None
    labels_json: bool
    delimiter: str | None
    encoding: str | None
    id: str
    sink: str | None
    routes: tuple[str, ...]
    transactional: bool
    texts: bool
    dead_letters: str | None
    folder: str
    begin_with: str | None
    snapshot_every: float | None
    remember: int
    idle: float | None
    give_up: float | None
    metrics: int | None
    new_stream: bool

    def outlets(self) -> list[Outlet]:
        """Where predictions go; to standard output where nothing is said."""
        routes = [Route.of(text) for text in self.routes]
        outlets = [Outlet(sink_at(route.url), route) for route in routes]
        everything = self.sink or (None if routes else STANDARD)
        return [*([] if everything is None else [Outlet(sink_at(everything))]), *outlets]

    def options(self) -> Options:
        """The bounds of the flow."""
        return Options(
            snapshot_seconds=self.snapshot_every,
            remember=self.remember,
            idle=self.idle,
            give_up=self.give_up,
            texts=self.texts,
            new_stream=self.new_stream,
        )


def run(streams: Streams, wanted: Wanted, *, quiet: bool) -> None:
    """Run until the streams end, or somebody says to stop."""
    fields = Fields(
        streams.text, streams.labels, streams.id, streams.label_separator, streams.labels_json
    )
    files = {"delimiter": streams.delimiter, "encoding": streams.encoding}
    documents = source_at(streams.source, fields, streams.decoder, **files)
    labels = None
    if streams.labels_from is not None:
        labels = source_at(streams.labels_from, replace(fields, text=None), **files)
    letters = None if streams.dead_letters is None else sink_at(streams.dead_letters)
    outlets = streams.outlets()
    if streams.transactional:
        sinks = [outlet.sink for outlet in outlets]
        commit_as_one(documents, sinks if letters is None else [*sinks, letters])
    settings, begin_with = _model(streams, wanted)
    begun = None if begin_with is None else Beginning.of(streams.begin_with or "")
    notes.prepare(settings, quiet=quiet)
    shows = notes.shows_progress(quiet=quiet) and not (_prints(outlets) and notes.on_terminal())
    with Bar(None, shown=shows) as bar:
        flow = Flow(
            streams.folder, documents, outlets, labels=labels, letters=letters,
            settings=settings, begin_with=begin_with, begun=begun,
            tokenizer=wanted.analysis.get("tokenizer"),
            options=streams.options(), tell=notes.warn, on_progress=bar.flowed,
        )  # fmt: skip
        with (
            _stopping(flow) as asked,
            _shown_to_prometheus(flow, streams.metrics, quiet=quiet),
            calm_collector(),
        ):
            figures = flow.run()
    notes.say(summary(figures, streams.folder), quiet=quiet)
    if signal.SIGINT in asked:
        notes.leave_interrupted(figures.documents)


@contextmanager
def calm_collector() -> Iterator[None]:
    """Have the collector look at what is new only, and not at every few documents."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _model(streams: Streams, wanted: Wanted) -> tuple[Settings | None, Clasher | None]:
    """The settings or the model of a folder that is new.

    What is said of another one must be what it was made with: so the same command may be started
    again.
    """
    tokenizer = wanted.analysis.get("tokenizer")
    found = Path(streams.folder, MODEL)
    is_told = bool(wanted.given or wanted.paper or wanted.analysis)
    if found.exists():
        if streams.begin_with is not None:
            beginnings.check(streams.folder, streams.begin_with, notes.warn)
        if is_told:
            wanted.check(Clasher.load(found, tokenizer=tokenizer), streams.folder)
        return None, None
    if streams.begin_with is not None:
        model = Clasher.load(streams.begin_with, tokenizer=tokenizer)
        wanted.check(model, streams.begin_with)
        return None, model
    if streams.labels_from is not None:
        wanted = replace(wanted, given={"pending": WAITING, **wanted.given})
    return wanted.settings(), None


def _prints(outlets: list[Outlet]) -> bool:
    return any(outlet.sink.name == "standard output" for outlet in outlets)


@contextmanager
def _stopping(flow: Flow) -> Iterator[set[int]]:
    """Let SIGTERM and Ctrl-C stop a flow; a second Ctrl-C ends the process as ever."""
    asked: set[int] = set()

    def stop(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and number in asked:
            raise KeyboardInterrupt
        asked.add(number)
        flow.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _shown_to_prometheus(flow: Flow, port: int | None, *, quiet: bool) -> Iterator[None]:
    if port is None:
        yield
        return
    from clasher.app.exposition import exposed

    with exposed(lambda: flow.figures, port) as url:
        notes.say(f"metrics: {url}", quiet=quiet)
        yield


def summary(figures: Figures, folder: str) -> str:
    """What a flow did, in a line.

    >>> summary(Figures(documents=3, labelled=2, judged=2, micro_f1=0.5, snapshot=4), "./news")
    './news: 3 documents, 2 labelled, micro F1 .500 of the last 2; snapshot 4'
    """
    facts = [
        counted(figures.documents, "document"),
        f"{figures.labelled + figures.joined:,} labelled",
    ]
    if figures.judged:
        facts.append(f"micro F1 {decimals(figures.micro_f1)} of the last {figures.judged:,}")
    if figures.duplicates:
        facts.append(counted(figures.duplicates, "duplicate"))
    if figures.poison:
        facts.append(counted(figures.poison, "dead letter"))
    return f"{folder}: {', '.join(facts)}; snapshot {figures.snapshot}"
