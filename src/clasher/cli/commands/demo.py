"""``clasher demo``: everything at work on text that every Python has."""

from __future__ import annotations

import click

from clasher.cli.options import command, output_option


@command("demo", "See everything at work in a minute.")
@output_option(
    "--report FILE.html = demo-report.html  The report to write.",
    "--svg FILE  Write a picture of the terminal too.",
    "--limit N = 12000  The most documents to learn.",
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
    from clasher.cli.demonstration import run_demo

    run_demo(report, limit=limit, seed=seed, svg=svg)
