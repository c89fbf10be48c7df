"""``clasher token``: who may do what with a service."""

from __future__ import annotations

import click

from clasher.app.notes import say
from clasher.app.options import Command, option, quiet_option

EXAMPLES = """
    clasher token ann --scope teach --token-file tokens
    clasher token --list --token-file tokens
    clasher token ann --remove --token-file tokens
"""


@click.command(
    "token", cls=Command, examples=EXAMPLES, short_help="Make tokens for those who use a service."
)
@click.argument("name", required=False)
@option(
    "--token-file",
    metavar="FILE",
    required=True,
    section="Tokens",
    help="The file of clasher serve --token-file; made where there is none.",
)
@option(
    "--scope",
    type=click.Choice(["predict", "read", "teach", "admin"]),
    default="teach",
    section="Tokens",
    help="predict: predict and explain only; read: also labels and figures; teach: also see texts, "
    "learn and answer; admin: also change labels, export the log and the model (default: teach).",
)
@option("--remove", is_flag=True, section="Tokens", help="Take the token of NAME away.")
@option("--list", "lists", is_flag=True, section="Tokens", help="Tell who has a token.")
@quiet_option
def command(
    name: str | None, token_file: str, scope: str, remove: bool, lists: bool, quiet: bool
) -> None:
    """Make a token for NAME, and print it: it is told once.

    The file keeps a hash of it only. A service that runs notices changes of
    the file within a second or so.
    """  # fmt: skip
    from clasher.app.server.tokens import SCOPES, TokenFile

    tokens = TokenFile(token_file)
    if lists:
        for holder in tokens.holders():
            click.echo(f"{holder.name}\t{holder.scope}")
        return
    if name is None:
        raise click.UsageError("Name somebody, or ask for --list.")
    if remove:
        tokens.remove(name)
        say(f"{name} has no token any more", quiet=quiet)
        return
    token = tokens.add(name, next(known for known in SCOPES if known == scope))
    say(f"the token of {name}, scope {scope}; it is not shown again:", quiet=quiet)
    click.echo(token)
