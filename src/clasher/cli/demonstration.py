"""The demo: learn the docstrings of this Python, compare the rules, explain, write a report."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
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

    ``svg`` names the file for a picture of the terminal.
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
    runs: dict[str, list[Progress]] = {rule: [] for rule in RULES}
    models, samples, results = {}, {}, {}
    # A recording would keep every frame of a live display.
    live = console.is_terminal and not console.record
    with Live(console=console, get_renderable=lambda: runs_view(runs)) if live else nullcontext():
        for rule, run in runs.items():
            models[rule] = Clasher(DIMENSIONS, rule=rule, seed=seed)
            samples[rule] = Sample(seed=seed, longest=LONGEST)
            results[rule] = evaluate(
                models[rule], samples[rule].watch(batches), every=EVERY, on_progress=run.append
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


def runs_view(runs: Mapping[str, Sequence[Progress]]) -> Table:
    """Show the rules side by side, so far; fits into 80 columns."""
    numbers = ("docs", "docs/s", "macro F1", "micro F1", "model")
    made = table("rule", *numbers, "over the stream", right=numbers, show_edge=False)
    best = {
        figure: max((getattr(run[-1], figure) for run in runs.values() if run), default=0.0)
        for figure in ("macro_f1", "micro_f1")
    }
    top = max((now.macro_f1 for run in runs.values() for now in run), default=0.0)
    for name, run in runs.items():
        rule = Text(name, style="bold")
        if not run:
            made.add_row(rule)
            continue
        now = run[-1]
        figures = {figure: getattr(now, figure) for figure in best}
        made.add_row(
            rule,
            f"{now.documents:,}",
            f"{now.documents_per_second:,.0f}",
            *(
                Text(decimals(value), style="bold green" if value == best[figure] else "")
                for figure, value in figures.items()
            ),
            bytes_(now.state_bytes),
            Text(sparkline([each.macro_f1 for each in run], SPARKLINE, top), style="cyan"),
        )
    return made


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
    near = "" if found.region is None else f"; {nearest_region(found)}"
    about = f" is {verdict}, probability {decimals(found.probability)}{near}"
    least = WEAKEST_LISTED * max((abs(weight) for _, weight in found.words), default=0.0)
    strong = [pair for pair in found.words if abs(pair.evidence) > least]
    backing = [pair for pair in strong if pair.evidence > 0][:MOST_WORDS]
    opposing = [pair for pair in strong if pair.evidence < 0][:MOST_WORDS]
    rest = sum(weight for _, weight in found.words) - sum(w for _, w in backing + opposing)
    grid = Table.grid(padding=(0, 2))
    for name, colour, style, pairs in (
        ("for", "green", "", backing),
        ("against", "red", "", opposing),
        ("other", "dim", "dim", [*found.other.items(), ("other words", rest)]),
    ):
        words = "  ".join(f"{word} {weight:+.2f}" for word, weight in pairs) or "nothing"
        grid.add_row(Text(f"  {name}", colour), Text(words, style))
    return Group(Text.assemble((found.label, "bold"), about), grid)
