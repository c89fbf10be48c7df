"""``clasher annif``: Annif's own command line, with a backend that learns online."""

import click

from clasher.cli.options import command

_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@command("annif", "Run Annif with clasher as a backend.", quiet=False, context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def annif_command(arguments: tuple[str, ...]) -> None:
    """Run a command of Annif: ARGUMENTS are those of annif.

    Projects with backend=clasher learn (train, learn) and suggest. All other
    backends work as usual.

    $ clasher annif list-projects
    $ clasher annif train subjects documents.tsv
    $ clasher annif learn subjects corrected/
    """
    from clasher.adapters.annif import register

    register()
    from annif.cli import cli

    cli.main(list(arguments), prog_name="clasher annif")
