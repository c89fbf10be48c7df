"""``clasher run``: a stream in, labels out, learning on the way.

The figures of a flow for Prometheus, at a port of this machine.

``clasher run``: makes a flow of what the command line says, and shows how it is doing.
"""

from __future__ import annotations

import functools
import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

import click

from clasher.cli import terminal
from clasher.cli.format import counted, decimals
from clasher.cli.options import Command, option, output_option, quiet_option, with_options
from clasher.cli.settings import Wanted, settings_options
from clasher.cli.streams import NEVER_GUESSING, field_options, file_options
from clasher.cli.terminal import Bar
from clasher.errors import MissingExtraError, SettingError
from clasher.flow import Figures, Flow, FlowOptions, Outlet, Route
from clasher.io.records import Fields
from clasher.io.registry import STANDARD, commit_as_one, plugin_schemes, sink_at, source_at
from clasher.model import Clasher
from clasher.runtime import snapshots
from clasher.runtime.snapshots import MODEL, InitialModel
from clasher.settings import Settings

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
except ImportError as error:
    raise MissingExtraError.of("--metrics", "metrics") from error

LOOPBACK: Final = "127.0.0.1"
COUNTERS: Final = {
    "documents": "Documents predicted and learnt since the folder was made.",
    "labelled": "Documents that came with labels.",
    "joined": "Documents whose labels came later.",
    "poison": "Arrivals that went to the dead letters.",
    "duplicates": "Arrivals that had come before.",
    "unmatched": "Labels whose document did not come in time.",
    "refused": "Commits of this run that another party refused.",
    "troubles": "How often a stream did not answer, or answered again, in this run.",
}
GAUGES: Final = {
    "lag": "Arrivals that wait in the source.",
    "documents_per_second": "Over the last ten seconds.",
    "waiting": "Documents that wait for their labels.",
    "early": "Labels that wait for their documents.",
    "labels": "Labels of the model.",
    "judged": "Documents whose labels came, among the last 8,000.",
    "micro_f1": "Micro F1 of these.",
    "macro_f1": "Macro F1 of these.",
    "snapshot": "The number of the last snapshot.",
    "snapshot_seconds": "How long it took.",
}


@contextmanager
def exposed(read: Callable[[], Figures], port: int) -> Iterator[str]:
    """Answer Prometheus while the block lasts; the URL."""
    registry = CollectorRegistry()
    registry.register(_Collector(read))
    try:
        server, thread = start_http_server(port, LOOPBACK, registry)
    except OSError as error:
        raise SettingError(f"--metrics {port}: {error.strerror}; name another port") from error
    try:
        yield f"http://{LOOPBACK}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Collector:
    """Figures of the moment in which they are asked for."""

    def __init__(self, read: Callable[[], Figures]) -> None:
        self._read = read

    def collect(self) -> Iterator[Metric]:
        figures = self._read()
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"clasher_run_{name}", text, value=getattr(figures, name))
        for name, text in GAUGES.items():
            value = getattr(figures, name)
            if value is not None:
                yield GaugeMetricFamily(f"clasher_run_{name}", text, value=value)


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

    def options(self) -> FlowOptions:
        """The bounds of the flow."""
        return FlowOptions(
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
    begun = None if begin_with is None else InitialModel.of(streams.begin_with or "")
    terminal.prepare(settings, quiet=quiet)
    shows = terminal.shows_progress(quiet=quiet) and not (
        _prints(outlets) and terminal.on_terminal()
    )
    with Bar(None, shown=shows) as bar:
        flow = Flow(
            streams.folder, documents, outlets, labels=labels, letters=letters,
            settings=settings, begin_with=begin_with, initial_model=begun,
            tokenizer=wanted.analysis.get("tokenizer"),
            options=streams.options(), on_note=terminal.warn, on_progress=bar.flowed,
        )  # fmt: skip
        with (
            _stopping(flow) as asked,
            _shown_to_prometheus(flow, streams.metrics, quiet=quiet),
            calm_collector(),
        ):
            figures = flow.run()
    terminal.say(summary(figures, streams.folder), quiet=quiet)
    if signal.SIGINT in asked:
        terminal.leave_interrupted(figures.documents)


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
            snapshots.check_initial_model(streams.folder, streams.begin_with, terminal.warn)
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

    with exposed(lambda: flow.figures, port) as url:
        terminal.say(f"metrics: {url}", quiet=quiet)
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


EXAMPLES = """
    clasher run --from news.jsonl --to labelled.jsonl --model ./news
    clasher run --from inbox/ --to - --model ./news --route sport=sport.jsonl
    clasher run --from 'redis://localhost/news?group=desk' --model ./news
    clasher run --from kafka://one/a --to kafka://one/b --transactional -m ./news
    clasher run --from https://example.org/feed.xml --to - --model ./news
"""

_stream = functools.partial(option, section="Stream")
_running = functools.partial(option, section="Running")


def _fields(function: Any) -> Any:
    return with_options(function, field_options(labelled=True, separators=NEVER_GUESSING))


def _files(function: Any) -> Any:
    return with_options(function, file_options(_stream))


@click.command(
    "run", cls=Command, examples=EXAMPLES, short_help="Learn a stream, once each, and label it."
)
@_stream(
    "--from",
    "source",
    metavar="SOURCE",
    required=True,
    help="Where documents come from: a file, a folder that is watched, - for standard input, or "
    "a URL (kafka://, redis://, nats://, https:// for feeds"
    + "".join(f", {scheme}://" for scheme in plugin_schemes())
    + ").",
)
@_stream(
    "--labels-from",
    metavar="SOURCE",
    help="Where labels come from that are late: records with an id and labels.",
)
@_stream(
    "--decoder",
    metavar="MODULE:FUNCTION",
    help="Decode messages that are not JSON with a function of yours: bytes in, an object out.",
)
@_stream(
    "--new-stream",
    is_flag=True,
    help="Learn a stream that the folder of the model does not know, after those that it has "
    "learnt.",
)
@_fields
@_files
@output_option(
    "--to",
    "sink",
    metavar="SINK",
    help="Where documents go with their labels, as JSON: a file, - for standard output, or a URL "
    "(default: - where there is no --route).",
)
@output_option(
    "--route",
    "routes",
    metavar="RULE=SINK",
    multiple=True,
    help="Also write documents whose predicted labels fit RULE to SINK: a label, a|b (one of "
    "them), a&b (both), !a (not), a* (begins so). May be given again.",
)
@output_option(
    "--transactional",
    is_flag=True,
    help="Have outputs seen once, with the snapshot that knows of them, in one transaction; for "
    "sinks that are Kafka topics.",
)
@output_option("--texts", is_flag=True, help="Write the text of each document too.")
@output_option(
    "--dead-letters",
    metavar="SINK",
    help="Where arrivals go that are no records (default: dead-letters.jsonl in the folder).",
)
@option(
    "--model",
    "-m",
    "folder",
    metavar="FOLDER",
    required=True,
    section="Model",
    help="Where the model and the positions of its streams are kept; made where there is none.",
)
@option(
    "--begin-with",
    metavar="FILE",
    section="Model",
    help="Begin with this model file; for a folder that is new.",
)
@settings_options
@_running(
    "--snapshot-every",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="How often to write a snapshot (default: 30, or less where a transaction would end "
    "before).",
)
@_running(
    "--remember",
    type=click.IntRange(min=0),
    default=10_000,
    metavar="N",
    help="Know the last N documents again when they come twice (default: 10000).",
)
@_running(
    "--idle",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End when nothing has come for so long (default: wait for ever).",
)
@_running(
    "--give-up",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="End when a stream has not answered for so long (default: try for ever).",
)
@_running(
    "--metrics",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Show figures to Prometheus, at this port of this machine only; 0 for a free one.",
)
@quiet_option
def run_command(wanted: Wanted, quiet: bool, **given: Any) -> None:
    """Read documents, write their labels, learn from those that come labelled.

    Each document is learnt once, however often this is killed and started
    again: the positions of the streams are kept with the model. Outputs are
    written at least once, under the same ids.
    """
    run(Streams(**given), wanted, quiet=quiet)
