"""The entry point of the command line.

Nothing heavy is imported here or in the modules of the commands, only in what they run: ``--help``
and ``--version`` answer at once.

The group of all commands: imports them one by one, and tells failures in one line.
"""

from __future__ import annotations

import difflib
import os
import sys
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import IO, Any, NoReturn

import click

from clasher import __version__
from clasher.cli.format import printable
from clasher.cli.options import Exemplified, at_terminal, options_of
from clasher.cli.terminal import INTERRUPTED, warn
from clasher.errors import ClasherError, MissingExtraError

COMMANDS = {
    "evaluate": "evaluate", "learn": "learn", "late": "learn", "unlearn": "learn",
    "predict": "predict", "explain": "predict", "inspect": "models", "labels": "models",
    "merge": "models", "plan": "plan", "clusters": "unsupervised", "similar": "unsupervised",
    "datasets": "datasets", "run": "run", "serve": "serve", "token": "service", "log": "service",
    "replay": "service", "spark": "spark", "annif": "annif", "demo": "demo", "synth": "synth",
}  # fmt: skip
"""Each command and the module of ``clasher.cli.commands`` that has it, as ``NAME_command``."""
NO_READER = 141  # 128 + SIGPIPE
EXAMPLES = """
    clasher evaluate news.jsonl
    clasher learn news.jsonl --model news.clasher
    tail -f inbox.jsonl | clasher predict - --model news.clasher
"""


class Refusal(click.ClickException):
    """One line on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        line = printable(" ".join(self.message.splitlines()))
        click.echo(f"clasher: {line}", file=file, err=True)


class Commands(Exemplified, click.Group):
    """Commands that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"clasher.cli.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or the one that was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            if not near:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from error

    def _called(self, ctx: click.Context) -> click.Command | None:
        """The command that was asked for."""
        name = ctx.invoked_subcommand
        return None if name is None else self.get_command(ctx, name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whatever is expected to go wrong ends in one line and an exit code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal or a file name need not be Unicode
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except ClasherError as error:
            raise Refusal(at_terminal(str(error), options_of(self._called(ctx)))) from error
        except MemoryError as error:
            raise Refusal(
                f"out of memory; lower --dimensions or --max-labels ({error or 'no more is known'})"
            ) from error
        except BrokenPipeError:
            _leave_pipe(ctx)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise Refusal(f"{where}{error.strerror or error}") from error
        except KeyboardInterrupt:
            warn("interrupted; what was not saved yet is lost")
            ctx.exit(INTERRUPTED)


def _leave_pipe(ctx: click.Context) -> NoReturn:
    """Go quietly when the reader of the output has gone; nor may Python flush into its pipe."""
    output = sys.__stdout__
    if output is not None and sys.stdout is output:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
    ctx.exit(NO_READER)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=EXAMPLES,
)
@click.version_option(__version__, prog_name="clasher", message="%(prog)s %(version)s")
def cli() -> None:
    """Classify endless multi-label text streams in bounded memory.

    A STREAM is one or more files, or - for standard input: JSON lines, CSV,
    TSV, Parquet or Arrow, text also compressed (gzip, zstd, xz, bzip2).
    """


LIBRARIES = ("click", "rich")


def main() -> None:
    """Run the command line, and end the process with its exit code."""
    if any(find_spec(library) is None for library in LIBRARIES):
        print(f"clasher: {MissingExtraError.of('The command line', 'cli')}", file=sys.stderr)
        sys.exit(2)

    try:
        cli(prog_name="clasher")
    except SystemExit as exit_:
        _leave(exit_.code)
        raise


def _leave(code: object) -> None:
    """Exit at once where a thread still waits for input.

    It holds the lock of standard input, and Python would abort over that on its way out.
    """
    waiting = any(thread.name.startswith("clasher") for thread in threading.enumerate())
    if waiting and isinstance(code, int):
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)
