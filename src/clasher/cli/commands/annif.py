"""``clasher annif``: Annif's own command line, with a backend that learns online."""

from __future__ import annotations

import click

from clasher.cli.options import Command

EXAMPLES = """
    clasher annif list-projects
    clasher annif train subjects documents.tsv
    clasher annif learn subjects corrected/
"""


@click.command(
    "annif", cls=Command, examples=EXAMPLES, short_help="Run Annif with clasher as a backend.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)  # fmt: skip
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def annif_command(arguments: tuple[str, ...]) -> None:
    """Run a command of Annif: ARGUMENTS are those of annif.

    Projects with backend=clasher learn (train, learn) and suggest; all other
    backends are there as well.
    """
    from clasher.adapters.annif import register

    register()
    from annif.cli import cli

    cli.main(list(arguments), prog_name="clasher annif")
