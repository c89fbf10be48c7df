"""``clasher demo``: the whole product on text that every Python carries."""

from __future__ import annotations

import click

from clasher.app.options import Command, output_option

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
def command(report: str, svg: str | None, limit: int, seed: int) -> None:
    """Learn the docstrings of this Python installation as they stream by.

    Compares the rules, explains two documents, and writes a report. Needs no
    data and no network.
    """
    from clasher.app.demo import run_demo

    run_demo(report, limit=limit, seed=seed, svg=svg)
