"""``clasher serve``: a model over HTTP, which learns from what people say and loses nothing."""

from __future__ import annotations

import click

from clasher.app.options import Command, option, quiet_option
from clasher.app.wanted import Wanted, settings_options

EXAMPLES = """
    clasher serve --data ./my-clasher --port 8000
    clasher serve --data ./demo --demo
    clasher serve --data ./news --host 0.0.0.0 --token-file tokens
"""


@click.command(
    "serve", cls=Command, examples=EXAMPLES, short_help="Serve a model, with a live dashboard."
)
@option(
    "--data",
    metavar="FOLDER",
    required=True,
    section="Service",
    help="Where everything is kept; made where there is none.",
)
@option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    metavar="N",
    section="Service",
    help="The port to listen at, 0 for one that is free (default: 8000).",
)
@option(
    "--model",
    "-m",
    "model_path",
    metavar="FILE",
    section="Service",
    help="Begin with this model; for a folder that is new.",
)
@option(
    "--accept-loss",
    is_flag=True,
    section="Service",
    help="Start although the end of the log, keys or waiting documents are lost or damaged.",
)
@option("--demo", is_flag=True, section="Service", help="Feed it with the demo's stream, slowly.")
@option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    section="Access",
    help="The address to listen at (default: 127.0.0.1, this machine only).",
)
@option(
    "--token-file",
    metavar="FILE",
    section="Access",
    help="Let in only those who have a token of this file: see clasher token.",
)
@option(
    "--insecure",
    is_flag=True,
    section="Access",
    help="Listen at another address without tokens: everybody there may do everything.",
)
@option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    section="Access",
    help="A name that it is asked for by, beside its addresses; may be given again.",
)
@option(
    "--root-path",
    default="",
    metavar="PATH",
    section="Access",
    help="Where it is found behind a proxy: /clasher.",
)
@settings_options
@quiet_option
def command(
    wanted: Wanted,
    data: str,
    port: int,
    model_path: str | None,
    accept_loss: bool,
    demo: bool,
    host: str,
    token_file: str | None,
    insecure: bool,
    hosts: tuple[str, ...],
    root_path: str,
    quiet: bool,
) -> None:
    """Predict, learn and take answers over HTTP, with a dashboard at /.

    What was acknowledged is on disk: a start goes on exactly where the last
    run ended, however that ended. The settings of the model are for a folder
    that is new.
    """  # fmt: skip
    from clasher.app.serve import Place, serve

    place = Place(host, port, token_file, insecure, hosts, root_path)
    serve(
        data,
        place,
        wanted,
        model_path=model_path,
        demo=demo,
        accept_loss=accept_loss,
        quiet=quiet,
    )
