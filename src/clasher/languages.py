"""What is known of languages: lists of stop words, and stemmers. Both are optional libraries."""

from __future__ import annotations

import difflib
from types import ModuleType
from typing import Any

from clasher.errors import MissingExtraError, SettingError

EXTRA = "text"


def stop_words_of(language: str) -> tuple[str, ...]:
    """The stop words of a language in order, without phrases of several words.

    >>> "the" in stop_words_of("english"), "und" in stop_words_of("german")
    (True, True)
    """
    library = _stop_words()
    known = sorted(set(library.AVAILABLE_LANGUAGES))
    if language not in known:
        raise _unknown("stop_words", language, known)
    listed = (word.strip() for word in library.get_stop_words(language))
    return tuple(sorted({word for word in listed if len(word.split()) == 1}))


def stemmer_of(language: str) -> Any:
    """A stemmer; it keeps no words of its own.

    >>> stemmer_of("english").stemWords(["prices", "raising"])
    ['price', 'rais']
    """
    check_stemmer(language)
    return _stemmers().Stemmer(language, 0)


def check_stemmer(language: str) -> None:
    """Refuse a language without a stemmer."""
    known = sorted(_stemmers().algorithms())
    if language not in known:
        raise _unknown("stemmer", language, known)


def snowball_version() -> str:
    """The version of the stemmers."""
    return str(_stemmers().version())


def _unknown(parameter: str, language: str, known: list[str]) -> SettingError:
    near = difflib.get_close_matches(str(language), known, 1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    wanted = f"one of {', '.join(known)}{hint}"
    return SettingError.of(parameter, wanted, language, "Analyzer")


def _stop_words() -> ModuleType:
    try:
        import stop_words
    except ImportError as error:
        raise MissingExtraError.of("A list of stop words", EXTRA) from error
    module: ModuleType = stop_words
    return module


def _stemmers() -> ModuleType:
    try:
        import Stemmer
    except ImportError as error:
        raise MissingExtraError.of("A stemmer", EXTRA) from error
    module: ModuleType = Stemmer
    return module
