"""The settings of a model, and of its text analysis, as options of commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clasher.cli.options import drop_none, option_group, pop_values, section
from clasher.errors import SettingError
from clasher.settings import GIVEN, PAPER, Settings, declarations, default_of
from clasher.text.analyzer import Analyzer, analyzer_for, name_of

if TYPE_CHECKING:
    from clasher.model import Clasher
    from clasher.text.analyzer import Tokenizer

STEM = "--stem"  # the option of Analyzer.stemmer

_text = section("Text")
_model = section("Model")


def setting_option(name: str) -> Callable[[Any], Any]:
    """Make the option of a setting."""
    declared = declarations()[name]
    attributes: dict[str, Any] = {"type": declared.read, "metavar": "N"}
    if declared.choices:
        attributes = {"type": click.Choice([each for each in declared.choices if each != GIVEN])}
    elif declared.flags:
        attributes = {"default": None, "is_flag": "/" not in declared.flags or None}
    text = f"{declared.help.rstrip('.')} (default: {default_of(name)})."
    return _model(declared.flags or f"--{name.replace('_', '-')}", help=text, **attributes)


def load_function(value: str) -> Tokenizer:
    """Import the function of ``--tokenizer module:function``, from the current folder too."""
    from clasher.io import registry

    try:
        return registry.load_function(value)
    except SettingError as error:
        raise click.BadParameter(str(error)) from error


def _words(value: str) -> str | tuple[str, ...]:
    """Return a language as it is, and ``@FILE`` as the words of the file."""
    if not value.startswith("@"):
        return value
    try:
        return tuple(Path(value[1:]).read_text(encoding="utf-8").split())
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{value[1:]} is not UTF-8 text.") from error


def _sizes(value: str) -> int | tuple[int, int]:
    """Read ``3`` or ``2-3``."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", value)
    if match is None:
        raise click.BadParameter(f"{value!r} is neither a number nor two with a dash: 2-3.")
    first, last = match.groups()
    return int(first) if last is None else (int(first), int(last))


def _run(value: str) -> tuple[int, int]:
    """Read ``3-5``, or ``4`` for ``4-4``."""
    sizes = _sizes(value)
    return (sizes, sizes) if isinstance(sizes, int) else sizes


def tokenizer_option(
    text: str = "The function that cuts the model's text into words, if it was given one.",
) -> Callable[[Any], Any]:
    """Make the option that names a function which cuts text into words."""
    return _text("--tokenizer", metavar="MODULE:FUNCTION", type=load_function, help=text)


_FLAG: dict[str, Any] = {"is_flag": True, "default": None}

ANALYSIS = {
    "min_length": _text(
        "--min-length", type=int, metavar="N",
        help="Drop shorter words (default: 1 with the margin rule, else 2).",
    ),
    "stop_words": _text(
        "--stop-words", metavar="LANGUAGE|@FILE", type=_words,
        help="Leave out the stop words of a language, or the words of a file.",
    ),
    "stemmer": _text(
        STEM, "stemmer", metavar="LANGUAGE",
        help="Treat all forms of a word as one, with a Snowball stemmer.",
    ),
    "ngrams": _text(
        "--ngrams", metavar="N|LO-HI", type=_sizes,
        help="Also count up to N words in a row as one (default: 1); 2-3 leaves out single words.",
    ),
    "char_ngrams": _text(
        "--char-ngrams", metavar="LO-HI", type=_run,
        help="Also count runs of LO to HI characters of each word.",
    ),
    "strip_html": _text("--strip-html", **_FLAG, help="Leave out tags, comments and scripts."),
    "strip_urls": _text("--strip-urls", **_FLAG, help="Leave out web addresses."),
    "fold_numbers": _text("--fold-numbers", **_FLAG, help="Read every digit as 0."),
    "marks": _text(
        "--marks/--no-marks", default=None,
        help="Count question and exclamation marks as words (default: with the margin rule).",
    ),
    "pairs": _text(
        "--pairs", type=int, metavar="N",
        help="Also count pairs of neighbouring words in texts of fewer than N words "
        "(default: 40 with the margin rule, else 0).",
    ),
    "tokenizer": tokenizer_option(
        "Cut text into words with a function of yours; commands ask for it again with the model."
    ),
}  # fmt: skip
"""The options of an analyzer's settings."""


@dataclass(frozen=True)
class ModelOptions:
    """The settings that options name, the paper's mode, and settings of text analysis."""

    given: dict[str, Any]
    paper: int | None = None
    analysis: dict[str, Any] = field(default_factory=dict)

    def create(self) -> Clasher:
        from clasher.model import Clasher

        return Clasher(**self._keywords())

    def settings(self) -> Settings:
        return Settings(**self._keywords())

    def load(self, path: str) -> Clasher:
        """Load a model, and refuse one with other settings."""
        from clasher.model import Clasher

        model = Clasher.load(path, tokenizer=self.analysis.get("tokenizer"))
        self.check(model, path)
        return model

    def _keywords(self) -> dict[str, Any]:
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
        named = {*self.given, *(() if self.paper is None else ("rule", *PAPER))}
        asked = self.settings() if named else model.settings
        for name in model.settings.differences(asked):
            if name in named:
                value = getattr(model.settings, name)
                flag = f"--{name.replace('_', '-')} {self.given.get(name)}"
                if name not in self.given:
                    flag = f"--paper {self.paper}"
                elif flags := declarations()[name].flags:
                    yes, _, no = flags.partition("/")
                    flag = yes if self.given[name] else no
                raise _contradiction(flag, path, name, repr(value))
        analyzer = model.settings.analyzer
        asked_analyzer = Analyzer(**self.analysis)
        for name in self.analysis:
            value = getattr(analyzer, name)
            if value != getattr(asked_analyzer, name):
                if name == "stop_words" and value is not None:
                    value = f"a list of {len(value)} words"
                shown = name_of(value) if callable(value) else str(value)
                flag = STEM if name == "stemmer" else f"--{name.replace('_', '-')}"
                raise _contradiction(flag, path, name, shown)


def _contradiction(flag: str, path: str, name: str, value: str) -> SettingError:
    return SettingError(
        f"{flag} contradicts {path}, whose {name} is {value}; leave it out to go on with that "
        f"model, or name another file"
    )


def settings_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the settings of a model as options, and pass them on as ``options``."""
    options = [PAPER_OPTION, *OPTIONS.values(), *ANALYSIS.values()]
    return option_group(options, _collect)(function)


def _collect(given: dict[str, Any]) -> dict[str, Any]:
    settings, analysis = (drop_none(pop_values(given, names)) for names in (OPTIONS, ANALYSIS))
    paper = given.pop("paper")
    return {"options": ModelOptions(settings, None if paper is None else int(paper), analysis)}


PAPER_OPTION = _model(
    "--paper", type=click.Choice(["1", "2"]),
    help="The paper's own settings for mode 1 or 2: raw counts, no length normalisation, "
    "threshold 0.5.",
)  # fmt: skip
OPTIONS = {name: setting_option(name) for name in declarations() if name != "analyzer"}
