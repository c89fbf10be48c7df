"""``clasher replay``: a model from what was taught to a service, with other settings.

``clasher token``: who may do what with a service.

``clasher log``: what was taught to a service, as JSON lines.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING

import click

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted
from clasher.cli.options import Command, model_option, option, quiet_option, written_option
from clasher.cli.settings import Wanted, settings_options
from clasher.cli.terminal import STANDARD_STREAM, check_model_file, check_outputs, say

if TYPE_CHECKING:
    from clasher.service.state import ServiceState
    from clasher.service.structs import Lesson


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
def token_command(
    name: str | None, token_file: str, scope: str, remove: bool, lists: bool, quiet: bool
) -> None:
    """Make a token for NAME, and print it: it is told once.

    The file keeps a hash of it only. A service that runs notices changes of
    the file within a second or so.
    """  # fmt: skip
    from clasher.server.tokens import SCOPES, TokenFile

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


LOG_EXAMPLES = """
    clasher log ./my-clasher > taught.jsonl
    clasher log ./my-clasher --after 12000 | jq 'select(.kind == "feedback")'
"""


@click.command(
    "log", cls=Command, examples=LOG_EXAMPLES, short_help="Export what was taught to a service."
)
@click.argument("folder", metavar="FOLDER")
@option(
    "--after",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    section="Log",
    help="Only what came after version N (default: all that is kept).",
)
@written_option
def log_command(folder: str, after: int, output: str) -> None:
    """Write what people taught, oldest first: who, when, before and after.

    FOLDER is the data folder of a service that does not run; one that runs is
    asked at /v1/log. Each document, answer and change of a label is a JSON
    line with the version of the model that it made.
    """
    check_outputs({"--output": output})
    import msgspec

    from clasher.service.export import read_folder

    encoder = msgspec.json.Encoder()
    with ExitStack() as stack:
        file: IO[bytes] = sys.stdout.buffer
        for number, lesson in enumerate(read_folder(folder, after)):
            if not number and output != STANDARD_STREAM:  # a folder without a log spoils no file
                file = stack.enter_context(open(output, "wb"))
            file.write(encoder.encode(lesson) + b"\n")
        file.flush()


REPLAY_EXAMPLES = """
    clasher replay ./my-clasher --model better.clasher --half-life 20000
    clasher log ./my-clasher | clasher replay - -m small.clasher --dimensions 8192
"""


@click.command(
    "replay",
    cls=Command,
    examples=REPLAY_EXAMPLES,
    short_help="Rebuild a model from what was taught to a service.",
)
@click.argument("source", metavar="FOLDER|FILE")
@model_option("The model file to write.")
@settings_options
@quiet_option
def replay_command(source: str, model_path: str, wanted: Wanted, quiet: bool) -> None:
    """Teach a new model all that was taught to a service, in order.

    FOLDER is the data folder of a service that does not run, FILE what clasher
    log wrote, or - for standard input. Every document is predicted before it is
    learnt: the figures tell how good a service with these settings would have
    been.
    """
    check_outputs({"--model": model_path}, [source])
    check_model_file("--model", model_path)
    from clasher.service.export import replay
    from clasher.service.state import ServiceState

    state = ServiceState(wanted.create())
    terminal.prepare(state.model.settings, quiet=quiet)
    with _lessons(source) as lessons:
        done = replay(lessons, state)
    if not done.lessons:
        terminal.say(f"nothing was taught in {source}; {model_path} is as it was", quiet=quiet)
        return
    state.model.save(model_path)
    if done.passed_over:
        terminal.warn(f"passed over {counted(done.passed_over, 'lesson')}; the first: {done.first}")
    terminal.say(_summary(state, done.lessons, model_path), quiet=quiet)


@contextmanager
def _lessons(source: str) -> Iterator[Iterator[Lesson]]:
    from clasher.service.export import read_folder, read_lines

    if source == STANDARD_STREAM:
        yield read_lines(sys.stdin.buffer, source)
    elif os.path.isdir(source):
        yield read_folder(source)
    else:
        with open(source, "rb") as file:
            yield read_lines(file, source)


def _summary(state: ServiceState, lessons: int, path: str) -> str:
    from clasher.runtime.quality import figures

    quality = figures(state.quality.all)
    return (
        f"learnt {counted(lessons, 'lesson')}, macro F1 {quality.macro_f1.value:.3f}, micro F1 "
        f"{quality.micro_f1.value:.3f} over {counted(quality.documents, 'judged document')}; saved "
        f"{path}: {counted(len(state.model.labels), 'label')}, {bytes_(os.path.getsize(path))}"
    )
