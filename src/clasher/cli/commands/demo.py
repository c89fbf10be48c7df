"""``clasher demo``: the whole product on text that every Python carries.

What the demo shows on a terminal; plain lines where it is piped.

``clasher demo``: the whole product in half a minute, on text that every Python carries.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter

import click
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clasher.cli.demo_corpus import Collection, Docstring, collect
from clasher.cli.format import bytes_, decimals, sparkline
from clasher.cli.options import Command, output_option
from clasher.cli.report import write_report
from clasher.cli.report.examples import WEAKEST_LISTED, Example, Sample, View, examples
from clasher.cli.terminal import check_outputs, prepare, program
from clasher.durable import replace_text
from clasher.errors import MissingExtraError, StreamError
from clasher.evaluate import Evaluation, Progress, evaluate
from clasher.io import Batch, Fields
from clasher.model import Clasher

MARKS = {"hit": "✓", "alarm": "×", "miss": "–", "unknown": "?"}
COLOURS = {"hit": "green", "alarm": "red", "miss": "yellow", "unknown": "dim"}
BEST = "bold green"
WORDS_TOLD = 5
SPARKLINE = 16  # columns


@dataclass
class Run:
    """A rule on its way through the stream."""

    now: Progress | None = None
    macro_f1: list[float] = field(default_factory=list)

    def follow(self, progress: Progress) -> None:
        """Take note of how far it is."""
        self.now = progress
        self.macro_f1.append(progress.macro_f1)


def runs_view(runs: Mapping[str, Run]) -> Table:
    """The rules side by side, as far as they have come; fits into 80 columns."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("rule", style="bold", no_wrap=True)
    for name in ("docs", "docs/s", "macro F1", "micro F1", "model"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("over the stream", style="cyan", no_wrap=True)
    under_way = [run.now for run in runs.values() if run.now]
    best_macro = max((now.macro_f1 for now in under_way), default=0.0)
    best_micro = max((now.micro_f1 for now in under_way), default=0.0)
    top = max((value for run in runs.values() for value in run.macro_f1), default=0.0)
    for name, run in runs.items():
        if (now := run.now) is None:
            table.add_row(name)
            continue
        table.add_row(
            name,
            f"{now.documents:,}",
            f"{now.documents_per_second:,.0f}",
            Text(decimals(now.macro_f1), BEST if now.macro_f1 == best_macro else ""),
            Text(decimals(now.micro_f1), BEST if now.micro_f1 == best_micro else ""),
            bytes_(now.state_bytes),
            sparkline(run.macro_f1, SPARKLINE, top),
        )
    return table


def example_view(example: Example) -> RenderableType:
    """A document, its labels, and what spoke for and against the first of them."""
    view = example.views[0]
    return Padding(
        Group(
            Text(str(example.id), style="bold"),
            _labels(example),
            Padding(_text(view), (1, 2)),
            _reasons(view),
        ),
        (1, 0, 0, 0),
    )


def _labels(example: Example) -> Text:
    line = Text()
    for view in example.views:
        mark, colour = MARKS[view.outcome], COLOURS[view.outcome]
        line.append(f"{mark} {view.explanation.label}  ", style=colour)
    return line


def _text(view: View) -> Text:
    text = Text()
    for piece in view.pieces:
        colour = "green" if piece.strength > 0 else "red"
        style = f"{'bold ' if abs(piece.strength) > 2 else ''}{colour}" if piece.strength else ""
        text.append(piece.text, style=style)
    return text


def _reasons(view: View) -> Group:
    told = view.explanation
    verdict = "predicted" if told.predicted else "not predicted"
    line = Text.assemble(
        (told.label, "bold"), f" is {verdict}, probability {decimals(told.probability)}"
    )
    if told.region is not None:
        line.append(f"; nearest region {told.region}, cosine {decimals(told.similarity)}")
    least = WEAKEST_LISTED * max((abs(weight) for _, weight in told.words), default=0.0)
    heard = [pair for pair in told.words if abs(pair.evidence) > least]
    backing = [pair for pair in heard if pair.evidence > 0][:WORDS_TOLD]
    opposing = [pair for pair in heard if pair.evidence < 0][:WORDS_TOLD]
    rest = sum(weight for _, weight in told.words) - sum(w for _, w in backing + opposing)
    return Group(
        line,
        Text.assemble(("  for      ", "green"), _weights(backing)),
        Text.assemble(("  against  ", "red"), _weights(opposing)),
        Text(f"  besides  {_weights([*told.other.items(), ('other words', rest)])}", "dim"),
    )


def _weights(pairs: Iterable[tuple[str, float]]) -> str:
    return "  ".join(f"{name} {weight:+.2f}" for name, weight in pairs) or "nothing"


try:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

except ImportError as error:
    raise MissingExtraError.of("The demo", "cli") from error

RULES = ("margin", "centroid", "mistake", "perceptron")
DIMENSIONS = 2**14  # a quarter of the default: enough for this stream, and kind to small machines
EVERY = 250  # documents between two points of a curve
LONGEST = 400  # characters of a document to be explained
WIDTH = 96

NEXT_STEPS = """
See it live: a service with a dashboard, which feeds itself with this stream:
  {clasher} serve --data ./demo-data --demo

With text of your own (JSON lines, CSV, Parquet, Arrow):
  {clasher} evaluate news.jsonl --report news.html
  {clasher} learn news.jsonl --model news.clasher
  {clasher} predict inbox.jsonl --model news.clasher
"""


def run_demo(
    report: str | os.PathLike[str] = "demo-report.html",
    *,
    limit: int = 12_000,
    seed: int = 0,
    svg: str | os.PathLike[str] | None = None,
) -> None:
    """Learn the docstrings of this Python installation, compare the rules, write a report.

    Parameters
    ----------
    report
        Where the report is written.
    limit
        The most documents to stream.
    seed
        Of the order of the stream, the sample and the hash.
    svg
        Where to write what the terminal showed, as a picture.
    """
    check_outputs({"--report": os.fspath(report), "--svg": None if svg is None else os.fspath(svg)})
    console = _console(recording=svg is not None)
    found = _collected(console, limit, seed)
    prepare()
    batches = _batches(found.documents)
    model, sample, results = _compared(console, batches, seed)
    _explained(console, model, sample)
    write_report(
        report,
        results["margin"],
        title="The docstrings of a Python installation",
        stream=f"{found.packages:,} packages, {found.files:,} source files",
        command="clasher demo",
        model=model,
        sample=sample,
        comparison=results,
    )
    # to be copied: never wrapped
    console.print(Text.assemble("\nThe report is in ", (str(report), "bold cyan")), soft_wrap=True)
    console.print(Text(NEXT_STEPS.format(clasher=program())), end="", soft_wrap=True)
    if svg is not None:
        replace_text(svg, _picture(console))


def _console(*, recording: bool) -> Console:
    console = Console(highlight=False, record=recording, soft_wrap=False)
    console.width = WIDTH if recording else min(console.width, WIDTH)
    return console


def _picture(console: Console) -> str:
    """What was printed, as SVG, in a font at hand: rich would load one from the network."""
    svg = console.export_svg(title="clasher demo")
    return re.sub(r"@font-face {.*?}", "", svg, flags=re.DOTALL)


def _collected(console: Console, limit: int, seed: int) -> Collection:
    console.print(
        Text.assemble(
            ("clasher demo", "bold"),
            ": the docstrings of this Python installation become a stream. Each is first "
            "classified, then its labels are shown to the model: the package it comes from, what "
            "that is about, and the kind of object it describes.\n",
        )
    )
    start = perf_counter()
    waiting = console.status("reading docstrings…") if console.is_terminal else nullcontext()
    with waiting:
        found = collect(limit, seed=seed)
    if not found.documents:
        raise StreamError(
            "no docstring was found: this Python comes without its sources; "
            "try clasher evaluate on a file of your own"
        )
    skipped = f" ({found.unreadable:,} could not be read)" if found.unreadable else ""
    console.print(
        f"{len(found.documents):,} docstrings of {found.packages:,} packages, read from "
        f"{found.files:,} source files{skipped} in {perf_counter() - start:.1f} s\n"
    )
    return found


def _batches(documents: Sequence[Docstring]) -> list[Batch]:
    return [
        Batch.of(
            [document.name for document in part],
            [document.text for document in part],
            [document.labels for document in part],
            Fields(),
        )
        for part in (documents[at : at + EVERY] for at in range(0, len(documents), EVERY))
    ]


def _compared(
    console: Console, batches: list[Batch], seed: int
) -> tuple[Clasher, Sample, dict[str, Evaluation]]:
    """Run every rule over the stream; returns the model of the margin rule and a sample."""
    runs = {rule: Run() for rule in RULES}
    models, samples, results = {}, {}, {}
    # a recording keeps every frame of a live display: there, only the last is printed
    live = console.is_terminal and not console.record
    with Live(console=console, get_renderable=lambda: runs_view(runs)) if live else nullcontext():
        for rule, run in runs.items():
            models[rule] = Clasher(DIMENSIONS, rule=rule, seed=seed)
            samples[rule] = Sample(seed=seed, longest=LONGEST)
            results[rule] = evaluate(
                models[rule], samples[rule].watch(batches), every=EVERY, on_progress=run.follow
            )
            if results[rule].interrupted:
                raise KeyboardInterrupt
    if not live:
        console.print(runs_view(runs))
    console.print(
        f"\nMacro F1 is the mean over all {results['margin'].labels:,} labels, micro F1 pools all "
        "decisions. margin is ours and the default; centroid and mistake are the paper's modes 1 "
        "and 2, perceptron is its baseline.\n\n"
        "Two of the documents, and the words that spoke for and against a label:"
    )
    return models["margin"], samples["margin"], results


def _explained(console: Console, model: Clasher, sample: Sample) -> None:
    for example in examples(model, sample, count=2):
        console.print(example_view(example))


EXAMPLES = """
    clasher demo --report demo.html
"""


@click.command("demo", cls=Command, examples=EXAMPLES, short_help="See it all at work in a minute.")
@output_option(
    "--report",
    metavar="FILE.html",
    default="demo-report.html",
    help="Where to write the report (default: demo-report.html).",
)
@output_option("--svg", metavar="FILE", help="Also write what the terminal shows, as a picture.")
@output_option(
    "--limit",
    type=click.IntRange(min=1),
    default=12_000,
    metavar="N",
    help="The most documents to stream (default: 12000).",
)
@output_option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="The seed of the order of the stream and of the hash (default: 0).",
)
def demo_command(report: str, svg: str | None, limit: int, seed: int) -> None:
    """Learn the docstrings of this Python installation as they stream by.

    Compares the rules, explains two documents, and writes a report. Needs no
    data and no network.
    """
    run_demo(report, limit=limit, seed=seed, svg=svg)
