"""Commands and their options: sections and examples in the help, shell completion, error wording.

A command is declared with ``command``, its options as in a help text:
``section("Output")("--json FILE  Write JSON.", "--words -n N = 8  How many words to show.")``.
"""

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from clasher.cli.terminal import QUIET

F = TypeVar("F", bound=Callable[..., Any])

TYPES: Final[dict[str, Any]] = {
    "N": click.IntRange(min=1), "X": float, "SECONDS": click.FloatRange(min=0),
    "PORT": click.IntRange(0, 65535),
}  # fmt: skip
"""The types of options by their metavars."""
CHOICE: Final = re.compile(r"[a-z0-9-]+(\|[a-z0-9-]+)+")


class SectionOption(click.Option):
    """An option under a heading of the help."""

    def __init__(self, *args: Any, section: str, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


def section(title: str) -> Callable[..., Callable[[F], F]]:
    """Return a function that declares options under a heading.

    A declaration is ``[parameter] --flag [-f] [METAVAR] [= default]  help``. Without a metavar the
    option is a flag; the metavar ``a|b`` is a choice. Further attributes are those of click.
    """

    def declare(*declarations: str, **attributes: Any) -> Callable[[F], F]:
        def decorate(function: F) -> F:
            for declared in reversed(declarations):  # the help lists them in the given order
                names, given = _parsed(declared)
                given |= {"cls": SectionOption, "section": title} | attributes
                function = click.option(*names, **given)(function)
            return function

        return decorate

    return declare


def _parsed(declared: str) -> tuple[list[str], dict[str, Any]]:
    """Return the names and the attributes of an option.

    >>> _parsed("most --words -n N = 10  How many words.")[0]
    ['most', '--words', '-n']
    """
    usage, _, text = declared.partition("  ")
    names, _, default = usage.partition(" = ")
    words = names.split(" ")
    taken = 1 + max(at for at, word in enumerate(words) if word.startswith("-"))
    metavar = " ".join(words[taken:])
    if default and "default" not in text:
        text = f"{text.removesuffix('.')} (default: {default})."
    given: dict[str, Any] = {"help": text, **({"default": default} if default else {})}
    if CHOICE.fullmatch(metavar):
        given["type"] = click.Choice(metavar.split("|"))
    elif metavar:
        given |= {"metavar": metavar, "type": TYPES.get(metavar)}
    else:
        given["is_flag"] = True
    return words[:taken], given


output_option = section("Output")
written_option = output_option(
    "--output -o FILE = -  The file to write (default: standard output)."
)


def model_option(text: str) -> Callable[[F], F]:
    """Declare the option that names a model file."""
    return section("Model")(f"model_path --model -m FILE  {text}", required=True)


def json_option(what: str) -> Callable[[F], F]:
    """Declare ``--json FILE``, which a command reads as ``json_path``."""
    text = f"Write {what} as JSON; - writes to standard output instead of the tables."
    return output_option(f"json_path --json FILE  {text}")


def option_group(
    options: Iterable[Callable[[Any], Any]], collect: Callable[[dict[str, Any]], dict[str, Any]]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Declare options whose values ``collect`` removes from the arguments and replaces."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            function(**collect(given), **given)

        for add in reversed(list(options)):  # the help lists them in the given order
            command = add(command)
        return command

    return decorate


def pop_values(given: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Move the values of these options out of ``given``, without those left at None."""
    values = {name: given.pop(name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


FILES: Final = re.compile(r"\b(FILE|FOLDER|MODEL|STREAM)")


class FileName(StringParamType):
    """A parameter whose metavar says that it names a file: the shell completes it."""

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class ExampleCommand(click.Command):
    """A command whose help ends with examples: lines of its docstring that start with ``$``."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        text = inspect.cleandoc(attributes["help"])
        attributes["help"], _, examples = text.partition("\n\n$ ")
        super().__init__(*args, **attributes)
        self.examples = examples.replace("\n$ ", "\n")
        for parameter in self.params:
            is_text = type(parameter.type) is StringParamType
            if is_text and parameter.metavar and FILES.search(parameter.metavar):
                parameter.type = FileName()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for line in self.examples.strip().splitlines():
                formatter.write(f"{'':{formatter.current_indent}}{line.strip()}\n")


def _keep_quiet(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    context.meta[QUIET] = value


class CommandGroup(ExampleCommand, click.Group):
    """A command with subcommands."""


class Command(ExampleCommand):
    """A command whose help has sections and whose ``--on-error dead-letter`` takes a file."""

    def __init__(self, *args: Any, quiet: bool = True, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        if quiet:
            how: dict[str, Any] = {"section": "Output", "is_flag": True, "expose_value": False}
            how |= {"help": "Show no progress and no notes.", "callback": _keep_quiet}
            self.params.append(SectionOption(["--quiet", "-q"], **how))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, join_dead_letter(args))
        except click.MissingParameter as error:
            if error.param is None or error.param.name != "paths":
                raise
            raise click.UsageError(
                f"name the files to read, or - for standard input: clasher {ctx.info_name} -", ctx
            ) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "section", "Help"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def command(
    name: str, short_help: str, *, group: click.Group | None = None, **attributes: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command, or one of a group; it takes ``--quiet`` unless ``quiet`` is False."""
    declare = click.command if group is None else group.command
    return declare(name, cls=Command, short_help=short_help, **attributes)


def group(name: str, short_help: str, **attributes: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a group of commands."""
    return click.group(name, cls=CommandGroup, short_help=short_help, **attributes)


DEAD_LETTER: Final = "dead-letter"


def parse_policy(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str | Path:
    """Return ``stop``, ``skip`` or the path of a dead-letter file."""
    if value in ("stop", "skip"):
        return value
    kind, _, file = value.partition(":")
    if kind != DEAD_LETTER:
        raise click.BadParameter(f"{value!r} is not stop, skip or dead-letter FILE.")
    if not file:
        raise click.BadParameter("dead-letter needs a file: --on-error dead-letter FILE.")
    return Path(file)


on_error_option = section("Stream")(
    "--on-error stop|skip|dead-letter FILE = stop  What to do with a bad record: stop (the "
    "default), skip it, or skip it and append it to FILE with the reason.",
    callback=parse_policy,
)


def join_dead_letter(args: list[str]) -> list[str]:
    """Join ``dead-letter FILE`` to one value: click options take a fixed number of values.

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
            file = next(rest, "")
            if file.startswith("-"):
                joined.append(file)  # another option: the file is missing
            elif file:
                joined[-1] += f":{file}"
    return joined


_SENTENCE: Final = re.compile(r"^The '(\w+)' parameter of \w+ (must)")
_ASSIGNED: Final = re.compile(r"(?<![\w'\"-])([a-z_]+)=('[^']*'|\"[^\"]*\"|[^\s,;()]+)")
_NAME: Final = re.compile(r"(?<![\w'\"`=-])([a-z]+(?:_[a-z]+)+)(?![\w'\"`=(])")
_PYTHON: Final = re.compile(r" \(in Python: (?:[^()]|\([^()]*\))*\)")

METHODS: Final = {
    "rename_label": "clasher labels MODEL rename",
    "merge_labels": "clasher labels MODEL merge",
    "retire_label": "clasher labels MODEL retire",
    "learn_later": "clasher late-labels",
}
"""Methods that errors name, and the commands that do the same."""


def name_options(message: str, options: dict[str, str]) -> str:
    """Name options where an error names Python's parameters.

    >>> name_options("raise max_labels, or set on_full='evict'",
    ...              {"max_labels": "--max-labels", "on_full": "--on-full"})
    'raise --max-labels, or use --on-full evict'
    >>> name_options("The 'seed' parameter of Clasher must be an integer.", {"seed": "--seed"})
    '--seed must be an integer.'
    """

    def option(found: re.Match[str]) -> str:
        rest = f"{found[2]}".strip("'\"")
        return f"{options[found[1]]} {rest}" if found[1] in options else found[0]

    message = _SENTENCE.sub(option, _PYTHON.sub("", message))
    message = _ASSIGNED.sub(option, re.sub(r"\bset (?=[a-z_]+=)", "use ", message))
    return _NAME.sub(lambda found: options.get(found[1], METHODS.get(found[1], found[0])), message)


def option_names(command: click.Command | None) -> dict[str, str]:
    """Return the options of models and of a command by their Python parameters."""
    from clasher.cli.settings import settings_options

    models = click.command()(settings_options(lambda **_: None))
    params = [*models.params, *([] if command is None else command.params)]
    return {
        str(param.name): max(param.opts, key=len)
        for param in params
        if isinstance(param, click.Option) and param.name
    }
