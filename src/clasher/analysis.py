"""From text to words, step by step: what the settings of an analyzer do to a batch of documents.

    text ─▶ markup, addresses out ─▶ words ─▶ stop words out ─▶ stems ─▶ n-grams (kernels/grams.py)

The words of a batch are arrays; each step changes them in place. Nothing here depends on what was
analysed before: the stems that are kept at hand are those that would be found again.
"""

from __future__ import annotations

import functools
import html.entities
import re
import threading
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from clasher.analyzer import Analyzer, name_of
from clasher.errors import TextError
from clasher.kernels.addresses import strip_addresses
from clasher.kernels.grams import Grams, Words, hash_texts, scan_documents
from clasher.kernels.markup import ENDS, Entities, strip_markup
from clasher.kernels.tables import drop_known, insert, recall, remember
from clasher.languages import stemmer_of
from clasher.text import Buffers, as_buffers, code_points, decoded, letters

SURROGATES = re.compile("[\ud800-\udfff]")  # which a stemmer refuses
STEMS = 2**16  # words whose stems are at hand

Keys = npt.NDArray[np.uint64]
NO_TRACE = np.empty(0, np.int64)


class Analysis:
    """The steps that an analyzer asks for; ``initial`` is where hashes start from.

    >>> analysis = Analysis(Analyzer(strip_html=True), np.uint64(7))
    >>> texts, _ = analysis.clean(as_buffers(["<p>Oil &amp; gas</p>"]))
    >>> bytes(texts.data)
    b' Oil & gas '
    """

    def __init__(self, analyzer: Analyzer, initial: np.uint64) -> None:
        self.analyzer = analyzer
        self.initial = initial
        self.table = code_points(analyzer.fold_numbers, analyzer.marks)
        self.letters = letters(analyzer.tokenizer is None, analyzer.fold_numbers)
        shortest_run, longest_run = analyzer.char_ngrams or (0, 0)
        pairs = analyzer.pairs if analyzer.word_sizes == (1, 1) else 0
        self.grams = Grams(*analyzer.word_sizes, shortest_run, longest_run, pairs, initial)
        self._stopped = self._stop_table() if analyzer.stopped else None
        self._stems = None if analyzer.stemmer is None else Stems(analyzer.stemmer, initial)

    def clean(self, texts: Buffers, tracing: bool = False) -> tuple[Buffers, Any]:
        """Leave out markup and addresses; ``tracing`` tells where each byte of one text was."""
        analyzer = self.analyzer
        origin = np.arange(len(texts.data) + 1) if tracing else NO_TRACE
        if not (analyzer.strip_html or analyzer.strip_urls):
            return texts, origin
        first = texts.offsets[0]
        data = texts.data[first : texts.offsets[-1]].copy()
        offsets = texts.offsets - first
        if analyzer.strip_html:
            new = np.zeros_like(offsets)
            strip_markup(data, offsets, entities(), np.zeros(ENDS, np.bool_), new, origin)
            offsets = new
        if analyzer.strip_urls:
            new = np.zeros_like(offsets)
            strip_addresses(data, offsets, new, origin)
            offsets = new
        data = data[: offsets[-1]]
        data.setflags(write=False)  # one kind of array, one compilation
        return Buffers(data, offsets), origin

    def words(self, texts: Buffers) -> Words:
        """The words of clean text, after all steps but n-grams."""
        words = self._scanned(texts) if self.analyzer.tokenizer is None else self._cut(texts)
        if self._stopped is not None:
            drop_known(self._stopped, words.indptr, words.keys, words.starts, words.stops)
            kept = slice(0, int(words.indptr[-1]))
            words = words._replace(
                keys=words.keys[kept], starts=words.starts[kept], stops=words.stops[kept]
            )
        if self._stems is not None:
            self._stems.replace(words, self.letters)
        return words

    def _scanned(self, texts: Buffers) -> Words:
        room = int(most_words(texts, self.analyzer.marks).sum())
        indptr = np.empty(texts.documents + 1, np.int64)
        keys = np.empty(room, np.uint64)
        starts, stops = np.empty(room, np.int64), np.empty(room, np.int64)
        scan_documents(
            texts.data, texts.offsets, self.table, self.analyzer.min_length, self.initial,
            indptr, keys, starts, stops,
        )  # fmt: skip
        found = slice(0, int(indptr[-1]))
        return Words(indptr, keys[found], starts[found], stops[found], texts.data)

    def _cut(self, texts: Buffers) -> Words:
        """The words that the function of the user finds."""
        tokens: list[bytes] = []
        indptr = np.zeros(texts.documents + 1, np.int64)
        for document in range(texts.documents):
            inside = slice(texts.offsets[document], texts.offsets[document + 1])
            tokens += self._tokens(texts.data[inside].tobytes())
            indptr[document + 1] = len(tokens)
        sizes = np.array([len(token) for token in tokens], np.int64)
        stops = np.cumsum(sizes + 1) - 1
        data = np.frombuffer(b" ".join(tokens), np.uint8)  # a blank shows where words of a row end
        return self._hashed(Words(indptr, np.empty(0, np.uint64), stops - sizes, stops, data))

    def _tokens(self, raw: bytes) -> list[bytes]:
        tokenizer = self.analyzer.tokenizer
        assert tokenizer is not None
        found = []
        for token in tokenizer(decoded(raw)):
            if not isinstance(token, str):
                raise TextError(
                    f"the tokenizer {name_of(tokenizer)} must give words as text (str). "
                    f"Got {type(token).__name__} instead."
                )
            if token:
                found.append(token.encode("utf-8", "surrogatepass"))
        return found

    def _hashed(self, words: Words) -> Words:
        """The same words with their hashes, each taken as it is."""
        keys = np.empty(len(words.starts), np.uint64)
        hash_texts(words.data, words.starts, words.stops, self.letters, self.initial, keys)
        return words._replace(keys=keys)

    def _stop_table(self) -> Keys:
        """The hashes of stop words: as they stand, and as text is cut."""
        texts = as_buffers(self.analyzer.stopped)
        whole = Words(
            np.empty(0, np.int64), np.empty(0, np.uint64), texts.offsets[:-1], texts.offsets[1:],
            texts.data,
        )  # fmt: skip
        found = np.concatenate([self._hashed(whole).keys, self._scanned(texts).keys])
        return key_table(found)[0]


class Stems:
    """The stems of words, by their hashes: only words that are not at hand are stemmed.

    Memory is bounded: a word takes the place of another one. Threads may share it.
    """

    def __init__(self, language: str, initial: np.uint64) -> None:
        self._stemmer = stemmer_of(language)
        self._initial = initial
        self._table = np.zeros(STEMS, np.uint64)
        self._stems = np.zeros(STEMS, np.uint64)
        self._lock = threading.Lock()

    def replace(self, words: Words, lower: npt.NDArray[np.uint32]) -> None:
        """Put the hashes of stems in the place of those of words."""
        with self._lock:
            missing = np.empty(len(words.keys), np.int64)
            missing = missing[: recall(self._table, self._stems, words.keys, missing)]
            if not len(missing):
                return
            new, first, which = np.unique(
                words.keys[missing], return_index=True, return_inverse=True
            )
            stems = self._stem(words, missing[first], lower)
            words.keys[missing] = stems[which]
            remember(self._table, self._stems, new, stems)

    def _stem(self, words: Words, chosen: Any, lower: npt.NDArray[np.uint32]) -> Keys:
        """The hashes of the stems of some words."""
        spans = zip(words.starts[chosen].tolist(), words.stops[chosen].tolist(), strict=True)
        written = [decoded(words.data[start:stop].tobytes()) for start, stop in spans]
        given = _lowered(written, lower)
        stems = self._stemmer.stemWords([SURROGATES.sub("", word) for word in given])
        texts = as_buffers([stem or word for stem, word in zip(stems, given, strict=True)])
        keys = np.empty(len(stems), np.uint64)
        bounds = texts.offsets
        hash_texts(texts.data, bounds[:-1], bounds[1:], lower, self._initial, keys)
        return keys


def _lowered(words: list[str], lower: npt.NDArray[np.uint32]) -> list[str]:
    """Words as the hash sees them, all at once."""
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    known = codes < len(lower)
    folded = np.where(known, lower[np.where(known, codes, 0)], codes)
    joined = folded.tobytes().decode("utf-32-le", "surrogatepass")
    ends = list(accumulate(map(len, words), initial=0))
    return [joined[start:stop] for start, stop in pairwise(ends)]


def most_words(texts: Buffers, marks: bool) -> npt.NDArray[np.int64]:
    """The most words that each document can have.

    Two in three bytes: a letter of one byte, then a symbol of two, and so on; one in each byte
    where marks are words.
    """
    sizes = np.diff(texts.offsets)
    return np.asarray(sizes if marks else (2 * sizes + 2) // 3, np.int64)


def most_grams(words: Words, grams: Grams) -> npt.NDArray[np.int64]:
    """The most n-grams that the words of each document can give."""
    counts = np.diff(words.indptr)
    sizes = np.concatenate([[0], np.cumsum(words.stops - words.starts)])
    letters_ = sizes[words.indptr[1:]] - sizes[words.indptr[:-1]]
    most = counts * (grams.longest - grams.shortest + 1 if grams.longest else 0)
    if grams.longest_run:
        most += (letters_ + counts) * (grams.longest_run - grams.shortest_run + 1)
    return np.asarray(most + np.minimum(counts, grams.pairs), np.int64)


def key_table(keys: Keys) -> tuple[Keys, npt.NDArray[np.int64]]:
    """A table of keys for the kernels, and the place of each."""
    table = np.zeros(4 << max(1, len(keys)).bit_length(), np.uint64)
    places = np.empty(len(keys), np.int64)
    insert(table, keys, places)
    return table, places


@functools.cache
def entities() -> Entities:
    """The named characters of HTML as the kernels read them."""
    names, values = zip(*sorted(html.entities.html5.items()), strict=True)
    texts, named = as_buffers(values), as_buffers(names)
    keys = np.empty(len(names), np.uint64)
    same = letters(lower=False, fold_numbers=False)
    hash_texts(named.data, named.offsets[:-1], named.offsets[1:], same, np.uint64(0), keys)
    table, places = key_table(keys)
    starts, stops = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
    starts[places], stops[places] = texts.offsets[:-1], texts.offsets[1:]
    windows = [ord(html.unescape(f"&#{number};")) for number in range(0x80, 0xA0)]
    return Entities(table, starts, stops, texts.data, np.array(windows, np.uint32))
