"""``clasher demo``: the whole product in half a minute, on text that every Python carries."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import nullcontext
from time import perf_counter

from clasher.app.docstrings import Collection, Docstring, collect
from clasher.app.examples import examples
from clasher.app.files import check_outputs, write_whole
from clasher.app.notes import prepare, program
from clasher.app.report import write_report
from clasher.app.sample import Sample
from clasher.errors import MissingExtraError, StreamError
from clasher.evaluate import Evaluation, evaluate
from clasher.io import Batch, Fields
from clasher.model import Clasher

try:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from clasher.app.demo_view import Run, example_view, runs_view
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
        write_whole(svg, _picture(console))


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
