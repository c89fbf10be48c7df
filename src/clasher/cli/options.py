"""What a shell proposes when a command is typed halfway: commands, options, choices and files.

Click asks each parameter; what it is called in the help tells whether it names a file.

Errors in the words of the terminal: options in the place of Python's parameters.

How options look and parse: sections in the help, the policy for bad records.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from clasher.cli.terminal import STANDARD_STREAM

_SENTENCE: Final = re.compile(r"^The '(\w+)' parameter of \w+ must")
_ASSIGNED: Final = re.compile(r"(?<![\w'\"-])([a-z_]+)=('[^']*'|\"[^\"]*\"|[^\s,;()]+)")
_NAME: Final = re.compile(r"(?<![\w'\"`=-])([a-z]+(?:_[a-z]+)+)(?![\w'\"`=(])")
_PYTHON: Final = re.compile(r" \(in Python: (?:[^()]|\([^()]*\))*\)")

METHODS: Final = {
    "rename_label": "clasher labels MODEL rename",
    "merge_labels": "clasher labels MODEL merge",
    "retire_label": "clasher labels MODEL retire",
    "learn_later": "clasher late",
}
"""Methods that errors name, and the commands that do the same."""


def at_terminal(message: str, options: dict[str, str]) -> str:
    """Name options where an error names Python's parameters.

    >>> at_terminal("raise max_labels, or set on_full='evict'",
    ...             {"max_labels": "--max-labels", "on_full": "--on-full"})
    'raise --max-labels, or say --on-full evict'
    >>> at_terminal("The 'seed' parameter of Clasher must be an integer.", {"seed": "--seed"})
    '--seed must be an integer.'
    """
    message = _PYTHON.sub("", message)
    message = _SENTENCE.sub(
        lambda found: f"{options[found[1]]} must" if found[1] in options else found[0], message
    )

    def assigned(found: re.Match[str]) -> str:
        if found[1] not in options:
            return found[0]
        return f"{options[found[1]]} {found[2].strip(chr(39) + chr(34))}"

    def named(found: re.Match[str]) -> str:
        return options.get(found[1], METHODS.get(found[1], found[0]))

    message = re.sub(r"\bset (?=[a-z_]+=)", "say ", message)
    return _NAME.sub(named, _ASSIGNED.sub(assigned, message))


def options_of(command: click.Command | None) -> dict[str, str]:
    """The options of a command and those of models, by the names of Python's parameters."""
    from clasher.cli.settings import settings_options

    def nothing(**given: object) -> None:
        """Stands for a command with the options of models."""

    known = click.command()(settings_options(nothing))
    params = [*known.params, *([] if command is None else command.params)]
    return {
        str(param.name): max(param.opts, key=len)
        for param in params
        if isinstance(param, click.Option) and param.name
    }


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


FILES = re.compile(r"\b(FILE|FOLDER|MODEL|STREAM)")


class FileName(StringParamType):
    """Text that names a file; the shell knows which there are."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Leave it to the shell."""
        return [CompletionItem(incomplete, type="file")]


def propose_files(parameters: Iterable[click.Parameter]) -> None:
    """Let every parameter whose name in the help is that of a file propose files."""
    for parameter in parameters:
        is_text = type(parameter.type) is StringParamType
        if is_text and parameter.metavar and FILES.search(parameter.metavar):
            parameter.type = FileName()
