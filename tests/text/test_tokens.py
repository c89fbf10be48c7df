import subprocess
import sys
import unicodedata
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clasher import Analyzer, Clasher
from clasher.errors import SettingError
from clasher.kernels.scan import KIND, LETTER, SYMBOL, scan
from clasher.text import tokens
from clasher.text.hashing import WORD_BUFFER, Hasher
from clasher.text.tokens import code_points, one_buffer
from support.reference import plain

EXAMPLES = settings(max_examples=60 if numba.config.DISABLE_JIT else 300)

scripts = st.sampled_from(
    "aZ9 éß\u0301\u0130ıΣσς漢字々〇〆ひらカタカナーｶﾀ\u3099ไทยລາວខ្មមြ བོད ㄅ"
    "☂😀❤©\ufe0f\u200d#_-.\0\ud800\udfff"
)
TABLE = code_points()

texts = st.text(
    st.one_of(scripts, st.characters(exclude_categories=())).filter(plain.is_settled), max_size=40
)


def found(text, min_length=2):
    """Return the words of a text, with their places and buckets."""
    hasher = Hasher(1000, analyzer=Analyzer(min_length))
    return [(word.start, word.stop, word.bucket, word.sign) for word in hasher.words(text)]


def expected(text, min_length=2):
    return [
        (start, stop, *plain.place(word, 0, 1000))
        for word, start, stop in plain.words(text, min_length)
    ]


@given(texts, st.integers(1, 3))
@example("a©b©c☂d", 1)  # as many words as so few bytes can hold
@EXAMPLES
def test_words_are_those_of_the_plain_tokenizer(text, min_length):
    assert found(text, min_length) == expected(text, min_length)


@given(st.lists(texts, max_size=5), st.integers(1, 3), st.sampled_from([2, 7, 1000]))
@EXAMPLES
def test_signed_counts_are_those_of_the_plain_tokenizer(documents, min_length, dimensions):
    hashed = Hasher(dimensions, seed=3, analyzer=Analyzer(min_length)).hash_many(documents)
    assert hashed.documents == len(documents)
    for d, text in enumerate(documents):
        own = slice(hashed.indptr[d], hashed.indptr[d + 1])
        counts = plain.hashed(text, 3, dimensions, min_length)
        assert hashed.buckets[own].tolist() == list(counts)
        assert hashed.counts[own].tolist() == list(counts.values())


def test_room_suffices_for_the_densest_text():
    """One-byte words and two-byte symbols alternate: two words in three bytes."""
    symbols = [chr(c) for c in range(0x80, 0x800) if TABLE[c] >> KIND == SYMBOL]
    letters = "abcdefghijklmnopqrstuvwxyz"[: len(symbols)]
    text = "".join(a + b for a, b in zip(letters, symbols, strict=True)) + "z"
    hashed = Hasher(2**20, analyzer=Analyzer(1)).hash_one(text)
    assert len(hashed.buckets) == 2 * len(symbols) + 1 == (2 * len(text.encode()) + 2) // 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Oil prices rose 5% to $70.20", ["oil", "prices", "rose", "to", "70", "20"]),
        ("don't re-use snake_case", ["don", "re", "use", "snake", "case"]),
        ("Straße ŒUVRE Ёлка", ["straße", "œuvre", "ёлка"]),
        ("ΟΔΟΣ", ["οδος"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("한국어 문장", ["한국어", "문장"]),
        ("漢字かな", ["漢字", "字か", "かな"]),
        ("二〇二四年", ["二〇", "〇二", "二四", "四年"]),
        ("か\u3099く", ["か\u3099", "\u3099く"]),
        ("山", ["山"]),
        ("abc漢字xyz", ["abc", "漢字", "xyz"]),
        ("ไทย", ["ไท", "ทย"]),
        ("😀😀☂", ["😀", "😀", "☂"]),
        ("I ❤\ufe0fyou", ["❤", "you"]),
        ("oil\0gas", ["oil", "gas"]),
        ("oil\ud800gas", ["oil", "gas"]),
        ("a b c", []),
        ("…—!", []),
        ("", []),
    ],
)
def test_words_of(text, words):
    assert [word.text for word in Hasher(64).words(text)] == words


@pytest.mark.parametrize(
    ("one", "other"), [("ΣΟΦΟΣ", "σοφος"), ("σοφος", "σοφοσ"), ("İSTANBUL", "istanbul"), ("Ǆ", "ǆ")]
)
def test_case_does_not_matter(one, other):
    assert [found(one, 1)[0][2:]] == [found(other, 1)[0][2:]]


def test_offsets_count_characters():
    text = "Öl: 漢字 😀 oil"
    assert [text[word.start : word.stop] for word in Hasher(64).words(text)] == [
        "Öl", "漢字", "😀", "oil",
    ]  # fmt: skip


@pytest.mark.parametrize("bad", [0, -1, 1001, 2.0, "2", True, None])
def test_min_length_is_validated(bad):
    with pytest.raises(SettingError, match=r"The 'min_length' parameter of Analyzer must be an in"):
        Analyzer(bad)


# ── bytes of any kind ────────────────────────────────────────────────────────────────────────────


def scanned(data, start, stop, room):
    """Scan ``data[start:stop]`` with buffers of ``room`` words."""
    hashes = np.empty(room, np.uint64)
    starts, stops = np.empty(room, np.int64), np.empty(room, np.int64)
    words, position = [], start
    while position < stop:
        before = position
        count, position = scan(
            data, position, stop, code_points(), 2, np.uint64(7), hashes, starts, stops
        )
        assert count <= room
        assert before < position <= stop
        pairs = zip(hashes[:count], starts[:count], stops[:count], strict=True)
        words += [(int(h), int(a), int(b)) for h, a, b in pairs]
    return words


def bytes_of(data):
    """Return a read-only array, as Arrow does."""
    return np.frombuffer(data, np.uint8)


broken_text = st.one_of(
    st.binary(max_size=40),
    st.lists(
        st.one_of(st.binary(max_size=3), texts.map(lambda t: t.encode("utf-8", "surrogatepass")))
    ).map(b"".join),
)


@given(broken_text, st.sampled_from([b"", b"word", "漢字".encode(), b"\xf0\x9f"]))
@EXAMPLES
def test_any_bytes_are_read_within_their_bounds(data, around):
    """The bytes around a document do not change its words."""
    alone = scanned(bytes_of(data), 0, len(data), 64)
    inside = scanned(bytes_of(around + data + around), len(around), len(around) + len(data), 64)
    assert inside == [(h, a + len(around), b + len(around)) for h, a, b in alone]
    assert all(0 <= a < b <= len(data) for _, a, b in alone)
    assert [a for _, a, _ in alone] == sorted(a for _, a, _ in alone)


@given(broken_text)
@example(b"oil\xc1\xa1gas\xe0\x81\xa1corn\xf0\x80\x81\xa1tea")  # an a, longer than it need be
@example(b"oil\xf4\x90\x80\x80gas\xf8\x88\x80\x80\x80tea\xed\xa0\x80corn")  # beyond Unicode
@EXAMPLES
def test_invalid_bytes_separate_words(data):
    text = data.decode("utf-8", "surrogateescape")
    if all(map(plain.is_settled, text)):
        starts = [a for _, a, _ in scanned(bytes_of(data), 0, len(data), 64)]
        assert starts == [
            len(text[:start].encode("utf-8", "surrogateescape"))
            for _, start, _ in plain.words(text)
        ]


@given(texts, st.integers(1, 4))
@example("ab漢字", 1)
@EXAMPLES
def test_words_do_not_depend_on_the_buffer(text, room):
    data = one_buffer(text).data
    assert scanned(data, 0, len(data), room) == scanned(data, 0, len(data), 64)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_invalid_utf8_in_an_arrow_column(kind):
    broken = b"oil\xffgas\xe4\xbd" + "漢字".encode()[:5]
    width = np.int32 if kind == pa.string() else np.int64
    offsets = np.array([0, len(broken), 2 * len(broken)], width)
    column = pa.Array.from_buffers(
        kind, 2, [None, pa.py_buffer(offsets), pa.py_buffer(broken + broken)]
    )
    hashed = Hasher(1000).hash_many(column)
    one = [plain.place(word, 0, 1000)[0] for word in ("oil", "gas", "漢")]
    assert hashed.buckets.tolist() == one + one


# ── long and empty documents ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"w{i % 977}" for i in range(WORD_BUFFER + 50)),
        "漢字文" * (WORD_BUFFER // 3 + 20),
        "漢字 " * (WORD_BUFFER // 2) + "ab" + "字漢" * (WORD_BUFFER // 2),
        "☂" * (WORD_BUFFER + 1),
        " ".join(["ab"] * WORD_BUFFER),
        " ".join(["ab"] * WORD_BUFFER) + " 漢",
    ],
    ids=["words", "pairs", "mixed", "symbols", "exactly full", "full and one"],
)
def test_documents_longer_than_the_word_buffer(text):
    hashed = Hasher(1000).hash_one(text)
    counts = plain.hashed(text, 0, 1000)
    assert dict(zip(hashed.buckets.tolist(), hashed.counts.tolist(), strict=True)) == counts
    assert len(Hasher(1000).words(text)) == len(plain.words(text))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("unit", "counts"), [("oil gas ", [6_250_000] * 2), ("a", [1]), ("漢字", [8_333_333] * 2)]
)
def test_a_document_of_fifty_megabytes(unit, counts):
    model = Clasher(4096, max_labels=2)
    text = unit * (50_000_000 // len(unit.encode()))
    hashed = model.hash_many([text])
    assert np.abs(hashed.counts).tolist() == pytest.approx(counts, abs=1)
    model.observe("something else")
    model.learn(text, {"long"})
    assert model.predict(text) == {"long"}


@pytest.mark.parametrize("rule", ["margin", "centroid", "mistake", "perceptron"])
@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "!?", "a"])
def test_a_document_without_words(rule, text):
    model = Clasher(64, rule=rule, max_labels=4, analyzer=Analyzer())
    assert model.predict(text) == set()
    for _ in range(3):
        model.learn("wheat and grain", {"grain"})
        model.learn("oil and gas", {"oil"})
        model.learn(text, {"empty"})
        model.learn(text, set())
    assert model.predict(text) == set()
    assert model.documents == 12
    assert model.probabilities(text).keys() == {"grain", "oil", "empty"}
    assert all(0 <= score <= 1 for score in model.probabilities(text).values())


# ── the frozen table ─────────────────────────────────────────────────────────────────────────────


def test_table_agrees_with_the_running_python():
    """A newer Python may know more characters, but does not change the frozen ones."""
    codes = np.flatnonzero(TABLE >> KIND)
    assert len(codes) > 130_000
    for code in codes.tolist():
        assert TABLE[code] >> KIND == plain.kind(chr(code)), hex(code)
        assert TABLE[code] & LETTER == ord(plain.lower(chr(code))), hex(code)


@pytest.mark.skipif(
    unicodedata.unidata_version != tokens.unicode()["version"],
    reason="only the Python whose Unicode was frozen knows what was not assigned then",
)
class TestWithTheFrozenUnicode:
    def test_table_leaves_out_no_character(self):
        words = [c for c in range(plain.LAST + 1) if plain.kind(chr(c)) != plain.SEPARATOR]
        assert words == np.flatnonzero(TABLE >> KIND).tolist()

    def test_tool_writes_the_table(self):
        root = Path(__file__).parents[2]
        tool = subprocess.run(
            [sys.executable, root / "tools" / "unicode_ranges.py"],
            capture_output=True,
            check=True,
            text=True,
        )
        assert tool.stdout == Path(tokens.__file__).with_name("unicode.json").read_text("utf-8")
