import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Analyzer, Clasher
from clasher.errors import SettingError
from clasher.text.hashing import Hashed, HashedWords, Hasher
from support.reference import plain

WORDS = (
    "oil", "prices", "x1", "économie", "straße", "ёлка", "σοφοσ", "नमस्ते", "한국어", "漢字", "か",
    "😀", "ไท", "a" * 40,
)  # fmt: skip

GOLDEN = {
    (0, 65536): "+43650 +59955 +25547 -28499 -63422 +34137 -54753 "
    "+4366 +55165 -62270 -44829 -2437 +52627 +5402",
    (0, 1000): "+666 +914 +389 -434 -967 +520 -835 +66 +841 -950 -684 -37 +803 +82",
    (1, 65536): "-5290 +9851 +39587 +33701 -46397 -37813 -3504 "
    "-60279 +24201 +44547 -18787 +54961 +53968 -27749",
    (2**63 - 1, 2**20): "-298781 +601401 +931584 -953290 -1022897 -591605 -868716 "
    "+648861 -711272 -920390 +106401 -615662 +87832 +912074",
    (7, 3): "+0 -1 -1 +2 -0 +0 +2 +1 +1 +0 +0 +2 +2 +2",
}
"""(seed, dimensions) → sign and bucket of each word. Models depend on them: never change one."""


@pytest.mark.parametrize(("how", "places"), GOLDEN.items())
def test_the_hash_never_changes(how, places):
    seed, dimensions = how
    hashed = Hasher(dimensions, seed).hash_many(list(WORDS))
    assert hashed.indptr.tolist() == list(range(len(WORDS) + 1))
    signs = np.where(hashed.counts > 0, "+", "-")
    found = [f"{sign}{bucket}" for sign, bucket in zip(signs, hashed.buckets, strict=True)]
    assert found == places.split()


@pytest.mark.parametrize(("seed", "dimensions"), GOLDEN)
def test_the_hash_is_as_documented(seed, dimensions):
    for word in Hasher(dimensions, seed).words(" ".join(WORDS)):
        assert (word.bucket, word.sign) == plain.place(
            word.text.replace("ς", "σ"), seed, dimensions
        )


# ── statistics ───────────────────────────────────────────────────────────────────────────────────

SYLLABLES = [a + b for a, b in product("bdfgklmnprst", "aeiou")]
VOCABULARY = [
    *(f"w{i}" for i in range(100_000)),  # hardly different words are the hard ones
    *(a + b + c for a, b, c in product(SYLLABLES, SYLLABLES, SYLLABLES[:28])),
]


@pytest.fixture(scope="module")
def places():
    """Return the buckets and signs of some 200,000 words, by seed and dimensions."""
    kept = {}

    def of(seed, dimensions):
        if (seed, dimensions) not in kept:
            hashed = Hasher(dimensions, seed).hash_many(VOCABULARY)
            assert len(hashed.buckets) == len(VOCABULARY)
            kept[seed, dimensions] = hashed.buckets.astype(np.int64), hashed.counts
        return kept[seed, dimensions]

    return of


def excess(cells, number):
    """Return by how many standard deviations the χ² of a uniform table is off."""
    counts = np.bincount(cells, minlength=number)
    mean = len(cells) / number
    chi_squared = ((counts - mean) ** 2).sum() / mean
    return (chi_squared - (number - 1)) / np.sqrt(2 * (number - 1))


@pytest.mark.compiled
class TestStatistics:
    @pytest.mark.parametrize("seed", [0, 1, 12345])
    @pytest.mark.parametrize("dimensions", [2, 100, 1024, 10_007, 65536])
    def test_buckets_are_uniform(self, places, seed, dimensions):
        buckets, _ = places(seed, dimensions)
        assert buckets.min() >= 0
        assert buckets.max() < dimensions
        assert abs(excess(buckets, dimensions)) < 5

    @pytest.mark.parametrize("seed", [0, 1, 12345])
    def test_signs_are_balanced(self, places, seed):
        _, signs = places(seed, 1024)
        assert set(signs) == {-1.0, 1.0}
        assert abs(signs.sum()) < 5 * np.sqrt(len(signs))

    @pytest.mark.parametrize("dimensions", [2, 1000, 1024, 16384])
    def test_signs_do_not_depend_on_buckets(self, places, dimensions):
        buckets, signs = places(0, dimensions)
        assert abs(excess(2 * buckets + (signs > 0), 2 * dimensions)) < 5

    def test_seeds_are_independent(self, places):
        (one, one_sign), (other, other_sign) = places(0, 64), places(1, 64)
        assert abs(excess(64 * one + other, 64 * 64)) < 5
        assert abs((one_sign * other_sign).sum()) < 5 * np.sqrt(len(one_sign))


def test_inner_products_are_unbiased():
    """Over seeds, ⟨h(a), h(b)⟩ is ⟨a, b⟩ on average: collisions cancel."""
    a, b = "oil oil gas price market", "oil gas gas wheat corn market"
    seeds = 400
    norms, products = np.empty(seeds), np.empty(seeds)
    for seed in range(seeds):
        x, y = (dense(Hasher(16, seed).hash_one(text), 16) for text in (a, b))
        norms[seed], products[seed] = x @ x, x @ y
    for values, true in ((norms, 4 + 1 + 1 + 1), (products, 2 * 1 + 1 * 2 + 1)):
        assert abs(values.mean() - true) < 4 * values.std() / np.sqrt(seeds)


def dense(hashed, dimensions):
    vector = np.zeros(dimensions)
    vector[hashed.buckets] = hashed.counts
    return vector


def test_words_that_cancel_keep_their_bucket():
    hasher = Hasher(2)
    places = {word: plain.place(word, 0, 2) for word in ("oil", "gas", "corn", "wheat", "tea")}
    pair = next(
        (a, b) for a, b in product(places, places)
        if places[a][0] == places[b][0] and places[a][1] == -places[b][1]
    )  # fmt: skip
    hashed = hasher.hash_one(" ".join(pair))
    assert hashed.counts.tolist() == [0.0]
    assert hashed.buckets.tolist() == [places[pair[0]][0]]


# ── batches and threads ──────────────────────────────────────────────────────────────────────────

documents = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), min_size=1, max_size=12
)


def same(one, other):
    """Tell whether documents have the same buckets and words."""
    arrays = zip(one[:3], other[:3], strict=True)
    return (
        all(np.array_equal(a, b) for a, b in arrays)
        and noted(one) == noted(other)
        and one.analysis == other.analysis
    )


def noted(hashed):
    """Return the text, bucket and key of the words of each document."""
    words = hashed.words
    assert len(words.indptr) == len(hashed.indptr)
    return [
        [
            (
                bytes(words.data[words.starts[i] : words.stops[i]]).decode(
                    "utf-8", "surrogatepass"
                ),
                int(hashed.buckets[hashed.indptr[d] + words.places[i]]),
                int(words.keys[i]),
            )
            for i in range(words.indptr[d], words.indptr[d + 1])
        ]
        for d in range(hashed.documents)
    ]


def joined(parts):
    """Join the parts, without their words."""
    ends = np.cumsum([0] + [part.indptr[-1] for part in parts])
    indptr = [[0], *(p.indptr[1:] + end for p, end in zip(parts, ends, strict=False))]
    return Hashed(
        np.concatenate(indptr),
        np.concatenate([part.buckets for part in parts]),
        np.concatenate([part.counts for part in parts]),
        HashedWords.none(sum(part.documents for part in parts)),
        parts[0].analysis,
    )


@given(documents, st.integers(1, 5), st.booleans())
@settings(max_examples=40)
def test_batches_equal_the_whole(texts, size, ahead):
    hasher = Hasher(64)
    whole = hasher.hash_many(texts)
    parts = list(hasher.batches(whole if ahead else texts, size))
    assert [part.documents for part in parts[:-1]] == [size] * (len(parts) - 1)
    assert same(joined(parts), whole)


def test_batches_may_be_abandoned():
    before = threading.active_count()
    batches = Hasher(64).batches(["oil"] * 10, 2)
    assert next(batches).documents == 2
    batches.close()
    assert threading.active_count() == before


def test_no_documents_give_no_batch():
    assert list(Hasher(64).batches([], 2)) == []


def test_hashed_documents_pass_through():
    hashed = Hasher(64).hash_many(["oil prices"])
    assert Hasher(64).hash_many(hashed) is hashed


def test_threads_do_not_disturb_each_other():
    hasher = Hasher(512)
    texts = [[f"{word} {i}{word}" for word in WORDS] for i in range(24)]
    expected = [hasher.hash_many(some) for some in texts]
    with ThreadPoolExecutor(4) as threads:
        assert all(map(same, threads.map(hasher.hash_many, texts), expected))


def test_analyzer_is_used():
    texts = ["a bb ccc"]
    assert len(Hasher(512, analyzer=Analyzer(min_length=1)).hash_many(texts).buckets) == 3
    assert len(Hasher(512, analyzer=Analyzer(min_length=3)).hash_many(texts).buckets) == 1


@pytest.mark.parametrize("bucket", [64, 5000, -1])
def test_documents_hashed_for_other_dimensions_are_refused(bucket):
    model = Clasher(64, max_labels=2)
    hashed = model.hash_many(["oil"])._replace(buckets=np.array([bucket], np.int32))
    for use in (model.predict_many, model.probabilities_many, model.observe_many):
        with pytest.raises(SettingError, match="hashed to more than 64 dimensions"):
            use(hashed)
    with pytest.raises(SettingError, match="with the same settings"):
        model.learn_many(hashed, [{"oil"}])
    assert model.documents == 0


@pytest.mark.parametrize(
    "other",
    [
        Hasher(63),
        Hasher(65),
        Hasher(64, seed=1),
        Hasher(64, analyzer=Analyzer(min_length=3)),
    ],
)
def test_documents_hashed_with_other_settings_are_refused(other):
    model = Clasher(64, max_labels=2)
    with pytest.raises(SettingError, match="hash them with hash_many of this model"):
        model.observe_many(other.hash_many(["oil prices"]))
    assert model.documents == 0


# ── the words behind the buckets ─────────────────────────────────────────────────────────────────


def distinct(text, dimensions):
    """Return the distinct words of a document, with bucket and key."""
    found = {}
    for word, start, stop in plain.words(text):
        bucket = plain.place(word, 0, dimensions)[0]
        found.setdefault(word, (text[start:stop], bucket, plain.key(word, 0)))
    return list(found.values())


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=6),
       st.sampled_from([2, 7, 512]))  # fmt: skip
@settings(max_examples=60)
def test_kept_words_are_the_distinct_ones_of_each_document(texts, dimensions):
    kept = Hasher(dimensions, keep_words=True).hash_many(texts)
    assert noted(kept) == [distinct(text, dimensions) for text in texts]
    assert same(
        kept._replace(words=HashedWords.none(len(texts))), Hasher(dimensions).hash_many(texts)
    )


@given(documents, st.integers(1, 5))
@settings(max_examples=30)
def test_parts_have_their_own_words(texts, size):
    hasher = Hasher(64, keep_words=True)
    whole = hasher.hash_many(texts)
    for source in (whole, texts):
        parts = list(hasher.batches(source, size))
        assert [words for part in parts for words in noted(part)] == noted(whole)


def test_words_are_not_kept_by_default():
    hashed = Hasher(64).hash_many(["oil prices", "gas"])
    assert hashed.words.indptr.tolist() == [0, 0, 0]
    assert not any(len(array) for array in hashed.words[1:])
    assert hashed.part(1, 2).words.indptr.tolist() == [0, 0]


def test_documents_without_words_are_refused_by_a_model_that_needs_them():
    hasher = Hasher(64, keep_words=True)
    with pytest.raises(SettingError, match="hashed without their words, which this model needs"):
        next(hasher.batches(Hasher(64).hash_many(["oil"]), 1))
    assert next(hasher.batches(Hasher(64).hash_many([""]), 1)).documents == 1


@pytest.mark.parametrize("room", [3, 4096])
def test_words_are_distinct_across_buffers(monkeypatch, room):
    monkeypatch.setattr("clasher.text.hashing.WORD_BUFFER", room)
    text = "oil gas oil corn tea gas oil 漢字漢字 corn"
    assert noted(Hasher(512, keep_words=True).hash_one(text)) == [distinct(text, 512)]
