"""Text analysis in plain Python: the oracle of its kernels."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from clasher.text.analyzer import Analyzer
from support.reference import plain

CHARACTERS, OPENING, CLOSING = "characters", "opening", "closing"
MARKS = {CHARACTERS: 0x110000, OPENING: 0x110001, CLOSING: 0x110002}
ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z][A-Za-z0-9+.-]{0,15}://(?=[!#-;=?-~])|[Ww]{3}\.(?=[A-Za-z0-9]))"
    r"[!#-;=?-~]+"
)


class Feature(NamedTuple):
    """A word or n-gram: its hash, where it is in the text, and its weight."""

    key: int
    start: int
    stop: int
    weight: float = 1.0


def words(text: str, analyzer: Analyzer) -> list[plain.Found]:
    """Return the words of a text without markup, after stop words and stems."""
    found = plain.words(text, analyzer.min_length, analyzer.marks)
    if analyzer.fold_numbers:
        found = [(fold(word), start, stop) for word, start, stop in found]
    stopped = {word for entry in analyzer.stopped for word, *_ in plain.words(entry, 1)}
    if analyzer.fold_numbers:
        stopped = {fold(word) for word in stopped}
    found = [one for one in found if one[0] not in stopped]
    if analyzer.stemmer is not None:
        import Stemmer

        stem = Stemmer.Stemmer(analyzer.stemmer).stemWord
        found = [(stem(word) or word, start, stop) for word, start, stop in found]
    return found


def fold(word: str) -> str:
    return "".join("0" if unicodedata.category(c) == "Nd" else c for c in word)


def features(text: str, analyzer: Analyzer, seed: int = 0) -> Iterator[Feature]:
    """Return the words and n-grams of a text without markup, in order."""
    found = words(text, analyzer)
    shortest, longest = analyzer.word_sizes
    for last, (_, start, stop) in enumerate(found):
        for size in range(max(1, shortest), longest + 1):
            if size <= last + 1:
                row = found[last + 1 - size : last + 1]
                yield Feature(chained([word for word, *_ in row], seed), row[0][1], stop)
        if analyzer.char_ngrams is not None:
            yield from runs(text, start, stop, analyzer, seed)
    if len(found) < analyzer.pairs and analyzer.word_sizes == (1, 1):
        for one, other in pairwise(found):
            yield Feature(chained([one[0], other[0]], seed), one[1], other[2], weight=0.5)


def chained(row: list[str], seed: int) -> int:
    """Return the hash of words in a row."""
    first, *rest = [plain.key(word, seed) for word in row]
    for following in rest:
        first = ((plain.finalise(first) ^ following) * plain.GOLDEN) & plain.MASK
    return first


def runs(text: str, start: int, stop: int, analyzer: Analyzer, seed: int) -> Iterator[Feature]:
    """Return the character n-grams of a word as it is written."""
    assert analyzer.char_ngrams is not None
    shortest, longest = analyzer.char_ngrams
    letters = [plain.lower(c) if plain.kind(c) else c for c in text[start:stop]]
    letters = [OPENING, *(map(fold, letters) if analyzer.fold_numbers else letters), CLOSING]
    for first in range(len(letters)):
        for last in range(first + shortest, min(first + longest, len(letters)) + 1):
            codes = [MARKS[c] if c in MARKS else ord(c) for c in [CHARACTERS, *letters[first:last]]]
            state = plain.finalise((seed + plain.GOLDEN) & plain.MASK)
            for code in codes:
                state = ((state ^ code) * plain.GOLDEN) & plain.MASK
            yield Feature(state, start + max(first - 1, 0), min(start + last - 1, stop))


def hashed(text: str, analyzer: Analyzer, dimensions: int, seed: int = 0) -> dict[int, float]:
    """Algorithm 2 over the words and n-grams of a text."""
    counts: dict[int, float] = {}
    for feature in features(text, analyzer, seed):
        bucket, sign = plain.place_of(feature.key, dimensions)
        counts[bucket] = counts.get(bucket, 0) + feature.weight * sign
    return counts


# ── markup ───────────────────────────────────────────────────────────────────────────────────────

TAG = re.compile(
    r"""</?[a-zA-Z](?:=[\t-\r ]*+(?:"[^"]*"|'[^']*'|(?!["']))|[^>=])*+>"""  # quotes may hold a >
)
RAW = re.compile(r"<(script|style)[\t-\r />]", re.IGNORECASE)
REFERENCE = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z0-9]+;?)")


def without_markup(text: str) -> str:
    """Replace tags, comments, scripts and styles by blanks, and decode named characters."""
    out, i, careful = [], 0, True
    while i < len(text):
        if text[i] == "<":
            after, careful = markup_end(text, i, careful)
            if after:
                out.append(" ")
                i = after
                continue
        reference = REFERENCE.match(text, i)
        if reference:
            name = reference.group()
            out.append(" " if name in ("&nLt;", "&nGt;") else html.unescape(name))
            i = reference.end()
        else:
            out.append(text[i])
            i += 1
    return "".join(out)


def markup_end(text: str, i: int, careful: bool) -> tuple[int, bool]:
    """Return where the markup at ``i`` ends (0 for none), and whether to go on minding quotes."""
    simple = text.find(">", i) + 1
    if len(text) < i + 3:
        return 0, careful
    if text[i : i + 9].lower() == "<![cdata[":
        return i + 9, careful
    if text[i + 1] in "!?":
        comment = text.find("-->", i + 2) if text.startswith("<!--", i) else -1
        return (comment + 3 if comment >= 0 else simple), careful
    if not re.match(r"</?[a-zA-Z]", text[i:]):
        return 0, careful
    tag = TAG.match(text, i) if careful else None
    after, careful = (tag.end(), careful) if tag else (simple, False)
    raw = RAW.match(text, i)
    if raw and after:
        close = re.compile(f"</{raw.group(1)}", re.IGNORECASE).search(text, after)
        after = close.start() if close else after
    return after, careful


def without_addresses(text: str) -> str:
    """Replace each web address by a blank."""
    return ADDRESS.sub(" ", text)
