"""Errors in the words of the terminal: options in the place of Python's parameters."""

from __future__ import annotations

import re
from typing import Final

import click

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
    from clasher.app.wanted import settings_options

    def nothing(**given: object) -> None:
        """Stands for a command with the options of models."""

    known = click.command()(settings_options(nothing))
    params = [*known.params, *([] if command is None else command.params)]
    return {
        str(param.name): max(param.opts, key=len)
        for param in params
        if isinstance(param, click.Option) and param.name
    }
