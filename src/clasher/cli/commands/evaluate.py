"""Commands that test, then train: ``evaluate`` on a stream, ``demo`` on docstrings of Python."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted, decimals
from clasher.cli.options import command, json_option, output_option, section
from clasher.cli.settings import ModelOptions, settings_options
from clasher.cli.streams import Stream, stream_options

if TYPE_CHECKING:
    from clasher.evaluate import Progress


@command("evaluate", "Measure the quality: test, then train.")
@stream_options(labelled=True)
@section("Stream")(
    "--label-probability P = 1  Probability that the model sees a document's labels (default: 1); "
    "every prediction is still judged. --seed picks the documents.",
    type=click.FloatRange(0, 1),
)
@settings_options
@json_option("all figures, curves and labels")
@output_option(
    "--report FILE.html  Write a web page: curves, labels, explained documents.",
    "--save FILE  Save the model.",
    "--every N = 1000  Documents between two points of a curve.",
    "--window N = 10  The length of the sliding window, in units of --every.",
    "--ranked  Show precision at 1, 3 and 5 too, plain and propensity-scored.",
)
def evaluate_command(
    stream: Stream, options: ModelOptions, json_path: str | None, report: str | None,
    save: str | None, **how: Any,
) -> None:  # fmt: skip
    """Classify each document of a stream, then learn its labels.

    Every prediction is therefore made on unseen text. Ctrl-C ends the stream:
    all outputs are written, with the figures so far.

    $ clasher evaluate news.jsonl
    $ clasher evaluate reuters.parquet --paper 1 --json figures.json
    $ clasher evaluate a.csv b.csv --labels topics --report report.html
    $ clasher evaluate news.jsonl --label-probability 0.125
    $ clasher evaluate products.jsonl --ranked
    """
    outputs = {"--save": save, "--json": json_path, "--report": report}
    terminal.check_outputs(outputs, stream.paths, models=["--save"])
    model = options.create()
    sample = None
    if report is not None:
        from clasher.cli.report import write_report  # names a missing extra before the work starts
        from clasher.cli.report.examples import Sample

        sample = Sample(seed=model.settings.seed)
    with stream.opened() as batches:
        uses = ("learn",) if report is None else terminal.USES
        terminal.prepare(model.settings, *uses)
        from clasher.evaluate import evaluate

        pairs: Any = ((batch.texts, batch.labels) for batch in batches)
        with stream.bar() as bar:
            result = evaluate(
                model,
                pairs if sample is None else sample.watch(batches),
                seed=model.settings.seed,
                on_progress=(lambda progress: show_progress(bar, progress)) if bar.shown else None,
                **how,
            )
    if result.documents:
        from clasher.cli.tables import evaluation_view, show
        from clasher.io.read_ahead import HeldInterrupt

        with HeldInterrupt():
            if json_path != terminal.STANDARD_STREAM:
                show(evaluation_view(result, stream.name))
            if save is not None:
                model.save(save)
            if json_path is not None:
                terminal.write_json(json_path, result.to_dict())
            if report is not None:
                write_report(
                    report, result, title=stream.name, stream=", ".join(stream.paths),
                    command=shlex.join(["clasher", *sys.argv[1:]]), model=model, sample=sample,
                )  # fmt: skip
        for path in outputs.values():
            if path is not None and path != terminal.STANDARD_STREAM:
                terminal.say(f"wrote {path}")
    if result.interrupted:
        terminal.leave_interrupted(result.documents)


def show_progress(bar: terminal.Bar, progress: Progress) -> None:
    """Show the rate, the figures so far, and alarms or memory."""
    memory = bytes_(progress.memory_bytes)
    bar.show(
        progress.documents,
        f"{progress.documents_per_second:,.0f}/s",
        f"macro {decimals(progress.macro_f1)}",
        f"micro {decimals(progress.micro_f1)}",
        counted(progress.alarms, "alarm") if progress.alarms else memory,
    )


@command("demo", "See everything at work in a minute.", quiet=False)
@output_option(
    "--report FILE.html = demo-report.html  The report to write.",
    "--svg FILE  Write a picture of the terminal too.",
    "--limit N = 12000  The maximum number of documents to learn.",
)
@output_option(
    "--seed N = 0  The seed of the order of the documents and of the hash functions.",
    type=click.IntRange(min=0),
)
def demo_command(report: str, svg: str | None, limit: int, seed: int) -> None:
    """Learn the docstrings of this Python installation as a stream.

    Compares the learning rules, explains two documents and writes a report.
    Needs no data and no network.

    $ clasher demo --report demo.html
    """
    from clasher.cli.demo import run_demo

    run_demo(report, limit=limit, seed=seed, svg=svg)
