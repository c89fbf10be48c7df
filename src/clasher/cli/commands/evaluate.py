"""``clasher evaluate``: test, then train, over a stream."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from clasher.cli import terminal
from clasher.cli.options import Command, option, output_option, quiet_option
from clasher.cli.settings import Wanted, settings_options
from clasher.cli.streams import Stream, stream_options
from clasher.cli.terminal import STANDARD_STREAM, check_model_file, check_outputs, write_json
from clasher.io.read_ahead import HeldInterrupt

if TYPE_CHECKING:
    from clasher.cli.report.examples import Sample
    from clasher.evaluate import Evaluation
    from clasher.io import Batch
    from clasher.model import Clasher


EXAMPLES = """
    clasher evaluate news.jsonl
    clasher evaluate reuters.parquet --paper 1 --json figures.json
    clasher evaluate a.csv b.csv --labels topics --report report.html
    clasher evaluate news.jsonl --label-probability 0.125
"""


@click.command(
    "evaluate", cls=Command, examples=EXAMPLES, short_help="Test, then train: how well does it do?"
)
@stream_options(labelled=True)
@option(
    "--label-probability",
    type=click.FloatRange(0, 1),
    default=1.0,
    metavar="P",
    section="Stream",
    help="Show the model the labels of a document with this probability only; all documents are "
    "still judged (default: 1). --seed decides which.",
)
@settings_options
@output_option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write every figure, the curves and the labels as JSON; - writes them to "
    "standard output in place of the table.",
)
@output_option(
    "--report",
    metavar="FILE.html",
    help="Write a page to look at: curves, labels, documents explained.",
)
@output_option("--save", metavar="FILE", help="Keep the model that was learnt.")
@output_option(
    "--every",
    type=click.IntRange(min=1),
    default=1000,
    metavar="N",
    help="Documents between two points of a curve (default: 1000).",
)
@output_option(
    "--window",
    type=click.IntRange(min=1),
    default=10,
    metavar="N",
    help="The sliding window, in stretches of --every (default: 10).",
)
@quiet_option
def evaluate_command(
    stream: Stream,
    label_probability: float,
    wanted: Wanted,
    json_path: str | None,
    report: str | None,
    save: str | None,
    every: int,
    window: int,
    quiet: bool,
) -> None:
    """Classify each document of a stream, then learn its labels.

    The figures are those of a model that had never seen the document. Ctrl-C
    ends the stream: what was asked for is written, with the figures so far.
    """
    products = Products(json_path, report, save)
    products.check(stream)
    model = wanted.create()
    sample = _sample(model) if report is not None else None
    with stream.opened() as batches:
        terminal.prepare(model.settings, quiet=quiet)
        how = {"every": every, "window": window, "label_probability": label_probability}
        result = _evaluate(model, stream, batches, sample, how, quiet=quiet)
    if result.documents:
        products.write(result, model, sample, stream, quiet=quiet)
    if result.interrupted:
        terminal.leave_interrupted(result.documents)


@dataclass(frozen=True)
class Products:
    """The files that were asked for."""

    json: str | None
    report: str | None
    save: str | None

    def check(self, stream: Stream) -> None:
        """Find out before the work what would fail after it."""
        named = {"--json": self.json, "--report": self.report, "--save": self.save}
        check_outputs(named, stream.paths)
        if self.save is not None:
            check_model_file("--save", self.save)
        if self.report is not None:
            import_module("clasher.cli.report")  # says what to install

    def write(
        self,
        result: Evaluation,
        model: Clasher,
        sample: Sample | None,
        stream: Stream,
        *,
        quiet: bool,
    ) -> None:
        """Write them, and the table unless standard output is taken."""
        from clasher.cli.format import evaluation_view, show

        with HeldInterrupt():
            if self.json != STANDARD_STREAM:
                show(evaluation_view(result, stream.name))
            if self.save is not None:
                model.save(self.save)
            if self.json is not None:
                write_json(self.json, result.to_dict())
            if self.report is not None:
                from clasher.cli.report import write_report

                write_report(
                    self.report,
                    result,
                    title=stream.name,
                    stream=", ".join(stream.paths),
                    command=shlex.join(["clasher", *sys.argv[1:]]),
                    model=model,
                    sample=sample,
                )
        for path in (self.save, self.json, self.report):
            if path is not None and path != STANDARD_STREAM:
                terminal.say(f"wrote {path}", quiet=quiet)


def _sample(model: Clasher) -> Sample:
    from clasher.cli.report.examples import Sample

    return Sample(seed=model.settings.seed)


def _evaluate(
    model: Clasher,
    stream: Stream,
    batches: Iterator[Batch],
    sample: Sample | None,
    how: dict[str, Any],
    *,
    quiet: bool,
) -> Evaluation:
    from clasher.evaluate import evaluate

    pairs: Iterator[tuple[Any, Any]]
    if sample is None:
        pairs = ((batch.texts, batch.labels) for batch in batches)
    else:
        pairs = sample.watch(batches)
    with stream.bar(quiet=quiet) as bar:
        shown = bar.evaluated if bar.shown else None
        return evaluate(model, pairs, seed=model.settings.seed, on_progress=shown, **how)
