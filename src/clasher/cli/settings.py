"""The settings of a model, and of its text analysis, as options of commands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import clasher
from clasher.cli.format import size
from clasher.cli.options import option_group, pop_values, section
from clasher.cli.terminal import warn
from clasher.errors import SettingError
from clasher.settings import GIVEN, PAPER, Settings, declarations, default_of
from clasher.text.analyzer import Analyzer, analyzer_for, name_of

if TYPE_CHECKING:
    from clasher import Clasher
    from clasher.runtime.snapshots import InitialModel
    from clasher.text.analyzer import Tokenizer

Loader: TypeAlias = "Callable[[str], Clasher]"

_text = section("Text")
_model = section("Model")


def setting_option(name: str, usual: Settings | type[Settings] = Settings) -> Callable[[Any], Any]:
    """Make the option of a setting; ``usual`` has its default."""
    declared = declarations()[name]
    text = f"{declared.help.rstrip('.')} (default: {default_of(name, usual)})."
    if declared.flags:
        return _model(f"{declared.flags}  {text}", default=None)
    if declared.option:
        read = {"callback": lambda _ctx, _parameter, value: value and size(value)}
        return _model(f"{name} {declared.option}  {text}", **read)
    choices = "|".join(each for each in declared.choices if each != GIVEN)
    how = {} if choices else {"type": declared.read}
    return _model(f"--{name.replace('_', '-')} {choices or 'N'}  {text}", **how)


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


load_option = _text(
    "load --tokenizer MODULE:FUNCTION  The model's own tokenizer, if it was created with one.",
    type=load_function,
    callback=lambda _ctx, _param, value: lambda path: clasher.Clasher.load(path, tokenizer=value),
)
"""Gives a command ``load``, a function that loads a model file."""

ANALYSIS_OPTIONS = (
    _text(
        "--min-length N  Drop shorter words (default: 1 with the margin rule, else 2).",
        "--pairs N  Also count pairs of neighbouring words in texts of fewer than N words "
        "(default: 40 with the margin rule, else 0).",
        type=int,
    ),
    _text(
        "--stop-words LANGUAGE|@FILE  Leave out the stop words of a language, or those in a file.",
        type=_words,
    ),
    _text("stemmer --stem LANGUAGE  Treat all forms of a word as one, with a Snowball stemmer."),
    _text(
        "--ngrams N|LO-HI  Also count up to N words in a row as one (default: 1); 2-3 leaves out "
        "single words.",
        type=_sizes,
    ),
    _text("--char-ngrams LO-HI  Also count runs of LO to HI characters of each word.", type=_run),
    _text(
        "--strip-html  Leave out tags, comments and scripts.",
        "--strip-urls  Leave out web addresses.",
        "--fold-numbers  Read every digit as 0.",
        "--marks/--no-marks  Count question and exclamation marks as words (default: with the "
        "margin rule).",
        default=None,
    ),
    _text(
        "--tokenizer MODULE:FUNCTION  Cut text into words with a function of yours; name it again "
        "whenever you use the model.",
        type=load_function,
    ),
)
"""The options of an analyzer's settings."""
ANALYSIS = tuple(Analyzer.__dataclass_fields__)


@dataclass(frozen=True)
class ModelOptions:
    """The settings that options name, the paper's mode, and settings of text analysis."""

    given: dict[str, Any]
    paper: int | None = None
    analysis: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.given or self.paper or self.analysis)

    def create(self) -> Clasher:
        return clasher.Clasher(**vars(self.settings()))

    def settings(self, **defaults: Any) -> Settings:
        """Return the settings, over the ``defaults`` of a command."""
        given = defaults | self.given
        if self.paper is not None:
            if "rule" in self.given:
                raise SettingError("--paper chooses the rule: leave out --rule, or --paper")
            given = PAPER | {"rule": "centroid" if self.paper == 1 else "mistake"} | given
        analyzer = replace(analyzer_for(given.get("rule", "margin")), **self.analysis)
        return Settings(**given | {"analyzer": analyzer})

    def load(self, path: str | Path, name: str | None = None) -> Clasher:
        """Load a model, and refuse one with other settings; ``name`` is for the message."""
        model = clasher.Clasher.load(path, tokenizer=self.analysis.get("tokenizer"))
        self.check(model, str(path) if name is None else name)
        return model

    def begin(
        self, folder: str, saved: Path | None, initial_model: str | None, **defaults: Any
    ) -> tuple[Settings | None, Clasher | None, InitialModel | None]:
        """Return the settings of a new folder, or its model and the file that it comes from.

        A folder with a ``saved`` model must have been made with the same options, so that the same
        command can be started again.
        """
        from clasher.runtime.snapshots import InitialModel, check_initial_model

        if saved is not None:
            if initial_model is not None:
                check_initial_model(folder, initial_model, warn)
            if self:
                self.load(saved, folder)
            return None, None, None
        if initial_model is None:
            return self.settings(**defaults), None, None
        return None, self.load(initial_model), InitialModel.of(initial_model)

    def check(self, model: Clasher, path: str) -> None:
        """Refuse to go on with a model that has other settings."""
        asked = self.settings()
        fixed = () if self.paper is None else (*PAPER, "rule")
        named = dict.fromkeys(fixed, f"--paper {self.paper}")
        for name, value in self.given.items():
            yes, _, no = declarations()[name].flags.partition("/")
            option = declarations()[name].option.partition(" ")[0] or f"--{name.replace('_', '-')}"
            flag = f"{option} {value}"
            named[name] = (yes if value else no) if yes else flag
        for name, flag in named.items():
            value = getattr(model.settings, name)
            if value != getattr(asked, name):
                raise _contradiction(flag, path, name, repr(value))
        for name in self.analysis:
            value = getattr(model.settings.analyzer, name)
            if value != getattr(asked.analyzer, name):
                if name == "stop_words" and value is not None:
                    value = f"a list of {len(value)} words"
                shown = name_of(value) if callable(value) else str(value)
                flag = "--stem" if name == "stemmer" else f"--{name.replace('_', '-')}"
                raise _contradiction(flag, path, name, shown)


def _contradiction(flag: str, path: str, name: str, value: str) -> SettingError:
    return SettingError(
        f"{flag} contradicts {path}, whose {name} is {value}; leave it out to go on with that "
        f"model, or name another file"
    )


_VECTORS = {name: setting_option(name) for name in ("dimensions", "tf", "seed")} | {
    "weighting": _model("--weighting tfidf|tf  How to weight words (default: tfidf).")
}


def vector_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the settings of vectors as options, and pass them on as ``vectors``."""

    def collect(given: dict[str, Any]) -> dict[str, Any]:
        vectors, analysis = (pop_values(given, of) for of in (_VECTORS, ANALYSIS))
        if analysis:
            vectors["analyzer"] = Analyzer(**analysis)
        return {"vectors": vectors}

    return option_group([*_VECTORS.values(), *ANALYSIS_OPTIONS], collect)(function)


def folder_options(kept: str) -> Callable[[Any], Any]:
    """Declare the folder of a model, and the model that a new one starts with."""
    folder = _model(
        f"folder --model -m FOLDER  The folder of the model and of {kept}; created if missing.",
        required=True,
    )
    initial = _model("--initial-model FILE  Start a new folder with this model file.")
    return lambda function: folder(initial(function))


def settings_options(
    function: Callable[..., None], usual: Settings | type[Settings] = Settings
) -> Callable[..., None]:
    """Give a command the settings of a model as options, and pass them on as ``options``."""
    options = [setting_option(name, usual) for name in OPTIONS]
    return option_group([PAPER_OPTION, *options, *ANALYSIS_OPTIONS], _collect)(function)


def _collect(given: dict[str, Any]) -> dict[str, Any]:
    settings, analysis = (pop_values(given, names) for names in (OPTIONS, ANALYSIS))
    paper = given.pop("paper")
    return {"options": ModelOptions(settings, None if paper is None else int(paper), analysis)}


PAPER_OPTION = _model(
    "--paper 1|2  The paper's own settings for mode 1 or 2: raw counts, no length normalisation, "
    "threshold 0.5."
)
OPTIONS = [name for name in declarations() if name != "analyzer"]
