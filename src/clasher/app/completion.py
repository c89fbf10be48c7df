"""What a shell proposes when a command is typed halfway: commands, options, choices and files.

Click asks each parameter; what it is called in the help tells whether it names a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

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
