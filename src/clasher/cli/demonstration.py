"""The demo: learn the docstrings of this Python, compare the rules, explain, write a report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clasher.cli.demo_corpus import Collection, Docstring, collect
from clasher.cli.format import bytes_, decimals, sparkline
from clasher.cli.report import write_report
from clasher.cli.report.examples import WEAKEST_LISTED, Example, Sample, View, examples
from clasher.cli.tables import nearest_region, table
from clasher.cli.terminal import check_outputs, prepare, program
from clasher.durable import replace_text
from clasher.errors import StreamError
from clasher.evaluate import Evaluation, Progress, evaluate
from clasher.io import Batch, Fields
from clasher.model import Clasher

RULES = ("margin", "centroid", "mistake", "perceptron")
DIMENSIONS = 2**14  # a quarter of the default: enough for this stream, and kind to small machines
EVERY = 250  # documents between two points of a curve
LONGEST = 400  # characters of a document to explain
WIDTH = 96
SPARKLINE = 16  # columns
MOST_WORDS = 5  # for and against a label

NEXT_STEPS = """
See it live, in a service with a dashboard that replays this stream:
  {clasher} serve --data ./demo-data --demo

Try it on your own text (JSON lines, CSV, Parquet, Arrow):
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
        The HTML file to write.
    limit
        The most documents to learn.
    seed
        The seed of the order of the documents, of the sample and of the hash functions.
    svg
        The file for a picture of the terminal, if any.
    """
    check_outputs({"--report": os.fspath(report), "--svg": None if svg is None else os.fspath(svg)})
    console = Console(highlight=False, record=svg is not None, soft_wrap=False)
    console.width = WIDTH if svg is not None else min(console.width, WIDTH)
    found = _collect(console, limit, seed)
    prepare()
    model, sample, results = _compare(console, _batches(found.documents), seed)
    for example in examples(model, sample, count=2):
        console.print(example_view(example))
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
    # soft_wrap: never break lines that people copy
    console.print(Text.assemble("\nThe report is in ", (str(report), "bold cyan")), soft_wrap=True)
    console.print(Text(NEXT_STEPS.format(clasher=program())), end="", soft_wrap=True)
    if svg is not None:
        picture = console.export_svg(title="clasher demo")
        # without rich's web font, which would be loaded from the network
        replace_text(svg, re.sub(r"@font-face {.*?}", "", picture, flags=re.DOTALL))


def _collect(console: Console, limit: int, seed: int) -> Collection:
    console.print(
        Text.assemble(
            ("clasher demo", "bold"),
            ": learns the docstrings of this Python installation as a stream. The model first "
            "classifies a docstring, then sees its labels: its package, the topic of the package, "
            "and the kind of object.\n",
        )
    )
    start = perf_counter()
    with console.status("reading docstrings…") if console.is_terminal else nullcontext():
        found = collect(limit, seed=seed)
    if not found.documents:
        raise StreamError(
            "found no docstrings: this Python comes without its sources; try clasher evaluate on a "
            "file of your own"
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


def _compare(
    console: Console, batches: list[Batch], seed: int
) -> tuple[Clasher, Sample, dict[str, Evaluation]]:
    """Run every rule over the stream; return the model and the sample of the margin rule."""
    runs = {rule: Run() for rule in RULES}
    models, samples, results = {}, {}, {}
    # A recording would keep every frame of a live display.
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
        "decisions. margin is the default rule; centroid and mistake are modes 1 and 2 of the "
        "paper, perceptron is its baseline.\n\n"
        "Two of the documents, with the words for and against a label:"
    )
    return models["margin"], samples["margin"], results


@dataclass
class Run:
    """The progress of a rule."""

    now: Progress | None = None
    macro_f1: list[float] = field(default_factory=list)

    def follow(self, progress: Progress) -> None:
        """Record progress."""
        self.now = progress
        self.macro_f1.append(progress.macro_f1)


def runs_view(runs: Mapping[str, Run]) -> Table:
    """Show the rules side by side, so far; fits into 80 columns."""
    numbers = ("docs", "docs/s", "macro F1", "micro F1", "model")
    made = table("rule", *numbers, "over the stream", right=numbers, show_edge=False)
    started = [run.now for run in runs.values() if run.now]
    best_macro = max((now.macro_f1 for now in started), default=0.0)
    best_micro = max((now.micro_f1 for now in started), default=0.0)
    top = max((value for run in runs.values() for value in run.macro_f1), default=0.0)
    for name, run in runs.items():
        rule = Text(name, style="bold")
        if (now := run.now) is None:
            made.add_row(rule)
            continue
        made.add_row(
            rule,
            f"{now.documents:,}",
            f"{now.documents_per_second:,.0f}",
            _best(now.macro_f1, best_macro),
            _best(now.micro_f1, best_micro),
            bytes_(now.state_bytes),
            Text(sparkline(run.macro_f1, SPARKLINE, top), style="cyan"),
        )
    return made


def _best(value: float, best: float) -> Text:
    return Text(decimals(value), style="bold green" if value == best else "")


OUTCOMES = {
    "hit": ("✓", "green"),
    "alarm": ("×", "red"),
    "miss": ("–", "yellow"),
    "unknown": ("?", "dim"),
}
"""The mark and colour of a label's outcome."""


def example_view(example: Example) -> RenderableType:
    """Show a document, its labels, and the words for and against the first of them."""
    view = example.views[0]
    labels = Text()
    for each in example.views:
        mark, colour = OUTCOMES[each.outcome]
        labels.append(f"{mark} {each.explanation.label}  ", style=colour)
    text = Text()
    for piece in view.pieces:
        colour = "green" if piece.strength > 0 else "red"
        style = f"{'bold ' if abs(piece.strength) > 2 else ''}{colour}" if piece.strength else ""
        text.append(piece.text, style=style)
    title = Text(str(example.id), style="bold")
    return Padding(Group(title, labels, Padding(text, (1, 2)), _reasons(view)), (1, 0, 0, 0))


def _reasons(view: View) -> Group:
    found = view.explanation
    verdict = "predicted" if found.predicted else "not predicted"
    line = Text.assemble(
        (found.label, "bold"), f" is {verdict}, probability {decimals(found.probability)}"
    )
    if found.region is not None:
        line.append(f"; {nearest_region(found)}")
    least = WEAKEST_LISTED * max((abs(weight) for _, weight in found.words), default=0.0)
    strong = [pair for pair in found.words if abs(pair.evidence) > least]
    backing = [pair for pair in strong if pair.evidence > 0][:MOST_WORDS]
    opposing = [pair for pair in strong if pair.evidence < 0][:MOST_WORDS]
    rest = sum(weight for _, weight in found.words) - sum(w for _, w in backing + opposing)
    others = _weights([*found.other.items(), ("other words", rest)])
    grid = Table.grid(padding=(0, 2))
    grid.add_row(Text("  for", "green"), Text(_weights(backing)))
    grid.add_row(Text("  against", "red"), Text(_weights(opposing)))
    grid.add_row(Text("  other", "dim"), Text(others, "dim"))
    return Group(line, grid)


def _weights(pairs: Iterable[tuple[str, float]]) -> str:
    return "  ".join(f"{name} {weight:+.2f}" for name, weight in pairs) or "nothing"
