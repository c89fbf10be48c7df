"""How options look and parse: sections in the help, the policy for bad records."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from clasher.app.completion import propose_files
from clasher.app.files import STANDARD_STREAM

DEAD_LETTER = "dead-letter"

F = TypeVar("F", bound=Callable[..., Any])


class SectionOption(click.Option):
    """An option that stands under a heading of its own in the help."""

    def __init__(self, *args: Any, section: str = "Options", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


def option(*names: str, section: str, **attributes: Any) -> Callable[[F], F]:
    """An option under the heading ``section``."""
    return click.option(*names, cls=SectionOption, section=section, **attributes)


def with_options(function: F, options: Iterable[Callable[[F], F]]) -> F:
    """A command with options, which its help lists in this order."""
    for add in reversed(list(options)):
        function = add(function)
    return function


def handing_over(
    options: Iterable[Callable[[Any], Any]], gather: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options; ``gather`` takes what they say and makes its arguments of that."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            made = gather(given)
            function(**made, **given)

        return with_options(command, options)

    return decorate


def taken(given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What the options of these names say, as far as the command has them; not given any more.

    >>> given = {"text": "body", "quiet": True}
    >>> taken(given, ["text", "labels"]), given
    ({'text': 'body'}, {'quiet': True})
    """
    return {name: given.pop(name) for name in names if name in given}


def chosen(values: dict[str, Any]) -> dict[str, Any]:
    """Those that somebody has said something about."""
    return {name: value for name, value in values.items() if value is not None}


def output_option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """An option that says where results go."""
    return option(*names, section="Output", **attributes)


written_option = output_option(
    "--output",
    "-o",
    metavar="FILE",
    default=STANDARD_STREAM,
    help="Where to write (default: standard output).",
)
quiet_option = output_option("--quiet", "-q", is_flag=True, help="No progress and no notes.")


def model_option(text: str) -> Callable[[F], F]:
    """The option that names a model file."""
    return option(
        "--model", "-m", "model_path", metavar="FILE", required=True, section="Model", help=text
    )


class Exemplified(click.Command):
    """A command whose help ends with examples."""

    def __init__(self, *args: Any, examples: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.examples = examples
        propose_files(self.params)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples line by line, as they are."""
        with formatter.section("Examples"):
            for line in self.examples.strip().splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line.strip()}\n")


class Command(Exemplified):
    """A command whose help has sections and whose ``--on-error dead-letter`` takes a file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, after ``dead-letter FILE`` was made the one value it is."""
        try:
            return super().parse_args(ctx, join_dead_letter(args))
        except click.MissingParameter as error:
            if error.param is None or error.param.name != "paths":
                raise
            raise click.UsageError(
                f"name the files to read, or - for standard input: clasher {ctx.info_name} -", ctx
            ) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options section by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Help"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def parse_policy(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str | Path:
    """What ``--on-error`` says: a word, or the path of a dead-letter file."""
    if value in ("stop", "skip"):
        return value
    kind, _, file = value.partition(":")
    if kind != DEAD_LETTER:
        raise click.BadParameter(f"{value!r} is none of stop, skip and dead-letter FILE.")
    if not file:
        raise click.BadParameter("dead-letter needs a file: --on-error dead-letter FILE.")
    return Path(file)


def join_dead_letter(args: list[str]) -> list[str]:
    """Make one value of ``dead-letter FILE``: how many an option takes may not depend on them.

    >>> join_dead_letter(["news.jsonl", "--on-error", "dead-letter", "bad.jsonl", "--quiet"])
    ['news.jsonl', '--on-error', 'dead-letter:bad.jsonl', '--quiet']
    """
    joined: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            return [*joined, arg, *rest]
        joined.append(arg)
        if joined[-2:] == ["--on-error", DEAD_LETTER] or arg == f"--on-error={DEAD_LETTER}":
            for file in rest:
                if file.startswith("-"):
                    joined.append(file)  # another option: the file is missing
                else:
                    joined[-1] += f":{file}"
                break
    return joined
