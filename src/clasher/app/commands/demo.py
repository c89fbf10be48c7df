"""``clasher demo``: the whole product on text that every Python carries."""

from __future__ import annotations

import click

from clasher.app.files import check_outputs
from clasher.app.options import Command, output_option

EXAMPLES = """
    clasher demo --report demo.html
"""


@click.command("demo", cls=Command, examples=EXAMPLES, short_help="See it all at work in a minute.")
@output_option(
    "--report",
    metavar="FILE.html",
    default="clasher-demo.html",
    help="Where to write the report (default: clasher-demo.html).",
)
@output_option(
    "--limit",
    type=click.IntRange(min=1),
    default=20_000,
    metavar="N",
    help="The most documents to stream (default: 20000).",
)
@output_option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Of the order of the stream (default: 0).",
)
def command(report: str, limit: int, seed: int) -> None:
    """Learn the docstrings of this Python installation as they stream by.

    Compares the rules, explains two documents, and writes a report. Needs no
    data and no network.
    """
    check_outputs({"--report": report})
    from clasher.app.demo import run_demo

    run_demo(report, limit=limit, seed=seed)
