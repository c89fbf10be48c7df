"""The settings of text analysis, and the optional libraries of stop words and stemmers."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Self

from clasher.errors import MissingExtraError, SettingError, is_integer, nearest, require

LONGEST_GRAM = 10
MOST_PAIRED = 1000  # the largest setting of ``pairs``

RICH = {"min_length": 1, "marks": True, "pairs": 40}
"""Settings that helped the margin rule on every stream we tried, or did no harm."""

Tokenizer = Callable[[str], Iterable[str]]
_require = partial(require, owner="Analyzer")


@dataclass(frozen=True)
class Analyzer:
    """How text is cut into words.

    The steps in order: ``strip_html``, ``strip_urls``, cutting into words with ``min_length``,
    ``marks`` and ``fold_numbers`` (or a ``tokenizer``), ``stop_words``, ``stemmer``, ``ngrams``,
    ``char_ngrams``, ``pairs``.

    Parameters
    ----------
    min_length
        Drop shorter words, except single characters of scripts without spaces.
    stop_words
        Words to leave out: the name of a language, or the words themselves. Entries are cut like
        any text: ``don't`` leaves out ``don``.
    stemmer
        The language of a Snowball stemmer: *price* and *prices* become one word.
    ngrams
        Count up to this many words in a row as one; (shortest, longest) can leave out single
        words. 0 leaves character n-grams only.
    char_ngrams
        Also count runs of (shortest, longest) characters of a word; its beginning and its end
        count as a character each.
    strip_html
        Leave out tags, comments, scripts and styles; decode named characters.
    strip_urls
        Leave out web addresses.
    fold_numbers
        Read every decimal digit as 0: *1987* and *2026* become one word.
    tokenizer
        Your own function that cuts text into words, which are taken as they are. It must be at
        the top level of a module, because a model file stores its name.
    snowball
        The version of the stemmers; filled in automatically.
    marks
        Count question and exclamation marks as words.
    pairs
        In documents of fewer words, also count pairs of neighbouring words, as half a word each.
    features
        Documents are features, names with values (``clasher.text.hashing``), not text; the
        other settings do not matter.

    Examples
    --------
    >>> from clasher import Clasher
    >>> model = Clasher(1024, analyzer=Analyzer(stop_words="english", stemmer="english"))
    >>> one, other = model.hash_many(["The price of oil rises", "oil prices are rising"]).indptr[1:]
    >>> int(one), int(other - one)
    (3, 3)
    """

    min_length: int = 2
    stop_words: str | Iterable[str] | None = None
    stemmer: str | None = None
    ngrams: int | tuple[int, int] = 1
    char_ngrams: tuple[int, int] | None = None
    strip_html: bool = False
    strip_urls: bool = False
    fold_numbers: bool = False
    tokenizer: Tokenizer | None = None
    snowball: str | None = None
    marks: bool = False
    pairs: int = 0
    features: bool = False

    def __post_init__(self) -> None:
        for name, least, most in (("min_length", 1, 1000), ("pairs", 0, MOST_PAIRED)):
            must_be, value = f"an integer from {least} to {most}", getattr(self, name)
            _require(is_integer(value, least, most), name, must_be, value)
        for name in ("strip_html", "strip_urls", "fold_numbers", "marks", "features"):
            value = getattr(self, name)
            _require(isinstance(value, bool), name, "True or False", value)
        is_valid = self.char_ngrams is None or _is_range(self.char_ngrams, 2)
        must_be = f"None or two integers from 2 to {LONGEST_GRAM} in order"
        _require(is_valid, "char_ngrams", must_be, self.char_ngrams)
        vars(self).update(
            stop_words=_list_of_words(self.stop_words),
            ngrams=_word_sizes(self.ngrams, self.char_ngrams is not None),
            snowball=_version_for(self.stemmer, self.snowball),
        )
        if self.tokenizer is not None:
            name_of(self.tokenizer)

    @classmethod
    def rich(cls, **changes: Any) -> Self:
        """Return the analyzer that the margin rule has by default.

        >>> Analyzer.rich(stemmer="english") == Analyzer(
        ...     min_length=1, marks=True, pairs=40, stemmer="english"
        ... )
        True
        """
        return cls(**{**RICH, **changes})

    @property
    def stopped(self) -> tuple[str, ...]:
        """The words to leave out."""
        return self.stop_words or ()  # type: ignore[return-value]

    @property
    def word_sizes(self) -> tuple[int, int]:
        """The shortest and longest n-grams of words."""
        return self.ngrams  # type: ignore[return-value]

    @property
    def by_scan(self) -> bool:
        """Whether one scan over the bytes is enough to find the words, and pairs of them."""
        further = (self.stop_words, self.stemmer, self.tokenizer, self.char_ngrams)
        return self.word_sizes == (1, 1) and all(step is None for step in further)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {name: list(value) for name, value in values.items() if type(value) is tuple}
        values["tokenizer"] = None if self.tokenizer is None else name_of(self.tokenizer)
        if not self.features:  # model files of text are older than this setting
            del values["features"]
        return values

    @classmethod
    def of(cls, given: dict[str, Any], tokenizer: Tokenizer | None = None) -> Self:
        """Make an analyzer from plain values and, if it has one, the tokenizer."""
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        return cls(**{**given, **lists, "tokenizer": tokenizer})


def analyzer_for(rule: str) -> Analyzer:
    """Return the default analyzer of a rule."""
    return Analyzer.rich() if rule == "margin" else Analyzer()


def name_of(tokenizer: object) -> str:
    """Return the name under which a model file stores a function."""
    module, name = getattr(tokenizer, "__module__", None), getattr(tokenizer, "__qualname__", "<")
    has_name = callable(tokenizer) and module is not None and "<" not in name
    must_be = "None or a function at the top level of a module, with a name"
    _require(has_name, "tokenizer", must_be, tokenizer)
    return f"{module}:{name}"


def check_tokenizer(stored: str | None, given: Tokenizer | None) -> None:
    """Refuse another tokenizer than the one that the model was made with."""
    if stored == (None if given is None else name_of(given)):
        return
    if stored is None:
        raise SettingError("the model has no tokenizer; leave out the one given")
    instead = "" if given is None else f", not {name_of(given)}"
    raise SettingError(
        f"the model's text is cut into words by the function {stored}{instead}; give it: "
        f"Clasher.load(path, tokenizer={stored.partition(':')[2]}), or --tokenizer {stored}"
    )


def stemmer_of(language: str) -> Any:
    """Return a stemmer without a cache."""
    library = _library("Stemmer", "A stemmer")
    _check_language("stemmer", language, library.algorithms())
    return library.Stemmer(language, 0)


def _check_language(parameter: str, language: str, known: Iterable[str]) -> None:
    known = sorted(set(known))
    if language not in known:
        near = nearest(str(language), known)
        hint = f" (did you mean {near!r}?)" if near else ""
        must_be = f"one of {', '.join(known)}{hint}"
        raise SettingError.of(parameter, must_be, language, "Analyzer")


def _library(name: str, what: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError.of(what, "text") from error


def _list_of_words(given: Any) -> tuple[str, ...] | None:
    """Return the words themselves, so that a new version of a list does not change a model."""
    if given is None:
        return None
    if isinstance(given, str):
        library = _library("stop_words", "A list of stop words")
        _check_language("stop_words", given, library.AVAILABLE_LANGUAGES)
        listed = (word.strip() for word in library.get_stop_words(given))
        return tuple(sorted({word for word in listed if len(word.split()) == 1}))  # no phrases
    must_be = "None, the name of a language, or words without blanks"
    _require(isinstance(given, Iterable), "stop_words", must_be, given)
    words = sorted(set(given), key=str)
    for word in words:
        _require(isinstance(word, str) and word.split() == [word], "stop_words", must_be, word)
    return tuple(words) or None


def _word_sizes(given: Any, characters: bool) -> tuple[int, int]:
    sizes = (min(1, given), given) if type(given) is int else given
    if characters and sizes == (0, 0):
        return 0, 0
    must_be = f"an integer from 1 to {LONGEST_GRAM}, or two of them in order"
    _require(_is_range(sizes, 1), "ngrams", f"{must_be} (or 0 beside char_ngrams)", given)
    return sizes


def _is_range(given: Any, least: int) -> bool:
    return (
        isinstance(given, tuple)
        and len(given) == 2
        and all(type(size) is int for size in given)
        and least <= given[0] <= given[1] <= LONGEST_GRAM
    )


def _version_for(stemmer: Any, noted: str | None) -> str | None:
    """Return the version of the stemmers; warn if it is not the noted one."""
    if stemmer is None:
        return None
    stemmer_of(stemmer)  # refuses an unknown language
    _require(isinstance(noted, str | None), "snowball", "None or a version", noted)
    running = str(_library("Stemmer", "A stemmer").version())
    if noted is not None and noted != running:
        warnings.warn(
            f"the model was made with the stemmers of Snowball {noted}, and {running} is "
            f"installed: some words may get other stems",
            stacklevel=4,
        )
    return noted or running
