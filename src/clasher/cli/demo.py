"""The demo: learn the docstrings of this Python, compare the rules, explain, write a report."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
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
from clasher.cli.report.examples import WEAKEST_LISTED, Example, Sample, examples
from clasher.cli.tables import nearest_region, table
from clasher.cli.terminal import check_outputs, prepare, program
from clasher.durable import replace_text
from clasher.errors import StreamError
from clasher.evaluate import Evaluation, Progress, evaluate
from clasher.io import Batch, Fields
from clasher.learning.explain import Explanation
from clasher.model import Clasher

RULES = ("margin", "centroid", "mistake", "perceptron")
DIMENSIONS = 2**14  # a quarter of the default: enough for this stream, and kind to small machines
EVERY = 250  # documents between two points of a curve
LONGEST = 400  # characters of a document to explain
WIDTH = 96
SPARKLINE = 16  # columns
MOST_WORDS = 5  # for and against a label

OUTCOMES = {
    "hit": ("✓", "green"), "alarm": ("×", "red"), "miss": ("–", "yellow"), "unknown": ("?", "dim"),
}  # fmt: skip
"""The mark and colour of a label's outcome."""

INTRODUCTION = """: learns the docstrings of this Python installation as a stream. The model first \
classifies a docstring, then sees its labels: its package, the topic of the package, and the kind \
of object.
"""
COMPARED = """
Macro F1 is the mean over all {labels:,} labels, micro F1 pools all decisions. margin is the \
default rule; centroid and mistake are modes 1 and 2 of the paper, perceptron is its baseline.

Two of the documents, with the words for and against a label:"""
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
    model, sample, results = _compare(console, found.documents, seed)
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
    console.print(Text.assemble(("clasher demo", "bold"), INTRODUCTION))
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


def _compare(
    console: Console, documents: Sequence[Docstring], seed: int
) -> tuple[Clasher, Sample, dict[str, Evaluation]]:
    """Run every rule over the stream; return the model and the sample of the margin rule."""
    batches = []
    for at in range(0, len(documents), EVERY):
        names, texts, labels = map(list, zip(*documents[at : at + EVERY], strict=True))
        batches.append(Batch.of(names, texts, labels, Fields()))
    runs: dict[str, list[Progress]] = {rule: [] for rule in RULES}
    models, samples, results = {}, {}, {}
    # A recording would keep every frame of a live display.
    live = console.is_terminal and not console.record
    with Live(console=console, get_renderable=lambda: runs_view(runs)) if live else nullcontext():
        for rule, run in runs.items():
            models[rule] = Clasher(DIMENSIONS, rule=rule, seed=seed)
            samples[rule] = Sample(seed=seed, longest=LONGEST)
            stream = samples[rule].watch(batches)
            results[rule] = evaluate(models[rule], stream, every=EVERY, on_progress=run.append)
            if results[rule].interrupted:
                raise KeyboardInterrupt
    if not live:
        console.print(runs_view(runs))
    console.print(COMPARED.format(labels=results["margin"].labels))
    return models["margin"], samples["margin"], results


def runs_view(runs: Mapping[str, Sequence[Progress]]) -> Table:
    """Show the rules side by side, so far; fits into 80 columns."""
    numbers = ("docs", "docs/s", "macro F1", "micro F1", "model")
    made = table("rule", *numbers, "over the stream", right=numbers, show_edge=False)
    last = [run[-1] for run in runs.values() if run]
    both = ("macro_f1", "micro_f1")
    best = {f1: max((getattr(now, f1) for now in last), default=0.0) for f1 in both}
    top = max((now.macro_f1 for run in runs.values() for now in run), default=0.0)
    for rule, run in runs.items():
        cells: list[RenderableType] = [Text(rule, style="bold")]
        for now in run[-1:]:
            cells += [f"{now.documents:,}", f"{now.documents_per_second:,.0f}"]
            for f1, highest in best.items():
                value = getattr(now, f1)
                cells.append(Text(decimals(value), "bold green" if value == highest else ""))
            curve = sparkline([each.macro_f1 for each in run], SPARKLINE, top)
            cells += [bytes_(now.state_bytes), Text(curve, "cyan")]
        made.add_row(*cells)
    return made


def example_view(example: Example) -> RenderableType:
    """Show a document, its labels, and the words for and against the first of them."""
    labels, text = Text(), Text()
    for view in example.views:
        mark, colour = OUTCOMES[view.outcome]
        labels.append(f"{mark} {view.explanation.label}  ", colour)
    first = example.views[0]
    for piece, strength in first.pieces:
        colour = "green" if strength > 0 else "red"
        text.append(piece, f"{'bold ' if abs(strength) > 2 else ''}{colour}" if strength else "")
    reasons = _reasons(first.explanation)
    title = Text(str(example.id), "bold")
    return Padding(Group(title, labels, Padding(text, (1, 2)), *reasons), (1, 0, 0, 0))


def _reasons(found: Explanation) -> tuple[Text, Table]:
    verdict = "predicted" if found.predicted else "not predicted"
    near = "" if found.region is None else f"; {nearest_region(found)}"
    about = f" is {verdict}, probability {decimals(found.probability)}{near}"
    least = WEAKEST_LISTED * max((abs(weight) for _, weight in found.words), default=0.0)
    backing = [pair for pair in found.words if pair.evidence > least][:MOST_WORDS]
    opposing = [pair for pair in found.words if pair.evidence < -least][:MOST_WORDS]
    rest = sum(weight for _, weight in found.words) - sum(w for _, w in backing + opposing)
    rows: Sequence[tuple[str, str, str, Iterable[tuple[str, float]]]] = [
        ("for", "green", "", backing),
        ("against", "red", "", opposing),
        ("other", "dim", "dim", [*found.other.items(), ("other words", rest)]),
    ]
    reasons = Table.grid(padding=(0, 2))
    for name, colour, style, pairs in rows:
        words = "  ".join(f"{word} {weight:+.2f}" for word, weight in pairs) or "nothing"
        reasons.add_row(Text(f"  {name}", colour), Text(words, style))
    return Text.assemble((found.label, "bold"), about), reasons
