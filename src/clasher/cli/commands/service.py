"""Commands beside a service: ``token``, ``log`` and ``replay``."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import IO

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted
from clasher.cli.options import command, model_option, quiet_option, section, written_option
from clasher.cli.settings import ModelOptions, settings_options
from clasher.cli.terminal import STANDARD_STREAM, check_model_file, check_outputs, say

_tokens = section("Tokens")


@command("token", "Manage the access tokens of a service.")
@click.argument("name", required=False)
@_tokens("--token-file FILE  The file for clasher serve; created if missing.", required=True)
@_tokens(
    "--scope predict|read|teach|admin = teach  predict: predict and explain only; read: also "
    "labels and figures; teach (the default): also see texts, learn and answer; admin: also change "
    "labels, export the log and the model.",
    "--remove  Remove the token of NAME.",
    "lists --list  List who has a token.",
)
@quiet_option
def token_command(
    name: str | None, token_file: str, scope: str, remove: bool, lists: bool, quiet: bool
) -> None:
    """Create a token for NAME and print it, once.

    The file keeps only a hash of it. A running service notices changes of the
    file within about a second.

    $ clasher token ann --scope teach --token-file tokens
    $ clasher token --list --token-file tokens
    $ clasher token ann --remove --token-file tokens
    """  # fmt: skip
    from clasher.server.tokens import SCOPES, TokenFile

    tokens = TokenFile(token_file)
    if lists:
        for holder in tokens.holders():
            click.echo(f"{holder.name}\t{holder.scope}")
        return
    if name is None:
        raise click.UsageError("Give a NAME, or --list.")
    if remove:
        tokens.remove(name)
        say(f"removed the token of {name}", quiet=quiet)
        return
    token = tokens.add(name, next(known for known in SCOPES if known == scope))
    say(f"the token of {name}, scope {scope}; it is not shown again:", quiet=quiet)
    click.echo(token)


@command("log", "Export what a service was taught.")
@click.argument("folder", metavar="FOLDER")
@section("Log")(
    "--after N = 0  Only lessons after version N of the model (default: all that are kept).",
    type=click.IntRange(min=0),
)
@written_option
def log_command(folder: str, after: int, output: str) -> None:
    """Write what people taught, oldest first: who, when, before and after.

    FOLDER is the data folder of a stopped service; ask a running one at
    /v1/log. Each document, answer and change of a label is a JSON line with
    the version of the model that it made.

    $ clasher log ./my-clasher > taught.jsonl
    $ clasher log ./my-clasher --after 12000 | jq 'select(.kind == "feedback")'
    """
    check_outputs({"--output": output})
    import msgspec

    from clasher.service.export import read_folder

    encoder = msgspec.json.Encoder()
    with ExitStack() as stack:
        file: IO[bytes] = sys.stdout.buffer
        for number, lesson in enumerate(read_folder(folder, after)):
            if not number and output != STANDARD_STREAM:  # keep the file if there is no log
                file = stack.enter_context(open(output, "wb"))
            file.write(encoder.encode(lesson) + b"\n")
        file.flush()


@command("replay", "Rebuild a model from the log of a service.")
@click.argument("source", metavar="FOLDER|FILE")
@model_option("The model file to write.")
@settings_options
@quiet_option
def replay_command(source: str, model_path: str, options: ModelOptions, quiet: bool) -> None:
    """Teach a new model everything a service was taught, in order.

    FOLDER is the data folder of a stopped service, FILE the output of clasher
    log, or - for standard input. Every document is predicted before it is
    learnt: the figures say how good a service with these settings would have
    been.

    $ clasher replay ./my-clasher --model better.clasher --half-life 20000
    $ clasher log ./my-clasher | clasher replay - -m small.clasher --dimensions 8192
    """
    check_model_file("--model", model_path, [source])
    from clasher.runtime.quality import figures
    from clasher.service.export import read_folder, read_lines, replay
    from clasher.service.state import ServiceState

    state = ServiceState(options.create())
    terminal.prepare(state.model.settings, quiet=quiet)
    if os.path.isdir(source):
        done = replay(read_folder(source), state)
    else:
        with click.open_file(source, "rb") as file:  # - is standard input
            done = replay(read_lines(file, source), state)
    if not done.lessons:
        say(f"{source} holds no lessons; {model_path} is unchanged", quiet=quiet)
        return
    state.model.save(model_path)
    if done.passed_over:
        terminal.warn(f"skipped {counted(done.passed_over, 'lesson')}; the first: {done.first}")
    quality = figures(state.quality.all)
    say(
        f"learnt {counted(done.lessons, 'lesson')}, macro F1 {quality.macro_f1.value:.3f}, micro "
        f"F1 {quality.micro_f1.value:.3f} over {counted(quality.documents, 'judged document')}; "
        f"saved {model_path}: {counted(len(state.model.labels), 'label')}, "
        f"{bytes_(os.path.getsize(model_path))}",
        quiet=quiet,
    )
