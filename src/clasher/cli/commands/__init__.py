"""The commands, each imported when it is used; failures end in one line.

The modules of commands import heavy libraries only in the functions that need them, so that
``--help`` and ``--version`` answer at once.
"""

import os
import sys
from importlib import import_module
from typing import IO, Any

import click

from clasher import __version__
from clasher.cli.options import CommandGroup, name_options, option_names
from clasher.cli.terminal import INTERRUPTED, warn
from clasher.errors import ClasherError, nearest

COMMANDS = {
    "evaluate": "evaluate", "learn": "models", "late-labels": "models", "unlearn": "models",
    "predict": "models", "explain": "models", "inspect": "models", "labels": "models",
    "merge": "models", "plan": "plan", "clusters": "unsupervised", "similar": "unsupervised",
    "datasets": "datasets", "run": "run", "serve": "serve", "token": "serve", "log": "serve",
    "replay": "serve", "spark": "spark", "annif": "annif", "warmup": "warmup", "demo": "evaluate",
    "synth": "datasets",
}  # fmt: skip
"""Each command and its module in ``clasher.cli.commands``, where it is ``NAME_command``."""
NO_READER = 141  # 128 + SIGPIPE


class Refusal(click.ClickException):
    """An error that is shown as one line on standard error; exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        warn(" ".join(self.message.splitlines()))


class Commands(CommandGroup):
    """All commands, each imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"clasher.cli.commands.{COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            longer = (name for name in COMMANDS if name.startswith(args[0]))
            if (near := next(longer, None) or nearest(args[0], COMMANDS, 0.75)) is None:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near!r}?", ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal or a file name need not be Unicode
                stream.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except ClasherError as error:
            called = ctx.invoked_subcommand and self.get_command(ctx, ctx.invoked_subcommand)
            raise Refusal(name_options(str(error), option_names(called or None))) from error
        except MemoryError as error:
            raise Refusal(
                f"out of memory; lower --dimensions or --max-labels ({error or 'no details'})"
            ) from error
        except BrokenPipeError:  # the reader has gone: exit without a last flush into its pipe
            output = sys.__stdout__
            if output is not None and sys.stdout is output:
                os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
            ctx.exit(NO_READER)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise Refusal(f"{where}{error.strerror or error}") from error
        except KeyboardInterrupt:
            warn("interrupted; unsaved work is lost")
            ctx.exit(INTERRUPTED)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="clasher", message="%(prog)s %(version)s")
def cli() -> None:
    """Classify endless multi-label text streams in bounded memory.

    A STREAM is one or more files, or - for standard input: JSON lines, CSV,
    TSV, Parquet or Arrow. Text files may be compressed (gzip, zstd, xz, bzip2).

    $ clasher evaluate news.jsonl
    $ clasher learn news.jsonl --model news.clasher
    $ tail -f inbox.jsonl | clasher predict - --model news.clasher
    """
