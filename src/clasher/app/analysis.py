"""The settings of text analysis that the command line asks for."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clasher.app.options import option
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.analyzer import Analyzer, Tokenizer

FLAGS = {"stemmer": "--stem"}
"""Options that are not called as their setting is."""

_text = functools.partial(option, section="Text")


def check_analysis(given: dict[str, Any], analyzer: Analyzer, path: str) -> None:
    """Refuse to go on with a model that analyses text in another way."""
    from clasher.analyzer import Analyzer, name_of

    asked = Analyzer(**given)
    for name in given:
        is_ = getattr(analyzer, name)
        if is_ != getattr(asked, name):
            flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
            if name == "stop_words":
                is_ = "None" if is_ is None else f"a list of {len(is_)} words"
            shown = name_of(is_) if callable(is_) else is_
            raise SettingError(
                f"{flag} contradicts {path}, whose {name} is {shown}; leave it out to go on with "
                f"that model, or name another file"
            )


def load_function(
    _ctx: click.Context, _parameter: click.Parameter, value: str | None
) -> Tokenizer | None:
    """Import what ``--tokenizer module:function`` names; the current folder counts."""
    if value is None:
        return None
    from clasher.io import functions

    try:
        return functions.load_function(value)
    except SettingError as error:
        raise click.BadParameter(str(error)) from error


def _words(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    """A language, or the words of a file."""
    if value is None or not value.startswith("@"):
        return value
    try:
        return tuple(Path(value[1:]).read_text(encoding="utf-8").split())
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{value[1:]} is no UTF-8 text.") from error


def _sizes(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    """``3`` or ``2-3``.

    >>> _sizes(None, None, "2-3"), _sizes(None, None, "3")
    ((2, 3), 3)
    """
    if value is None:
        return None
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is neither a number nor two with a dash: 2-3.")
    first, last = match.groups()
    return int(first) if last is None else (int(first), int(last))


def _run(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """``3-5``, or ``4`` for runs of that length only."""
    sizes = _sizes(ctx, parameter, value)
    return (sizes, sizes) if isinstance(sizes, int) else sizes


def tokenizer_option(
    text: str = "The function that the model cuts text with, if it has one of its own.",
) -> Callable[[Any], Any]:
    """The option that names a function which cuts text into words."""
    return _text("--tokenizer", metavar="MODULE:FUNCTION", callback=load_function, help=text)


ANALYSIS: list[tuple[str, Any]] = [
    ("min_length", _text("--min-length", type=int, metavar="N",
                         help="Drop words of fewer characters (default: 1 with the margin rule, "
                              "else 2).")),
    ("stop_words", _text("--stop-words", metavar="LANGUAGE|@FILE", callback=_words,
                         help="Leave out the stop words of a language, or those of a file.")),
    ("stemmer", _text("--stem", "stemmer", metavar="LANGUAGE",
                      help="Take the forms of a word for one, by a Snowball stemmer.")),
    ("ngrams", _text("--ngrams", metavar="N|LO-HI", callback=_sizes,
                     help="Count up to N words in a row as one too (default: 1); 2-3 leaves out "
                          "single words.")),
    ("char_ngrams", _text("--char-ngrams", metavar="LO-HI", callback=_run,
                          help="Count runs of LO to HI characters of each word too.")),
    ("strip_html", _text("--strip-html", is_flag=True, default=None,
                         help="Leave out tags, comments and scripts.")),
    ("strip_urls", _text("--strip-urls", is_flag=True, default=None,
                         help="Leave out web addresses.")),
    ("fold_numbers", _text("--fold-numbers", is_flag=True, default=None,
                           help="Take every digit for a 0.")),
    ("marks", _text("--marks/--no-marks", default=None,
                    help="Take question and exclamation marks for words (default: with the margin "
                         "rule).")),
    ("pairs", _text("--pairs", type=int, metavar="N",
                    help="Count pairs of neighbouring words in texts of fewer than N words too "
                         "(default: 40 with the margin rule, else 0).")),
    ("tokenizer", tokenizer_option("Cut text into words with a function of yours; a model that "
                                   "was taught with one asks for it again.")),
]  # fmt: skip
"""Settings of an analyzer and their options."""
