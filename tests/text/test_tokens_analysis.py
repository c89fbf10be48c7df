"""Each step of the analysis compared with plain Python, and all of them together."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clasher import Analyzer, Clasher
from clasher.errors import TextError
from clasher.kernels.markup import strip_addresses, strip_markup
from clasher.kernels.scan import fold_documents, hash_texts, scan_documents
from clasher.text import tokens
from clasher.text.hashing import HashedWords, Hasher
from support.reference import analysis as plain_analysis
from support.reference import plain
from tests.text.test_hashing import noted, same
from tests.text.test_tokens import texts

EXAMPLES = settings(max_examples=40 if numba.config.DISABLE_JIT else 200)


try:
    import Stemmer
except ImportError:
    LANGUAGES = ["english"]
else:
    LANGUAGES = Stemmer.algorithms()


def found(text, analyzer, dimensions=1000):
    return [
        (word.start, word.stop, word.bucket, word.sign)
        for word in Hasher(dimensions, analyzer=analyzer).words(text)
    ]


def expected(text, analyzer, dimensions=1000):
    found = []
    for key, start, stop, weight in plain_analysis.features(text, analyzer):
        bucket, sign = plain.place_of(key, dimensions)
        found.append((start, stop, bucket, weight * sign))
    return found


def agrees(text, analyzer):
    """Compare the analysis of a text, alone and in a batch, with plain Python."""
    assert found(text, analyzer) == expected(text, analyzer)
    hashed = Hasher(512, 3, analyzer).hash_many(["", text, "oil"]).part(1, 2)
    counts = plain_analysis.hashed(text, analyzer, 512, seed=3)
    assert hashed.buckets.tolist() == list(counts)
    assert hashed.counts.tolist() == list(counts.values())


words = st.lists(
    st.sampled_from(
        [
            "oil", "oils", "prices", "Pricing", "price's", "running", "RUN", "1987", "x1", "٣٤",
            "l'économie", "Straße", "ΣΟΦΟΣ", "漢字", "か", "😀", "the", "of", "don't", "İstanbul",
        ]
    ),
    max_size=10,
).map(" ".join)  # fmt: skip
analyzers = st.builds(
    Analyzer,
    st.integers(1, 3),
    stop_words=st.none() | st.just(("the", "of", "don't", "1987", "漢字")),
    ngrams=st.sampled_from([1, 2, 3, (2, 2), (2, 4)]),
    char_ngrams=st.sampled_from([None, (2, 3), (3, 5), (4, 4)]),
    fold_numbers=st.booleans(),
)


@given(words | texts, analyzers)
@EXAMPLES
def test_every_step_is_that_of_plain_python(text, analyzer):
    agrees(text, analyzer)


@given(words | texts)
@example("Oils, pricing; running: the ΣΟΦΟΣ's price")
@EXAMPLES
def test_stems(stemmers, text):
    agrees(text, Analyzer(1, stemmer="english"))
    agrees(text, Analyzer(stop_words=["the", "of"], stemmer="porter", ngrams=2, fold_numbers=True))


SAMPLES = {
    "arabic": "الكتاب الكتب كتابها",
    "greek": "ΣΟΦΟΣ σοφός σοφοί ανθρώπων",
    "hindi": "लड़कियाँ किताबों किताब",
    "russian": "книги книгами ёлка Ёлки",
    "tamil": "புத்தகங்கள் புத்தகம்",
    "armenian": "գրքերը գիրք",
    "persian": "کتاب‌ها کتابی",
    "yiddish": "ביכער בוך",
    "turkish": "İstanbul'da kitaplarımız KITAP",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_of_the_stemmers(stemmers, language):
    text = SAMPLES.get(language, "") + " Häuser nations houses maisons niños 2026 running ☂"
    agrees(text, Analyzer(stemmer=language))


def test_stems_join_the_forms_of_a_word(stemmers):
    hasher = Hasher(2**20, analyzer=Analyzer(stemmer="english"))
    one, other, another = (
        hasher.hash_one(text).buckets.tolist()
        for text in ("oil price rises", "Oils priced, RISING", "gas price rises")
    )
    assert one == other != another


@pytest.mark.parametrize("places", [1, 2, 8])
def test_stems_do_not_depend_on_the_cache(stemmers, monkeypatch, places):
    """A tiny cache gives the same stems as a large one."""
    texts = ["oils oil pricing", "running prices runs", "oil runs prices oils", "gas gases"] * 3
    large = Hasher(512, analyzer=Analyzer(stemmer="english"))
    monkeypatch.setattr(tokens, "STEMS", places)
    small = Hasher(512, analyzer=Analyzer(stemmer="english"))
    expected = [large.hash_one(text) for text in texts]
    for _ in range(2):
        assert all(same(small.hash_one(a), b) for a, b in zip(texts, expected, strict=True))
        assert same(small.hash_many(texts), large.hash_many(texts))


def test_threads_may_share_stems(stemmers, monkeypatch):
    monkeypatch.setattr(tokens, "STEMS", 4)
    hasher = Hasher(512, analyzer=Analyzer(stemmer="english"))
    stems = ["oil", "gas", "corn", "run", "price"]
    texts = [[f"{word}s {word}ing w{i}s" for word in stems] for i in range(24)]
    expected = [hasher.hash_many(some) for some in texts]
    with ThreadPoolExecutor(4) as threads:
        assert all(map(same, threads.map(hasher.hash_many, texts), expected))


def test_stop_words_of_a_language(stop_lists):
    hasher = Hasher(512, analyzer=Analyzer(stop_words="english"))
    shown = [word.text for word in hasher.words("The oil isn't of the earth; DON'T")]
    assert shown == ["oil", "earth"]


@pytest.mark.parametrize(
    "language", ["arabic", "chinese", "french", "german", "hindi", "russian", "vietnamese"]
)
def test_lists_hold_single_words(stop_lists, language):
    listed = Analyzer(stop_words=language).stopped
    assert len(listed) > 50
    assert all(word.split() == [word] for word in listed)
    left = Hasher(512, analyzer=Analyzer(1, stop_words=language)).words("\n".join(listed))
    assert [word.text for word in left] == []


def test_n_grams_do_not_cross_documents():
    hasher = Hasher(2**20, analyzer=Analyzer(ngrams=(2, 2)))
    assert np.diff(hasher.hash_many(["oil", "gas price", "", "a b c"]).indptr).tolist() == [
        0,
        1,
        0,
        0,
    ]


GOLDEN = {
    ((2, 3), None, 0, 65536): "+860 -25684 +21312 -18370 +58286",
    ((2, 3), None, 7, 1000): "+375 -749 -90 +314 -335",
    (0, (2, 4), 0, 65536): "+24058 +60406 +42556 -17184 -63483 -16582 -59711 -6779 -26996 -28660 "
    "+24625 +36921 +64441 +47694 +28569 -60060 -26814 -62189 -34439 -50655 -64761",
    (0, (2, 4), 7, 1000): "-748 -74 -482 +44 -662 +644 +865 -946 +434 -26 +956 +213 +649 -722 +879 "
    "-519 -751 -641 -853 -644 -553",
}
"""n-grams, seed, dimensions → sign and bucket of each. Models depend on them: never change one."""


@pytest.mark.parametrize(("how", "places"), GOLDEN.items())
def test_the_hash_of_n_grams_never_changes(how, places):
    ngrams, char_ngrams, seed, dimensions = how
    hasher = Hasher(dimensions, seed, Analyzer(ngrams=ngrams, char_ngrams=char_ngrams))
    found = [f"{'+' if w.sign > 0 else '-'}{w.bucket}" for w in hasher.words("Öl 漢字 x1 ☂")]
    assert found == places.split()


def test_order_matters_to_n_grams():
    hasher = Hasher(2**20, analyzer=Analyzer(ngrams=(2, 2)))
    assert (
        hasher.hash_one("oil price").buckets.tolist()
        != hasher.hash_one("price oil").buckets.tolist()
    )


def test_explanations_show_what_is_written(stemmers):
    analyzer = Analyzer(stop_words=["of", "the"], stemmer="english", ngrams=2, char_ngrams=(4, 4))
    shown = [word.text for word in Hasher(512, analyzer=analyzer).words("The Bank of\nEngland's")]
    assert shown == [
        "bank", "ban…", "bank", "…ank",
        "england", "bank of england", "eng…", "engl…", "…ngla…", "…glan…", "…land", "…and",
    ]  # fmt: skip


# ── marks and pairs ──────────────────────────────────────────────────────────────────────────────


@given(texts, st.sampled_from([0, 1, 2, 5, 1000]), st.booleans(), st.integers(1, 3))
@example("What?! No 小麦, no ☂ for you!", 1000, True, 1)
def test_marks_and_pairs_are_those_of_the_plain_rule(text, pairs, marks, least):
    agrees(text, Analyzer(least, marks=marks, pairs=pairs))
    agrees(text, Analyzer(least, marks=marks, pairs=pairs, char_ngrams=(3, 3)))
    agrees(text, Analyzer(least, marks=marks, pairs=pairs, stop_words=["a", "oil"]))


def test_short_texts_give_pairs_too():
    hasher = Hasher(2**20, analyzer=Analyzer(pairs=4))
    assert [(w.text, abs(w.sign)) for w in hasher.words("Not good, sir")] == [
        ("not", 1), ("good", 1), ("sir", 1), ("not good", 0.5), ("good, sir", 0.5),
    ]  # fmt: skip
    assert [word.text for word in hasher.words("not good at all")] == ["not", "good", "at", "all"]
    assert [abs(count) for count in hasher.hash_one("oil oil gas").counts] == [2, 1, 0.5, 0.5]


def test_pairs_are_kept_as_words():
    hashed = Hasher(2**20, analyzer=Analyzer.rich(), keep_words=True).hash_one("I see!")
    words = hashed.words
    shown = [
        bytes(words.data[a:b]).decode() for a, b in zip(words.starts, words.stops, strict=True)
    ]
    assert shown == ["I", "see", "!", "I see", "see!"]
    assert hashed.words.places.tolist() == [0, 1, 2, 3, 4]


def test_n_grams_of_words_exclude_pairs():
    plain_pairs = Hasher(2**20, analyzer=Analyzer(ngrams=2)).hash_one("oil and gas")
    both = Hasher(2**20, analyzer=Analyzer(ngrams=2, pairs=40)).hash_one("oil and gas")
    assert both.counts.tolist() == plain_pairs.counts.tolist()


def test_there_is_room_for_a_text_of_marks():
    for keep in (False, True):
        hasher = Hasher(64, analyzer=Analyzer.rich(), keep_words=keep)
        assert hasher.hash_many(["a!" * 3000, "!a?b" * 9]).documents == 2


# ── functions of your own ────────────────────────────────────────────────────────────────────────


def as_built_in(text):
    """Cut text like the built-in scan."""
    return [word for word, *_ in plain.words(text)]


def on_blanks(text):
    return text.split()


def numbers(text):
    return [1, 2]


HOW = ({}, {"ngrams": 2, "stop_words": ("of",)}, {"fold_numbers": True, "char_ngrams": (2, 3)})


@given(st.lists(words | texts, max_size=4), st.sampled_from(HOW))
@EXAMPLES
def test_a_tokenizer_that_finds_the_same_words_gives_the_same_buckets(texts, how):
    for keep in (False, True):
        own = Hasher(256, 0, Analyzer(tokenizer=as_built_in, **how), keep).hash_many(texts)
        built_in = Hasher(256, 0, Analyzer(**how), keep).hash_many(texts)
        for mine, expected in zip(own[:3], built_in[:3], strict=True):
            assert np.array_equal(mine, expected)
        assert np.array_equal(own.words.keys, built_in.words.keys)
        assert np.array_equal(own.words.places, built_in.words.places)


def test_words_of_a_tokenizer_are_stemmed(stemmers):
    one, other = (
        Hasher(256, analyzer=Analyzer(stemmer="english", tokenizer=tokenizer)).hash_many(
            ["Oil prices"]
        )
        for tokenizer in (None, as_built_in)
    )
    assert one.buckets.tolist() == other.buckets.tolist()


def odd(text):
    return ["two\nlines", "nul\0s", "lone\ud800s", "\u200bs", " ", "", "runs", *text.split()]


ODD_STEMS = ["two\nlin", "nul\0", "lone", "\u200bs", " ", "run", "oil"]


def test_stems_of_odd_words(stemmers):
    """A tokenizer may return anything; stems have no lone surrogates."""
    hasher = Hasher(2**20, analyzer=Analyzer(stemmer="english", tokenizer=odd))
    places = [plain.place(word, 0, 2**20) for word in ODD_STEMS]
    hashed = hasher.hash_one("oils")
    assert (
        list(zip(hashed.buckets.tolist(), hashed.counts.astype(int).tolist(), strict=True))
        == places
    )


def test_words_of_a_tokenizer_are_taken_as_they_are():
    hasher = Hasher(2**20, analyzer=Analyzer(tokenizer=on_blanks))
    text = "Re-use re-use C++ c++ x"
    assert len(hasher.hash_one(text).buckets) == 5
    assert [text[word.start : word.stop] for word in hasher.words(text)] == text.split()


def shouting(text):
    return [word.upper() for word in text.split()] + ["made up"]


def test_words_of_a_tokenizer_are_found_in_the_text():
    text = "Öl und gas"
    words_ = Hasher(64, analyzer=Analyzer(tokenizer=shouting)).words(text)
    assert [(word.text, text[word.start : word.stop]) for word in words_] == [
        ("öl", ""), ("und", ""), ("gas", ""), ("made up", "")
    ]  # fmt: skip
    words_ = Hasher(64, analyzer=Analyzer(tokenizer=as_built_in)).words("Öl  UND gas")
    assert [(word.start, word.stop) for word in words_] == [(0, 2), (4, 7), (8, 11)]


def test_a_tokenizer_must_return_text():
    model = Clasher(64, analyzer=Analyzer(tokenizer=numbers))
    with pytest.raises(
        TextError, match=r"test_tokens_analysis:numbers must give words as text \(str\)\. Got int"
    ):
        model.learn_many(["oil"], [{"oil"}])


def test_a_tokenizer_may_find_nothing():
    hashed = Hasher(64, analyzer=Analyzer(tokenizer=on_blanks), keep_words=True).hash_many(
        ["", " "]
    )
    assert hashed.indptr.tolist() == [0, 0, 0]


# ── what all of them promise ─────────────────────────────────────────────────────────────────────

ALL = partial(
    Analyzer, stop_words=["the"], ngrams=3, char_ngrams=(2, 4), strip_html=True, strip_urls=True,
    fold_numbers=True,
)  # fmt: skip
documents = st.lists(
    words | texts | st.sampled_from(["<b>Oil</b> &amp; g&auml;s", "see http://x.y/z?a=1 <now>"]),
    min_size=1, max_size=6,
)  # fmt: skip


@given(documents, st.integers(1, 3), st.booleans())
@EXAMPLES
def test_batches_do_not_matter(texts, size, keep):
    hasher = Hasher(128, analyzer=ALL(), keep_words=keep)
    whole = hasher.hash_many(texts)
    for source in (texts, whole):
        at = 0
        for part in hasher.batches(source, size):
            assert same(part, whole.part(at, at + part.documents))
            at += part.documents
    for at, text in enumerate(texts):
        assert same(hasher.hash_one(text), whole.part(at, at + 1))


@given(documents, st.sampled_from([12, 13, 4096]))
@EXAMPLES
def test_the_size_of_the_buffer_does_not_matter(texts, room):
    expected = Hasher(128, analyzer=ALL(), keep_words=True).hash_many(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clasher.text.hashing.WORD_BUFFER", room)
        assert same(Hasher(128, analyzer=ALL(), keep_words=True).hash_many(texts), expected)


@given(words | texts, analyzers)
@EXAMPLES
def test_kept_words_are_the_distinct_ones(text, analyzer):
    hashed = Hasher(64, analyzer=analyzer, keep_words=True).hash_many([text])
    distinct = {}
    for feature in plain_analysis.features(text, analyzer):
        distinct.setdefault(feature.key, text[feature.start : feature.stop])
    assert [(shown, key) for shown, _, key in noted(hashed)[0]] == [
        (shown, key) for key, shown in distinct.items()
    ]
    without = Hasher(64, analyzer=analyzer).hash_many([text])
    assert same(hashed._replace(words=HashedWords.none(1)), without)


@pytest.mark.compiled
def test_kernels_are_compiled_once(stemmers):
    """For every source of text and every step before."""
    columns = ([], ["oil prices"], pa.array(["oil", "gas"])[1:], pa.chunked_array([["a"]]))
    for how in ({}, {"strip_html": True}, {"tokenizer": on_blanks}, {"strip_urls": True}):
        for column in columns:
            Hasher(64, analyzer=Analyzer(stemmer="english", ngrams=2, **how)).hash_many(column)
    kernels = (fold_documents, scan_documents, hash_texts, strip_markup, strip_addresses)
    assert [len(kernel.compiled.signatures) for kernel in kernels] == [1, 1, 1, 1, 1]


def test_there_is_room_for_a_long_word():
    text = "ab" * 6000
    analyzer = Analyzer(char_ngrams=(2, 10))
    hashed = Hasher(2**16, analyzer=analyzer).hash_one(text)
    assert dict(zip(hashed.buckets.tolist(), hashed.counts.tolist(), strict=True)) == (
        plain_analysis.hashed(text, analyzer, 2**16)
    )
