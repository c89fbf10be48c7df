"""Words and hashes in plain Python: the oracle of the kernels that read text."""

from __future__ import annotations

import unicodedata
from itertools import groupby, pairwise

from clasher.kernels.scan import KIND
from clasher.text.tokens import code_points, unicode

LAST = 0x3FFFF  # the last code point that may be part of a word
UNSPACED_SCRIPTS = (
    "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "HIRAGANA", "HENTAIGANA", "KATAKANA", "BOPOMOFO",
    "HALFWIDTH KATAKANA", "COMBINING KATAKANA-HIRAGANA", "CJK UNIFIED IDEOGRAPH",
    "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC", "TAI LE", "NEW TAI LUE", "TAI THAM",
)  # fmt: skip

SEPARATOR, WORD, UNSPACED, SYMBOL = range(4)
Found = tuple[str, int, int]
"""A word in lower case, and where it starts and stops in the text."""

MARKS = "!?՜՞؟‼‽⁇⁈⁉！？"


def kind(character: str, marks: bool = False) -> int:
    """Return the kind of a character; ``MARKS`` may be symbols."""
    if marks and character in MARKS:
        return SYMBOL
    category = unicodedata.category(character)
    name = unicodedata.name(character, "")
    if ord(character) > LAST or name.startswith("VARIATION SELECTOR"):
        return SEPARATOR
    if category == "So":
        return SYMBOL
    if category[0] not in "LMN":
        return SEPARATOR
    return UNSPACED if name.startswith(UNSPACED_SCRIPTS) else WORD


def is_settled(character: str) -> bool:
    """Tell whether the frozen table knows a character; a newer Python may know more."""
    if unicodedata.unidata_version == unicode()["version"]:
        return True
    table = code_points()
    known = ord(character) < len(table) and table[ord(character)] >> KIND != SEPARATOR
    return known or kind(character) == SEPARATOR


def lower(character: str) -> str:
    """Return one character in lower case: the final sigma is a sigma, and İ an i."""
    return "σ" if character == "ς" else character.lower()[0]


def words(text: str, min_length: int = 2, marks: bool = False) -> list[Found]:
    """Return the words of a text in order."""
    found: list[Found] = []
    for what, run in groupby(enumerate(text), key=lambda pair: kind(pair[1], marks)):
        letters = [(at, lower(character)) for at, character in run]
        start, stop = letters[0][0], letters[-1][0] + 1
        if what == WORD and len(letters) >= min_length:
            found.append(("".join(letter for _, letter in letters), start, stop))
        elif what == SYMBOL or (what == UNSPACED and len(letters) == 1):
            found += [(letter, at, at + 1) for at, letter in letters]
        elif what == UNSPACED:
            found += [(a + b, at, at + 2) for (at, a), (_, b) in pairwise(letters)]
    return found


# ── the hash ─────────────────────────────────────────────────────────────────────────────────────

GOLDEN = 0x9E3779B97F4A7C15
MASK = 2**64 - 1


def finalise(state: int) -> int:
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
    return state ^ (state >> 31)


def key(word: str, seed: int) -> int:
    """Return the hash of a word in lower case, before it is finalised."""
    state = finalise((seed + GOLDEN) & MASK)
    for letter in word:
        state = ((state ^ ord(letter)) * GOLDEN) & MASK
    return state


def place(word: str, seed: int, dimensions: int) -> tuple[int, int]:
    """Return the bucket and the sign of a word in lower case."""
    return place_of(key(word, seed), dimensions)


def place_of(state: int, dimensions: int) -> tuple[int, int]:
    """Return the bucket and the sign of a hash."""
    mixed = finalise(state)
    return ((mixed >> 32) * dimensions) >> 32, 1 - 2 * (mixed & 1)


def hashed(text: str, seed: int, dimensions: int, min_length: int = 2) -> dict[int, int]:
    """Algorithm 2: return signed counts of buckets, in the order of their first words."""
    counts: dict[int, int] = {}
    for word, _, _ in words(text, min_length):
        bucket, sign = place(word, seed, dimensions)
        counts[bucket] = counts.get(bucket, 0) + sign
    return counts


def row_bucket(word: str, row: int, seed: int, dimensions: int) -> int:
    """Return the bucket of a word in a row of the sketch."""
    mixed = finalise(key(word, seed) ^ ((row * GOLDEN) & MASK))
    return ((mixed >> 32) * dimensions) >> 32
