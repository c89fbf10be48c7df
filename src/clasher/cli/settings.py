"""The settings of a model that the command line asks for.

The settings of text analysis that the command line asks for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clasher.cli.options import chosen, handing_over, option, taken
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.model import Clasher
    from clasher.settings import Settings
    from clasher.text.analyzer import Analyzer, Tokenizer


FLAGS = {"stemmer": "--stem"}
"""Options that are not called as their setting is."""

_text = functools.partial(option, section="Text")


def check_analysis(given: dict[str, Any], analyzer: Analyzer, path: str) -> None:
    """Refuse to go on with a model that analyses text in another way."""
    from clasher.text.analyzer import Analyzer, name_of

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
    from clasher.io import registry

    try:
        return registry.load_function(value)
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


# As in clasher.settings, which takes too long to import for a help text; a test compares them.
CHOICES: dict[str, tuple[str, ...]] = {
    "rule": ("margin", "centroid", "mistake", "perceptron"),
    "weighting": ("tfidf", "tf", "icf", "icsdf", "chi2", "ig", "or", "gini"),
    "similarity": ("cosine", "euclidean"),
    "tf": ("log", "count"),
    "norm": ("l2", "none"),
    "on_full": ("error", "evict"),
    "detector": ("none", "window", "adwin"),
}

_model = functools.partial(option, section="Model")


@dataclass(frozen=True)
class Wanted:
    """Settings by name, those that were given only, the paper's mode, and how to analyse text."""

    given: dict[str, Any]
    paper: int | None = None
    analysis: dict[str, Any] = field(default_factory=dict)

    def create(self) -> Clasher:
        """A model with these settings, the others at their defaults."""
        from clasher.model import Clasher

        return Clasher(**self._keywords())

    def settings(self) -> Settings:
        """These settings, the others at their defaults, without a model of them."""
        from clasher.settings import Settings

        return Settings(**self._keywords())

    def load(self, path: str) -> Clasher:
        """The model of a file, which must have these settings."""
        from clasher.model import Clasher

        model = Clasher.load(path, tokenizer=self.analysis.get("tokenizer"))
        self.check(model, path)
        return model

    def _keywords(self) -> dict[str, Any]:
        from clasher.settings import PAPER
        from clasher.text.analyzer import analyzer_for

        rule = "margin" if self.paper is None else "centroid"
        analyzer = replace(analyzer_for(self.given.get("rule", rule)), **self.analysis)
        settings = {**self.given, "analyzer": analyzer}
        if self.paper is None:
            return settings
        if "rule" in self.given:
            raise SettingError("--paper chooses the rule: leave out --rule, or --paper")
        return {**PAPER, "rule": "centroid" if self.paper == 1 else "mistake", **settings}

    def check(self, model: Clasher, path: str) -> None:
        """Refuse to go on with a model that has other settings."""
        wanted = dict.fromkeys(self.given)
        if self.paper is not None:
            from clasher.settings import PAPER

            wanted |= dict.fromkeys(("rule", *PAPER))
        asked = self.create().settings if wanted else model.settings
        for name in model.settings.differences(asked):
            if name in wanted:
                is_, flag = getattr(model.settings, name), self._flag(name)
                raise SettingError(
                    f"{flag} contradicts {path}, whose {name} is {is_!r}; leave it out to go on "
                    f"with that model, or name another file"
                )
        check_analysis(self.analysis, model.settings.analyzer, path)

    def _flag(self, name: str) -> str:
        if name not in self.given:
            return f"--paper {self.paper}"
        if name == "at_least_one":
            return "--at-least-one" if self.given[name] else "--allow-none"
        if name == "conservative":
            return "--conservative"
        if name == "words":
            return "--words" if self.given[name] else "--no-words"
        return f"--{name.replace('_', '-')} {self.given[name]}"


def settings_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the settings of a model as options, and hand them over as ``wanted``."""
    return handing_over([add for _, add in [*_OPTIONS, *ANALYSIS]], _gather)(function)


def _gather(given: dict[str, Any]) -> dict[str, Any]:
    settings, analysis = (chosen(taken(given, names)) for names in (_NAMES, dict(ANALYSIS)))
    paper = given.pop("paper")
    return {"wanted": Wanted(settings, None if paper is None else int(paper), analysis)}


def _choice(name: str, text: str) -> tuple[str, Any]:
    flag = f"--{name.replace('_', '-')}"
    return name, _model(flag, type=click.Choice(CHOICES[name]), help=text)


_OPTIONS: list[tuple[str, Any]] = [
    _choice("rule", "How to learn (default: margin; centroid and mistake are the paper's modes 1 "
                    "and 2)."),
    ("paper", _model("--paper", type=click.Choice(["1", "2"]),
                     help="The paper's own settings for mode 1 or 2: raw counts, no length "
                          "normalisation, threshold 0.5.")),
    ("dimensions", _model("--dimensions", type=int, metavar="N",
                          help="Buckets that words are hashed to (default: 65536).")),
    _choice("weighting", "How words are weighed (default: tfidf); all but tf and tfidf ask which "
                         "labels a word came with."),
    _choice("similarity", "How the nearest region is found (default: cosine)."),
    _choice("tf", "What the count of a word is worth (default: log)."),
    _choice("norm", "The length of a document (default: l2)."),
    ("threshold", _model("--threshold", type=float, metavar="X",
                         help="Predict labels above this probability (default: learnt from the "
                              "stream by margin, else 0.5).")),
    ("at_least_one", _model("--at-least-one/--allow-none", default=None,
                            help="Whether to predict the best label where none passes the "
                                 "threshold (default: learnt from the stream by margin and "
                                 "perceptron, else at least one).")),
    ("max_labels", _model("--max-labels", type=int, metavar="N",
                          help="The most labels the stream may have (default: 4096).")),
    _choice("on_full", "Past that: an error, or the longest unseen label is given up (default: "
                       "error)."),
    ("seed", _model("--seed", type=int, metavar="N",
                    help="The seed of the hash functions (default: 0).")),
    ("depth", _model("--depth", type=int, metavar="N",
                     help="Rows of the sketch of document frequencies, up to 16 (default: 1).")),
    ("conservative", _model("--conservative", is_flag=True, default=None,
                            help="Raise only the counters of a deeper sketch that must be raised "
                                 "(default: off).")),
    ("pending", _model("--pending", type=int, metavar="N",
                       help="Keep the last N unlabelled documents, hashed, for labels that come "
                            "late (default: 0).")),
    ("words", _model("--words/--no-words", default=None,
                     help="Whether to keep a word for each bucket, so that inspect can tell what "
                          "labels are about (default: no words).")),
    ("half_life", _model("--half-life", type=float, metavar="N",
                         help="Documents after which what was learnt weighs half (default: nothing "
                              "is forgotten).")),
    _choice("detector", "Watch the errors, and give up most of the past where they rise (default: "
                        "none; adwin is River's)."),
]  # fmt: skip
_NAMES = [name for name, _ in _OPTIONS if name != "paper"]
