"""Write docs/reference/commands.md from the commands themselves: ``python -m tools.commands``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from clasher.cli.commands import cli

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
HEAD = """\
# Commands

All commands with all their options. `make docs` generates this page with
`python -m tools.commands`; `clasher COMMAND --help` shows a command in a terminal. Options that
several commands share are described at the first of them. The option `--help` is left out.
"""
FEW = 2  # shared options of a table that are described again
Record = tuple[str, str]  # names and help of an option


def page() -> str:
    """Return the whole page."""
    first: dict[tuple[str, Record], str] = {}  # the command that describes an option
    lines = [line for one in walk() for line in section(one, first)]
    return "\n".join([HEAD, *overview(), *lines])


def walk(
    command: click.Command = cli, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """Yield a context for the program and each command, in the order of the help."""
    context = click.Context(command, info_name=command.name if parent else "clasher", parent=parent)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, context)


def overview() -> Iterator[str]:
    """Yield the list of commands, with links."""
    yield from ("| command | does |", "|---|---|")
    for context in list(walk())[1:]:
        does = context.command.get_short_help_str(200)
        yield f"| {link(context.command_path)} | {escaped(does)} |"
    yield ""


def link(path: str) -> str:
    return f"[`{path}`](#{path.replace(' ', '-')})"


def section(context: click.Context, first: dict[tuple[str, Record], str]) -> Iterator[str]:
    """Yield the section of a command: usage, description, options, examples."""
    command = context.command
    yield from (f"## `{context.command_path}`", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f"    {context.command_path} {usage}", "")
    yield from (escaped(text) for text in prose(command.help or ""))
    for title, options in sections(context).items():
        yield from (f"| {title.lower()} | |", "|---|---|")
        shared: dict[str, list[str]] = {}
        for record in options:
            path = first.setdefault((title, record), context.command_path)
            shared.setdefault(path, []).append(record[0])
        for names, text in options:
            path = first[title, (names, text)]
            if path == context.command_path or len(shared[path]) <= FEW:
                yield f"| `{escaped(names)}` | {escaped(text)} |"
            elif shared[path][0] == names:
                found = re.findall(r"(?<![\w|])--?[a-z][\w-]*", " ".join(shared[path]))
                yield f"| {', '.join(f'`{name}`' for name in found)} | as for {link(path)} |"
        yield ""
    yield from ("Examples:", "")
    yield from (f"    {line.strip()}" for line in command.examples.strip().splitlines())
    yield ""


def prose(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; preformatted ones are indented."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield from (f"    {line}" for line in paragraph.splitlines()[1:])
        else:
            yield " ".join(paragraph.split())
        yield ""


def sections(context: click.Context) -> dict[str, list[Record]]:
    """Return options and their help by the headings of the help."""
    found: dict[str, list[Record]] = {}
    for parameter in context.command.get_params(context):
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts:
            record = parameter.get_help_record(context)
            assert record is not None
            title = getattr(parameter, "section", "Options")
            found.setdefault(title, []).append(record)
    return found


def escaped(text: str) -> str:
    """Escape the | of a Markdown table."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(Path.cwd())}")
