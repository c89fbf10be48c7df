"""The settings of a model that the command line asks for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from clasher.app.analysis import ANALYSIS, check_analysis
from clasher.app.options import chosen, handing_over, option, taken
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.model import Clasher
    from clasher.settings import Settings

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
        from clasher.analyzer import analyzer_for
        from clasher.settings import PAPER

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
