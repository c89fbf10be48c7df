"""Every setting of a model, declared once.

An annotation below declares a setting: its type, valid values, a sentence of help and its default.
Validation, the docstring of ``Settings``, the constructor of ``Clasher``, the options of the
command line, the parameters of the scikit-learn and River estimators and the table in
``docs/reference/settings.md`` all follow from it. The command line imports this module for its
help, so it must not import NumPy.
"""

import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, FrozenInstanceError, dataclass, fields
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec, get_type_hints

from clasher.errors import SettingError, is_integer, is_number, require
from clasher.kernels.state import RULES, Setting
from clasher.kernels.weightings import NO_MEASURE, WEIGHTINGS
from clasher.text.analyzer import Analyzer, Tokenizer, analyzer_for

P = ParamSpec("P")

DIMENSIONS = 2**18  # empty buckets take 28 bytes each

GIVEN = "given"  # the weighting of documents that come with their weights
WITH_IDF = tuple(name for name, of in WEIGHTINGS.items() if of.idf)
# Weightings that use labels (section 3.6), and their numbers.
MEASURES = {name: of.measure for name, of in WEIGHTINGS.items() if of.measure != NO_MEASURE}
PAPER = {"tf": "count", "norm": "none", "threshold": 0.5, "at_least_one": False}


class Declared(NamedTuple):
    """The valid values and the help of a setting."""

    must_be: str
    accepts: Callable[[Any], bool]
    help: str
    details: str = ""  # more for the docstring
    unset: str = ""  # what the default None means
    choices: tuple[str, ...] = ()
    read: Callable[[str], Any] = str  # converts text
    flags: str = ""  # the options of a yes or no
    option: str = ""  # the option of the command line, if it has another name
    show: Callable[[Any], str] = str  # describes a default


def integer(least: int, most: int, text: str, details: str = "") -> Declared:
    """Declare a setting that is an integer."""
    must_be = f"an integer from {least} to {most}"
    return Declared(must_be, lambda v: is_integer(v, least, most), text, details, read=int)


def memory(least: int, most: int, text: str, details: str = "") -> Declared:
    """Declare a setting that is a number of bytes, which options take as ``500MB`` too."""
    declared = integer(least, most, text, details)
    return declared._replace(option="--memory SIZE", show=lambda value: f"{value >> 20:,} MiB")


def number(
    least: float, most: float, must_be: str, text: str, details: str = "", *, unset: str
) -> Declared:
    """Declare a setting that is a number or None, which means ``unset``."""
    return Declared(
        must_be, lambda v: v is None or is_number(v, least, most), text, details, unset, read=float
    )


def choice(known: Iterable[str], text: str, details: str = "") -> Declared:
    """Declare a setting that is one of some words."""
    choices = tuple(known)
    must_be = "one of " + ", ".join(map(repr, choices))
    return Declared(must_be, lambda value: value in choices, text, details, choices=choices)


def yes_or_no(flags: str, text: str, details: str = "", unset: str = "") -> Declared:
    """Declare a setting that is True or False, or None if ``unset`` says what that means."""

    def accepts(value: Any) -> bool:
        return isinstance(value, bool) or (value is None and unset != "")

    must_be = "None, True or False" if unset else "True or False"
    return Declared(must_be, accepts, text, details, unset, flags=flags)


ANALYZER = Declared(
    "an Analyzer or None",
    lambda value: value is None or isinstance(value, Analyzer),
    "How to cut text into words.",
    unset="`Analyzer.rich()` for `margin`, else `Analyzer()`",
)


# fmt: off
@dataclass
class VectorSettings:
    """How a document becomes a vector."""

    dimensions: Annotated[int, integer(
        2, 2**30, "Number of buckets that words are hashed to."
    )] = DIMENSIONS
    _: KW_ONLY
    weighting: Annotated[str, choice(
        [*WEIGHTINGS, GIVEN],
        "How to weight words; all but tfidf and tf use the labels that a word came with.",
        "`tfidf` is Algorithm 3, `tf` Algorithm 2. `icf` and `icsdf` scale TF-IDF by how few "
        "labels a word comes with; the others scale TF by how much labels depend on the word "
        "(section 3.6). `given` takes the weights that documents come with (`Clasher.take_rows`).",
    )] = "tfidf"
    tf: Annotated[str, choice(
        ["log", "count"], "Use of a word's count: log means 1 + ln(count), count means unchanged."
    )] = "log"
    norm: Annotated[str, choice(
        ["l2", "none"], "Length normalisation; l2 scales every document to length 1."
    )] = "l2"
    seed: Annotated[int, integer(0, 2**63 - 1, "Seed of the hash functions.")] = 0
    words: Annotated[bool, yes_or_no(
        "--words/--no-words",
        "Whether to keep a word for each bucket, to show what a label is about.",
        "`top_words` needs them. A `detector` keeps them in any case, to name them in alarms.",
    )] = False
    half_life: Annotated[float | None, number(
        1.0, 1e12, "None or a number of documents from 1 to 1e+12",
        "Halve the weight of a document after this many later ones.",
        unset="nothing is forgotten",
    )] = None
    analyzer: Annotated[Analyzer | None, ANALYZER] = None


@dataclass(kw_only=True)
class LearningSettings(VectorSettings):
    """How labels are learnt and predicted."""

    rule: Annotated[str, choice(
        RULES,
        "Learning rule; centroid and mistake are the paper's modes 1 and 2.",
        "`margin` is Mode 3 (ours), `centroid` Algorithm 5, `mistake` Algorithm 6, `perceptron` "
        "the paper's baseline: one binary perceptron per label.",
    )] = "margin"
    similarity: Annotated[str, choice(
        ["cosine", "euclidean"], "How to find the nearest prototype (Eq. 12)."
    )] = "cosine"
    threshold: Annotated[float | None, number(
        math.nextafter(0, 1), math.nextafter(1, 0), "None or a number between 0 and 1",
        "Predict labels above this probability.",
        "For the paper's rules it is the fraction θ of Eq. 13.",
        unset="learnt from the stream by margin, else 0.5",
    )] = None
    at_least_one: Annotated[bool | None, yes_or_no(
        "--at-least-one/--allow-empty",
        "Whether to predict the best label if none passes the threshold.",
        "`margin` and `perceptron` learn how low the best label may score: they predict it where "
        "it is right at least as often as a document has no label, so always while every document "
        "has one.",
        unset="learnt from the stream by margin and perceptron, else at least one",
    )] = None
    max_labels: Annotated[int, integer(
        1, 2**24, "Maximum number of labels in the stream.",
        "``max_bytes`` may leave room for fewer.",
    )] = 2**24
    max_bytes: Annotated[int, memory(
        2**16, 2**46, "Maximum size of the model in bytes.",
        "What matters least is dropped when it is reached.",
    )] = 160 * 2**20  # a process that learns 10,000 labels takes less than 500 MB
    on_full: Annotated[str, choice(
        ["error", "evict"],
        "When a label exceeds the maximum: raise an error, or evict the label unseen for longest.",
    )] = "error"
    depth: Annotated[int, integer(
        1, 16, "Number of rows of the sketch of document frequencies, up to 16.",
        "The L of Theorem 2: more rows tell words apart that share a bucket. Only for weightings "
        "with an IDF.",
    )] = 1
    conservative: Annotated[bool, yes_or_no(
        "--conservative", "Use conservative updates in a sketch of several rows: smaller errors.",
        "They raise only the counters that must rise; with one row they change nothing.",
    )] = False
    detector: Annotated[str, choice(
        ["none", "window", "adwin"],
        "Watch the errors, and forget most of the past when they rise; adwin is River's.",
        "`adwin` needs the extra `drift`.",
    )] = "none"


@dataclass(kw_only=True)
class ModelSettings(LearningSettings):
    """How a model treats documents that get their labels later."""

    pending: Annotated[int, integer(
        0, 2**22, "Keep the last N unlabelled documents, hashed, for labels that come late.",
        "`learn_later` learns them.",
    )] = 0
# fmt: on


@dataclass(kw_only=True, unsafe_hash=True)
class Settings(ModelSettings):
    """All settings of a model; models with equal settings can be merged.

    The reference lists them in a table, ``docs/reference/settings.md``.

    Examples
    --------
    >>> settings = Settings(dimensions=1024, half_life=10_000)
    >>> settings.differences(Settings())
    ['dimensions', 'half_life']
    """

    analyzer: Annotated[Analyzer, ANALYZER] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name, declared in declarations().items():
            value = getattr(self, name)
            require(declared.accepts(value), name, declared.must_be, value)
        must_be = f"1 with weighting {self.weighting!r}, which needs no document frequencies"
        require(self.depth == 1 or self.weighting in WITH_IDF, "depth", must_be, self.depth)
        must_be = "False with weighting 'given', whose documents come without words"
        require(not self.words or self.weighting != GIVEN, "words", must_be, self.words)
        if self.analyzer is None:
            vars(self)["analyzer"] = analyzer_for(self.rule)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse to change a setting: the dataclass cannot be frozen, its bases are not."""
        if name in vars(self):
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super().__setattr__(name, value)

    @classmethod
    def of(cls, given: dict[str, Any], tokenizer: Tokenizer | None = None) -> "Settings":
        """Read settings from the names and values of a model file; see ``Clasher.load``."""
        for name in given:
            if name not in declarations():
                known = sorted(declarations())
                raise SettingError(f"Clasher has no parameter {name!r}; it has {known}.")
        analyzer: Any = given.get("analyzer")
        require(isinstance(analyzer, dict), "analyzer", "an object", analyzer)
        return cls(**{**given, "analyzer": Analyzer.of(analyzer, tokenizer)})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**values, "analyzer": self.analyzer.to_dict()}

    def differences(self, other: "Settings") -> list[str]:
        """Return the names of the settings that differ."""
        return [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]

    @property
    def keeps_words(self) -> bool:
        """Whether the model keeps a word for each bucket, for ``top_words`` or for alarms."""
        return (self.words or self.detector != "none") and self.weighting != GIVEN

    @property
    def forgets(self) -> bool:
        """Whether the age of a document matters."""
        return self.half_life is not None or self.detector != "none"

    def for_kernels(self) -> Setting:
        """Return the settings as the kernels read them."""
        theta = 0.5 if self.threshold is None else float(self.threshold)
        linear = self.rule in ("margin", "perceptron")
        has_order = self.weighting != GIVEN and not self.analyzer.features
        return Setting(
            rule=RULES[self.rule],
            idf=self.weighting in WITH_IDF,
            measure=MEASURES.get(self.weighting, NO_MEASURE),
            log_tf=self.tf == "log" and self.weighting != GIVEN,
            unit=self.norm == "l2",
            lead=self.rule == "margin" and has_order,
            conservative=self.conservative and self.depth > 1,
            euclidean=self.similarity == "euclidean",
            learnt_cut=self.rule == "margin" and self.threshold is None,
            threshold=math.log(theta / (1.0 - theta)) if linear else theta,
            learnt_floor=linear and self.at_least_one is None,
            floor=math.inf if self.at_least_one is False else -math.inf,
            growth=1.0 if self.half_life is None else 2.0 ** (1.0 / self.half_life),
            watching=self.detector != "none",
            deep=self.depth > 1,
        )


@functools.cache
def declarations() -> dict[str, Declared]:
    """Return all settings by name, in the order of their declaration."""
    hints = get_type_hints(Settings, include_extras=True)
    return {f.name: hints[f.name].__metadata__[0] for f in fields(Settings)}


def default_of(name: str, settings: Settings | type[Settings] = Settings) -> str:
    """Describe the default of a setting: a value, on, off, or what None means."""
    value = getattr(settings, name)
    if value is None:
        return declarations()[name].unset
    if isinstance(value, bool):
        return "on" if value else "off"
    return declarations()[name].show(value)


def signature_of(
    source: Callable[P, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, P], None]]:
    """Give a method the parameters of ``source``, for type checkers and ``inspect``."""

    def decorate(method: Callable[..., None]) -> Callable[Concatenate[Any, P], None]:
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [own, *inspect.signature(source).parameters.values()]
        method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return method

    return decorate


def _described() -> str:
    """Return the docstring of ``Settings`` with a list of the parameters."""
    before, heading, after = (Settings.__doc__ or "").partition("    Examples\n")
    lines = ["    Parameters", "    ----------"]
    for name, declared in declarations().items():
        known = f" One of {', '.join(declared.choices)}." if declared.choices else ""
        text = f"{declared.help}{known} Default: {default_of(name)}. {declared.details}".rstrip()
        lines += [f"    {name}", textwrap.indent(textwrap.fill(text, 92), " " * 8)]
    return before + "\n".join(lines) + "\n\n" + heading + after


CHOICES = {name: declared.choices for name, declared in declarations().items() if declared.choices}
Settings.__doc__ = _described()
