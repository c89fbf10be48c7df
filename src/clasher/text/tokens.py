"""From columns of text to words, and from words back to their place in the text.

    text ─▶ no markup, no addresses ─▶ words ─▶ no stop words ─▶ stems ─▶ n-grams (kernels/scan.py)

A word is a run of at least ``min_length`` Unicode letters, marks (except variation selectors) and
numbers, in lower case. Scripts without spaces (Chinese, Japanese, Thai, …) give overlapping pairs
of characters, and a symbol (☂, 😀) is a word. Everything else separates words: also NUL, lone
surrogates and bytes that are not UTF-8. The words of a batch are arrays, which each step changes
in place.
"""

import functools
import html.entities
import json
import re
import threading
from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clasher.errors import TextError
from clasher.kernels import scan
from clasher.kernels.hashing import drop_known, insert, recall, remember
from clasher.kernels.markup import ENDS, Entities, strip_addresses, strip_markup
from clasher.text.analyzer import Analyzer, name_of, stemmer_of

MARKS = "!?՜՞؟‼‽⁇⁈⁉！？"  # of questions and exclamations


@functools.cache
def unicode() -> dict[str, Any]:
    """Read the frozen tables of letters, made by tools/unicode_ranges.py.

    Runs [start, stop) of words (letters, marks and numbers), of those unspaced, of symbols and of
    digits; in runs [start, stop, step, shift] the lower case is ``code + shift``. Buckets depend
    on the tables, so they never change within a version of the model file.
    """
    tables: dict[str, Any] = json.loads(Path(__file__).with_name("unicode.json").read_bytes())
    return tables


@functools.cache
def code_points(fold_numbers: bool = False, marks: bool = False) -> npt.NDArray[np.uint32]:
    """Return the kind and the lower case of every code point, as the kernels read them."""
    runs = unicode()
    table = np.zeros(runs["words"][-1][1], np.uint32)
    for kind, name in ((scan.WORD, "words"), (scan.UNSPACED, "unspaced"), (scan.SYMBOL, "symbols")):
        for start, stop in runs[name]:
            table[start:stop] = np.arange(start, stop) | (kind << scan.KIND)
    for start, stop, step, shift in runs["lower"]:
        table[start:stop:step] += np.int64(shift).astype(np.uint32)
    if fold_numbers:
        for start, stop in runs["digits"]:
            table[start:stop] = (table[start:stop] & ~scan.LETTER) | ord("0")
    if marks:
        for mark in map(ord, MARKS):
            table[mark] = mark | (scan.SYMBOL << scan.KIND)
    table.setflags(write=False)
    return table


@functools.cache
def letters(lower: bool, fold_numbers: bool) -> npt.NDArray[np.uint32]:
    """Return the code point to hash for each code point: its lower case, or itself."""
    table = code_points(fold_numbers)
    codes = np.arange(len(table), dtype=np.uint32)
    changed = table >> scan.KIND > 0 if lower else table & scan.LETTER == ord("0")
    codes[changed] = table[changed] & scan.LETTER
    codes.setflags(write=False)
    return codes


class Buffers(NamedTuple):
    """Documents as UTF-8: document ``d`` is ``data[offsets[d]:offsets[d + 1]]``."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.offsets) - 1

    def part(self, start: int, stop: int) -> Self:
        """Return documents ``start`` to ``stop`` without copying their text."""
        return self._replace(offsets=self.offsets[start : stop + 1])


def as_buffers(texts: Any) -> Buffers:
    """Read a column of text: a list of str, or anything with an Arrow interface."""
    chunks = arrow_chunks(texts)
    if chunks is not None:
        return _from_arrow(chunks)
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        remedy = "; wrap it in a list." if isinstance(texts, str) else "."
        raise TextError(
            "texts of many documents must be a sequence of text. "
            f"Got {type(texts).__name__} instead{remedy}"
        )
    encoded = [_encoded(text, at) for at, text in enumerate(texts)]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return Buffers(np.frombuffer(b"".join(encoded), np.uint8), offsets)


def arrow_chunks(values: Any) -> list[pa.Array] | None:
    """Return the chunks of an Arrow column; None if it must be read as Python objects."""
    try:
        if hasattr(values, "__arrow_c_stream__"):
            chunks = pa.chunked_array(values).chunks
        elif hasattr(values, "__arrow_c_array__"):
            chunks = [pa.array(values)]
        elif type(values).__module__.startswith("pandas."):  # version 2: no Arrow interface
            chunks = pa.chunked_array(pa.array(values, from_pandas=True)).chunks
        else:
            return None
    except (pa.ArrowException, UnicodeEncodeError):  # a pandas column may mix all kinds of objects
        return None
    return [chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk for chunk in chunks]


def plain_text(array: pa.Array) -> pa.Array | None:
    """Return an array of text as string or large_string; None if it holds no text."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        values = plain_text(array.dictionary)
        return None if values is None else values.take(array.indices)
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return array.cast(pa.large_string())
    return array if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None


def one_buffer(text: str) -> Buffers:
    """Return one document as buffers."""
    data = np.frombuffer(_encoded(text), np.uint8)
    return Buffers(data, np.array([0, len(data)], np.int64))


def _encoded(text: Any, at: int | None = None) -> bytes:
    if not isinstance(text, str):
        what = "a document" if at is None else f"document {at}"
        raise TextError(f"{what} must be text (str). Got {type(text).__name__} instead.")
    return text.encode("utf-8", "surrogatepass")


def decoded(raw: bytes) -> str:
    """Decode bytes, with lone surrogates; � replaces what is not UTF-8."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "replace")


def _from_arrow(chunks: list[pa.Array]) -> Buffers:
    plain = []
    for chunk in filter(len, chunks):
        text = plain_text(chunk)
        if text is None:
            problem = f"a column of documents must hold text. Got {chunk.type} instead."
            if pa.types.is_struct(chunk.type):
                names = ", ".join(repr(field.name) for field in chunk.type)
                problem = f"got a table with the columns {names}; take one of text: table['text']"
            raise TextError(problem)
        plain.append(text)
    if not plain:
        return Buffers(np.frombuffer(b"", np.uint8), np.zeros(1, np.int64))
    column = plain[0]
    if len(plain) > 1:  # together they may exceed the 2 GB of a string column
        column = pa.concat_arrays([chunk.cast(pa.large_string()) for chunk in plain])
    if column.null_count:
        place = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise TextError(f"document {place} is null; drop it, or give it an empty text.")
    _, offsets, data = column.buffers()
    width = np.int32 if pa.types.is_string(column.type) else np.int64
    bounds = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1]
    content = np.frombuffer(data if data is not None else b"", np.uint8)
    content.flags.writeable = False  # one kind of array, one compilation
    return Buffers(content, bounds.astype(np.int64))


SURROGATES = re.compile("[\ud800-\udfff]")  # stemmers refuse them
STEMS = 2**16  # words whose stems are cached

Keys = npt.NDArray[np.uint64]


class Analysis:
    """The steps of an analyzer; hashes start from ``initial``."""

    def __init__(self, analyzer: Analyzer, initial: np.uint64) -> None:
        self.analyzer = analyzer
        self.initial = initial
        self.table = code_points(analyzer.fold_numbers, analyzer.marks)
        self.letters = letters(analyzer.tokenizer is None, analyzer.fold_numbers)
        shortest_run, longest_run = analyzer.char_ngrams or (0, 0)
        pairs = analyzer.pairs if analyzer.word_sizes == (1, 1) else 0
        self.grams = scan.Grams(*analyzer.word_sizes, shortest_run, longest_run, pairs, initial)
        self._stopped: Keys | None = None
        if analyzer.stopped:  # whole, and cut like text
            texts = as_buffers(analyzer.stopped)
            whole = hash_each(texts, self.letters, initial)
            self._stopped, _ = key_table(np.concatenate([whole, self._scanned(texts).keys]))
        self._stems = None if analyzer.stemmer is None else Stems(analyzer.stemmer, initial)

    def clean(self, texts: Buffers, tracing: bool = False) -> tuple[Buffers, Any]:
        """Remove markup and addresses; if ``tracing``, also return where each byte was."""
        origin = np.arange(len(texts.data) + 1) if tracing else np.empty(0, np.int64)
        if not (self.analyzer.strip_html or self.analyzer.strip_urls):
            return texts, origin
        first = texts.offsets[0]
        data = texts.data[first : texts.offsets[-1]].copy()
        offsets = texts.offsets - first
        if self.analyzer.strip_html:
            old, offsets = offsets, np.zeros_like(offsets)
            strip_markup(data, old, entities(), np.zeros(ENDS, np.bool_), offsets, origin)
        if self.analyzer.strip_urls:
            old, offsets = offsets, np.zeros_like(offsets)
            strip_addresses(data, old, offsets, origin)
        data = data[: offsets[-1]]
        data.setflags(write=False)  # one kind of array, one compilation
        return Buffers(data, offsets), origin

    def words(self, texts: Buffers) -> scan.Words:
        """Return the words of clean text, before n-grams."""
        words = self._scanned(texts) if self.analyzer.tokenizer is None else self._cut(texts)
        if self._stopped is not None:
            drop_known(self._stopped, words.indptr, words.keys, words.starts, words.stops)
            keys, starts, stops = (each[: words.indptr[-1]] for each in words[1:4])
            words = scan.Words(words.indptr, keys, starts, stops, words.data)
        if self._stems is not None:
            self._stems.replace(words, self.letters)
        return words

    def _scanned(self, texts: Buffers) -> scan.Words:
        room = int(most_words(texts, self.analyzer.marks).sum())
        indptr, keys = np.empty(texts.documents + 1, np.int64), np.empty(room, np.uint64)
        starts, stops = np.empty(room, np.int64), np.empty(room, np.int64)
        scan.scan_documents(
            texts.data, texts.offsets, self.table, self.analyzer.min_length, self.initial,
            indptr, keys, starts, stops,
        )  # fmt: skip
        found = slice(0, int(indptr[-1]))
        return scan.Words(indptr, keys[found], starts[found], stops[found], texts.data)

    def _cut(self, texts: Buffers) -> scan.Words:
        """Return the words that the tokenizer finds."""
        tokenizer = self.analyzer.tokenizer
        assert tokenizer is not None
        tokens: list[str] = []
        indptr = np.zeros(texts.documents + 1, np.int64)
        for document, (start, stop) in enumerate(pairwise(texts.offsets)):
            for token in tokenizer(decoded(texts.data[start:stop].tobytes())):
                if not isinstance(token, str):
                    must = f"the tokenizer {name_of(tokenizer)} must give words as text (str)"
                    raise TextError(f"{must}. Got {type(token).__name__} instead.")
                if token:
                    tokens.append(f"{token} ")  # the blank separates words in n-grams
            indptr[document + 1] = len(tokens)
        data, offsets = as_buffers(tokens)
        starts, stops, keys = offsets[:-1], offsets[1:] - 1, np.empty(len(tokens), np.uint64)
        scan.hash_texts(data, starts, stops, self.letters, self.initial, keys)
        return scan.Words(indptr, keys, starts, stops, data)


class Stems:
    """A bounded cache of stems, by the hashes of words; threads may share it."""

    def __init__(self, language: str, initial: np.uint64) -> None:
        self._stemmer = stemmer_of(language)
        self._initial = initial
        self._table = np.zeros(STEMS, np.uint64)
        self._stems = np.zeros(STEMS, np.uint64)
        self._lock = threading.Lock()

    def replace(self, words: scan.Words, lower: npt.NDArray[np.uint32]) -> None:
        """Replace the hashes of words by those of their stems."""
        with self._lock:
            missing = np.empty(len(words.keys), np.int64)
            missing = missing[: recall(self._table, self._stems, words.keys, missing)]
            if not len(missing):
                return
            new, first, which = np.unique(
                words.keys[missing], return_index=True, return_inverse=True
            )
            chosen = missing[first]
            spans = zip(words.starts[chosen].tolist(), words.stops[chosen].tolist(), strict=True)
            written = [decoded(words.data[start:stop].tobytes()) for start, stop in spans]
            given = _lowered(written, lower)
            stems = self._stemmer.stemWords([SURROGATES.sub("", word) for word in given])
            texts = as_buffers([stem or word for stem, word in zip(stems, given, strict=True)])
            keys = hash_each(texts, lower, self._initial)
            words.keys[missing] = keys[which]
            remember(self._table, self._stems, new, keys)


def hash_each(texts: Buffers, lower: npt.NDArray[np.uint32], initial: np.uint64) -> Keys:
    """Hash each text as a whole."""
    keys = np.empty(texts.documents, np.uint64)
    scan.hash_texts(texts.data, texts.offsets[:-1], texts.offsets[1:], lower, initial, keys)
    return keys


def _lowered(words: list[str], lower: npt.NDArray[np.uint32]) -> list[str]:
    """Return words in lower case, as the hash reads them."""
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    known = codes < len(lower)
    folded = np.where(known, lower[np.where(known, codes, 0)], codes)
    joined = folded.tobytes().decode("utf-32-le", "surrogatepass")
    ends = list(accumulate(map(len, words), initial=0))
    return [joined[start:stop] for start, stop in pairwise(ends)]


def most_words(texts: Buffers, marks: bool) -> npt.NDArray[np.int64]:
    """Return the most words that each document can have.

    Two in three bytes, a letter of one byte and a symbol of two; one per byte if marks are words.
    """
    sizes = np.diff(texts.offsets)
    return np.asarray(sizes if marks else (2 * sizes + 2) // 3, np.int64)


def most_grams(words: scan.Words, grams: scan.Grams) -> npt.NDArray[np.int64]:
    """Return the most n-grams that each document can have."""
    counts = np.diff(words.indptr)
    sizes = np.concatenate([[0], np.cumsum(words.stops - words.starts)])
    letters_ = sizes[words.indptr[1:]] - sizes[words.indptr[:-1]]
    most = counts * (grams.longest - grams.shortest + 1 if grams.longest else 0)
    if grams.longest_run:
        most += (letters_ + counts) * (grams.longest_run - grams.shortest_run + 1)
    return np.asarray(most + np.minimum(counts, grams.pairs), np.int64)


def key_table(keys: Keys) -> tuple[Keys, npt.NDArray[np.int64]]:
    """Return a table of keys for the kernels, and the place of each."""
    table = np.zeros(4 << max(1, len(keys)).bit_length(), np.uint64)
    places = np.empty(len(keys), np.int64)
    insert(table, keys, places)
    return table, places


@functools.cache
def entities() -> Entities:
    """Return the named characters of HTML, as the kernels read them."""
    names, values = zip(*sorted(html.entities.html5.items()), strict=True)
    texts, named = as_buffers(values), as_buffers(names)
    keys = hash_each(named, letters(lower=False, fold_numbers=False), np.uint64(0))
    table, places = key_table(keys)
    starts, stops = np.zeros(len(table), np.int64), np.zeros(len(table), np.int64)
    starts[places], stops[places] = texts.offsets[:-1], texts.offsets[1:]
    windows = [ord(html.unescape(f"&#{number};")) for number in range(0x80, 0xA0)]
    return Entities(table, starts, stops, texts.data, np.array(windows, np.uint32))


CUT = "…"  # marks the side where a character n-gram was cut from its word


class Offsets:
    """The text of analysed bytes, and where it is in the original text.

    ``words`` were found in ``cleaned``, whose byte ``i`` was byte ``origin[i]`` of the text.
    """

    def __init__(self, text: str, words: scan.Words, cleaned: Buffers, origin: Any) -> None:
        begins_character = (one_buffer(text).data & 0xC0) != 0x80
        characters = np.concatenate([[0], np.cumsum(begins_character)])
        origin = origin[: len(cleaned.data) + 1]
        places = np.arange(len(origin))
        if words.data is not cleaned.data:  # a tokenizer does not say where its words are
            places = _search(words, cleaned.data.tobytes())
        self._first = characters[origin[places]]
        ends = origin.copy()  # of the text before each byte: one character may become several bytes
        inside = np.flatnonzero(origin[1:] == origin[:-1]) + 1
        ends[inside] = origin[np.searchsorted(origin, origin[inside], "right")]
        self._last = characters[ends[places]]
        self._raw = words.data.tobytes()
        self._starts = set(words.starts.tolist())
        self._stops = set(words.stops.tolist())

    def __call__(self, start: int, stop: int) -> tuple[str, int, int]:
        """Return the text of bytes ``start`` to ``stop``, and its first and last character."""
        shown = " ".join(decoded(self._raw[start:stop]).lower().split())
        before = "" if start in self._starts else CUT
        after = "" if stop in self._stops else CUT
        return f"{before}{shown}{after}", int(self._first[start]), int(self._last[stop])


def _search(words: scan.Words, raw: bytes) -> Any:
    """Return the place of each byte of the words in a text that has them in order, ignoring case.

    A word that is not found gets the empty place after the word before it.
    """
    lower = decoded(raw).lower().encode("utf-8", "surrogatepass")
    texts = [raw, lower] if len(lower) == len(raw) else [raw]
    token_data = words.data.tobytes()
    places = np.zeros(len(token_data) + 1, np.int64)
    at = 0
    for start, stop in zip(words.starts.tolist(), words.stops.tolist(), strict=True):
        found = (text.find(token_data[start:stop], at) for text in texts)
        place = min((position for position in found if position >= 0), default=-1)
        if place < 0:
            places[start : stop + 1] = at
        else:
            places[start : stop + 1] = np.arange(place, place + stop - start + 1)
            at = place + stop - start
    return places
