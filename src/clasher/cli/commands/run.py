"""``clasher run``: label a stream and learn from it, exactly once."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from clasher.cli import terminal
from clasher.cli.format import counted, decimals
from clasher.cli.options import SectionOption, command, output_option, section
from clasher.cli.settings import ModelOptions, folder_options, settings_options
from clasher.cli.streams import field_options, file_options, record_options
from clasher.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from clasher.flow import Figures
    from clasher.io.records import Fields

PENDING: Final = 10_000  # the default of --pending with --late-labels
NEW_OBJECTS: Final = 50_000  # objects made between two garbage collections

_stream = section("Stream")
_running = section("Running")


class SourceOption(SectionOption):
    """``--from``; its help also names the connectors of other packages."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from clasher.io.registry import plugin_schemes  # takes long

        record = super().get_help_record(ctx)
        schemes = "".join(f", {scheme}://" for scheme in plugin_schemes())
        return record and (record[0], record[1].replace(" for feeds)", f" for feeds{schemes})"))


@command("run", "Label a stream and learn from it, each document once.")
@_stream(
    "source --from SOURCE  Where documents come from: a file, a folder to watch, - for standard "
    "input, or a URL (kafka://, redis://, nats://, https:// for feeds).",
    cls=SourceOption,
    required=True,
)
@_stream(
    "--late-labels SOURCE  The source of labels that arrive after their documents: records with an "
    "id and labels.",
    "--decoder MODULE:FUNCTION  Decode messages that are not JSON with your function: bytes to an "
    "object.",
    "--new-stream  Allow a stream that the folder of the model has not read before.",
)
@record_options(field_options(labelled=True, guess=False), file_options)
@output_option(
    "sink --to SINK  Where documents go with their labels, as JSON: a file, - for standard output, "
    "or a URL (default: - without --route)."
)
@output_option(
    "routes --route RULE=SINK  Also write documents whose predicted labels match RULE to SINK: a "
    "label, a|b (either), a&b (both), !a (not), a* (prefix); repeatable.",
    multiple=True,
)
@output_option(
    "--transactional  Write outputs and positions in one transaction, so that readers see each "
    "output once; needs Kafka sinks.",
    "texts --include-text  Write the text of each document too.",
    "--dead-letters SINK  Where bad records go (default: dead-letters.jsonl in the folder of the "
    "model).",
)
@folder_options("the positions of its streams")
@settings_options
@_running(
    "snapshot_seconds --snapshot-every SECONDS  How often to save a snapshot (default: 30, or less "
    "if a transaction would time out).",
    "--idle SECONDS  Stop after this time without new documents (default: never).",
    "--give-up SECONDS  Stop if a stream does not respond for this time (default: never).",
    "--metrics PORT  Serve metrics for Prometheus at this local port; 0 takes a free one.",
)
@_running(
    "--remember N = 10000  Remember the last N documents and skip their duplicates.",
    type=click.IntRange(min=0),
)
def run_command(
    options: ModelOptions,
    source: str,
    late_labels: str | None,
    decoder: str | None,
    fields: Fields,
    files: dict[str, Any],
    sink: str | None,
    routes: tuple[str, ...],
    transactional: bool,
    dead_letters: str | None,
    folder: str,
    initial_model: str | None,
    metrics: int | None,
    **bounds: Any,
) -> None:
    """Read documents, write their labels, learn from labelled ones.

    Each document is learnt once, even if this is killed and started again: the
    positions of the streams are saved with the model. Outputs are written at
    least once, under the same ids.

    $ clasher run --from news.jsonl --to labelled.jsonl --model ./news
    $ clasher run --from inbox/ --to - --model ./news --route sport=sport.jsonl
    $ clasher run --from 'redis://localhost/news?group=desk' --model ./news
    $ clasher run --from kafka://one/a --to kafka://one/b --transactional -m ./news
    $ clasher run --from https://example.org/feed.xml --to - --model ./news
    """
    from clasher.flow import Flow, FlowOptions, Outlet, Route
    from clasher.io.registry import STANDARD, commit_as_one, sink_at, source_at
    from clasher.runtime.snapshots import MODEL

    documents = source_at(source, fields, decoder, **files)
    late = None
    if late_labels is not None:
        late = source_at(late_labels, replace(fields, text=None), **files)
    letters = None if dead_letters is None else sink_at(dead_letters)
    parsed = [Route.of(text) for text in routes]
    first = [sink] if sink is not None else [] if parsed else [STANDARD]
    outlets = [Outlet(sink_at(url)) for url in first]
    outlets += [Outlet(sink_at(route.url), route) for route in parsed]
    if transactional:
        sinks = [outlet.sink for outlet in outlets]
        commit_as_one(documents, sinks if letters is None else [*sinks, letters])
    saved = Path(folder, MODEL)
    defaults = {} if late is None else {"pending": PENDING}
    settings, model, origin = options.begin(
        folder, saved if saved.exists() else None, initial_model, **defaults
    )
    terminal.prepare(settings if model is None else model.settings, "learn", "predict")
    prints = any(outlet.sink.name == "standard output" for outlet in outlets)
    shown = terminal.shows_progress() and not (prints and terminal.on_terminal())
    with terminal.Bar(None, shown=shown) as bar:
        flow = Flow(
            folder,
            documents,
            outlets,
            labels=late,
            letters=letters,
            settings=settings,
            initial_model=model,
            origin=origin,
            tokenizer=options.analysis.get("tokenizer"),
            options=FlowOptions(**bounds),
            on_note=terminal.warn,
            on_progress=lambda figures: show_progress(bar, figures),
        )
        metered = nullcontext() if metrics is None else prometheus(lambda: flow.figures, metrics)
        signals: set[int] = set()

        def stop(number: int, _frame: object) -> None:
            if number == signal.SIGINT and number in signals:
                raise KeyboardInterrupt
            signals.add(number)
            flow.stop()

        with terminal.signal_handler(stop), metered as url, calm_collector():
            if url is not None:
                terminal.say(f"metrics: {url}")
            figures = flow.run()
    terminal.say(summary(figures, folder))
    if signal.SIGINT in signals:
        terminal.leave_interrupted(figures.documents)


@contextmanager
def calm_collector() -> Iterator[None]:
    """Collect garbage rarely, and among new objects only."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def show_progress(bar: terminal.Bar, figures: Figures) -> None:
    """Show the rate of a flow, its lag, its quality and its dead letters."""
    facts = [f"{figures.documents_per_second:,.0f}/s"]
    if figures.lag is not None:
        facts.append(f"lag {figures.lag:,}")
    if figures.judged:
        facts.append(f"micro {decimals(figures.micro_f1)}")
    if figures.poison:
        facts.append(counted(figures.poison, "dead letter"))
    bar.show(figures.documents, *facts)


def summary(figures: Figures, folder: str) -> str:
    """Summarise a flow in a line."""
    labelled = figures.labelled + figures.joined
    facts = [counted(figures.documents, "document"), f"{labelled:,} labelled"]
    if figures.judged:
        facts.append(f"micro F1 {decimals(figures.micro_f1)} of the last {figures.judged:,}")
    if figures.duplicates:
        facts.append(counted(figures.duplicates, "duplicate"))
    if figures.poison:
        facts.append(counted(figures.poison, "dead letter"))
    return f"{folder}: {', '.join(facts)}; snapshot {figures.snapshot}"


LOOPBACK: Final = "127.0.0.1"
COUNTERS: Final = {
    "documents": "Documents predicted and learnt since the folder was created.",
    "labelled": "Documents that arrived with labels.",
    "joined": "Documents whose labels arrived later.",
    "poison": "Records sent to the dead letters.",
    "duplicates": "Documents that had arrived before.",
    "unmatched": "Labels whose document did not arrive in time.",
    "refused": "Commits of this run that another process prevented.",
    "troubles": "How often a stream stopped responding, or responded again, in this run.",
}
GAUGES: Final = {
    "lag": "Records waiting in the source.",
    "documents_per_second": "Documents per second over the last ten seconds.",
    "waiting": "Documents waiting for their labels.",
    "early": "Labels waiting for their documents.",
    "labels": "Labels of the model.",
    "judged": "Documents with labels among the last 8,000.",
    "micro_f1": "Micro F1 of the judged documents.",
    "macro_f1": "Macro F1 of the judged documents.",
    "snapshot": "The number of the last snapshot.",
    "snapshot_seconds": "How long the last snapshot took.",
}


@contextmanager
def prometheus(read: Callable[[], Figures], port: int) -> Iterator[str]:
    """Serve figures to Prometheus; yields the URL."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError as error:
        raise MissingExtraError.of("--metrics", "metrics") from error

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


class _Collector(NamedTuple):
    read: Callable[[], Figures]

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        figures = self.read()
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"clasher_run_{name}", text, value=getattr(figures, name))
        for name, text in GAUGES.items():
            if (value := getattr(figures, name)) is not None:
                yield GaugeMetricFamily(f"clasher_run_{name}", text, value=value)
