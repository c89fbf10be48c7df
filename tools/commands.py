"""Write docs/reference/commands.md from the commands themselves: ``python -m tools.commands``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from clasher.cli.main import cli

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
HEAD = """\
# Commands

Every command with all of its options, written from the commands themselves by
`python -m tools.commands`, which `make docs` runs. `clasher COMMAND --help` says the same at the
terminal; `--help` itself is left out below.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *overview(), *(line for one in walk() for line in section(one))])


def walk(
    command: click.Command = cli, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """A context for the program and for each of its commands, in the order of the help."""
    context = click.Context(command, info_name=command.name if parent else "clasher", parent=parent)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, context)


def overview() -> Iterator[str]:
    """What there is, with links."""
    yield from ("| command | does |", "|---|---|")
    for context in list(walk())[1:]:
        path, does = context.command_path, context.command.get_short_help_str(200)
        yield f"| [`{path}`](#{path.replace(' ', '-')}) | {escaped(does)} |"
    yield ""


def section(context: click.Context) -> Iterator[str]:
    """One command: how it is called, what it does, its options, examples."""
    command = context.command
    yield from (f"## `{context.command_path}`", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"    {context.command_path} {usage}", "")
    yield from (escaped(text) for text in prose(command.help or ""))
    for title, options in sections(context).items():
        yield from (f"| {title.lower()} | |", "|---|---|")
        for names, text in options:
            yield f"| `{escaped(names)}` | {escaped(text)} |"
        yield ""
    yield from ("Examples:", "")
    yield from (f"    {line.strip()}" for line in command.examples.strip().splitlines())
    yield ""


def prose(text: str) -> Iterator[str]:
    """The paragraphs of a help text; those that stand as they are written are indented."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield from (f"    {line}" for line in paragraph.splitlines()[1:])
        else:
            yield " ".join(paragraph.split())
        yield ""


def sections(context: click.Context) -> dict[str, list[tuple[str, str]]]:
    """Options and what they do, by the headings of the help."""
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in context.command.get_params(context):
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts:
            record = parameter.get_help_record(context)
            assert record is not None
            title = getattr(parameter, "section", "Options")
            found.setdefault(title, []).append(record)
    return found


def escaped(text: str) -> str:
    """Text that a table of Markdown takes as it is."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(Path.cwd())}")
