"""The options of commands that look at text without labels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from clasher.app.analysis import ANALYSIS
from clasher.app.options import chosen, handing_over, option, taken
from clasher.app.wanted import CHOICES

vector_option = functools.partial(option, section="Model")

_OPTIONS = {
    "dimensions": vector_option(
        "--dimensions", type=int, metavar="N",
        help="Buckets that words are hashed to (default: 65536).",
    ),
    "weighting": vector_option(
        "--weighting", type=click.Choice(["tfidf", "tf"]),
        help="How words are weighed (default: tfidf).",
    ),
    "tf": vector_option(
        "--tf", type=click.Choice(CHOICES["tf"]),
        help="What the count of a word is worth (default: log).",
    ),
    "seed": vector_option(
        "--seed", type=int, metavar="N", help="The seed of the hash functions (default: 0)."
    ),
}  # fmt: skip


def vector_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the settings of vectors as options; those given come as ``vectors``."""
    analysis = dict(ANALYSIS)
    return handing_over([*_OPTIONS.values(), *analysis.values()], _gather)(function)


def _gather(given: dict[str, Any]) -> dict[str, Any]:
    vectors, analysis = (chosen(taken(given, names)) for names in (_OPTIONS, dict(ANALYSIS)))
    if analysis:
        from clasher.analyzer import Analyzer

        vectors["analyzer"] = Analyzer(**analysis)
    return {"vectors": vectors}
