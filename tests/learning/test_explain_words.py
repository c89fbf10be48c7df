"""The words behind buckets, against a vote in plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Analyzer, Clasher
from clasher.errors import LabelError, SettingError
from clasher.kernels.scan import LONGEST
from clasher.learning import memory
from support.reference import plain
from tests.models import LABELS, RULES, TEXTS, dense, state_bytes, taught

WORDS = ["oil", "gas", "corn", "wheat", "tea", "漢字", "x1", "straße"]
streams = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=25)


def observing(texts, dimensions=2):
    model = Clasher(dimensions, max_labels=2, words=True, analyzer=Analyzer())
    model.observe_many(texts)
    return model


def votes(texts, dimensions):
    """Return the word of each bucket and its remaining votes, by the plain rule."""
    kept = {}
    for text in texts:
        for word in dict.fromkeys(word for word, *_ in plain.words(text)):
            bucket, _ = plain.place(word, 0, dimensions)
            holder, left = kept.get(bucket, (None, 0))
            if holder == word:
                kept[bucket] = word, left + 1
            elif left > 0:
                kept[bucket] = holder, left - 1
            else:
                kept[bucket] = word, 1
    return kept


def majority(texts, dimensions):
    """Return the word that makes up more than half of each bucket."""
    found = {}
    for word in (word for text in texts for word in {word for word, *_ in plain.words(text)}):
        found.setdefault(plain.place(word, 0, dimensions)[0], Counter())[word] += 1
    best = {bucket: words.most_common(1)[0] for bucket, words in found.items()}
    return {b: w for b, (w, count) in best.items() if 2 * count > found[b].total()}


@given(streams, st.sampled_from([2, 3, 64]))
@settings(max_examples=60)
def test_votes_are_those_of_the_plain_rule(texts, dimensions):
    model = observing(texts, dimensions)
    expected = votes(texts, dimensions)
    for bucket in range(dimensions):
        word, left = expected.get(bucket, (None, 0))
        assert model.word_of(bucket) == word
        assert model.state.word_votes[bucket] == left


@given(streams, st.integers(0, 25))
@settings(max_examples=60)
def test_a_majority_word_is_kept(texts, cut):
    """In one model, and in a merged one."""
    whole, part = observing(texts), observing(texts[:cut])
    part.merge(observing(texts[cut:]))
    for bucket, word in majority(texts, 2).items():
        assert whole.word_of(bucket) == word
        assert part.word_of(bucket) == word


@given(st.lists(streams, min_size=1, max_size=4))
@settings(max_examples=30)
def test_many_merged_parts_keep_a_majority_word(parts):
    merged = observing([])
    for texts in parts:
        merged.merge(observing(texts))
    for bucket, word in majority([text for texts in parts for text in texts], 2).items():
        assert merged.word_of(bucket) == word


def test_merging_the_same_word_adds():
    one, other = observing(["oil", "oil"], 64), observing(["oil"], 64)
    one.merge(other)
    assert one.state.word_votes[plain.place("oil", 0, 64)[0]] == 3


def test_models_with_and_without_words_do_not_merge():
    with pytest.raises(SettingError, match="words is True here and False there"):
        observing(["oil"]).merge(Clasher(2, max_labels=2))


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("Oil", "oil"),
        ("a" * LONGEST, "a" * LONGEST),
        ("a" * 25, "a" * 24),
        ("é" * 13, "é" * 12),
        ("a" + "é" * 12, "a" + "é" * 11),
        ("a" * 23 + "é", "a" * 23),
        ("한국어" * 5, ("한국어" * 5)[:8]),
    ],
)
def test_long_words_are_cut_between_characters(word, kept):
    assert observing([word]).word_of(plain.place(word.lower(), 0, 2)[0]) == kept


def test_words_are_those_of_the_analysis():
    analyzer = Analyzer(ngrams=(2, 2), strip_html=True, stop_words=["of"])
    model = Clasher(2, max_labels=2, words=True, analyzer=analyzer)
    model.observe("Bank <b>of</b>\n England")
    assert {model.word_of(0), model.word_of(1)} == {None, "bank of england"}


# ── the words of a label ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", ["margin", "centroid", "perceptron"])
def test_labels_are_about_their_words(rule):
    model = Clasher(4096, rule=rule, max_labels=8, words=True)
    for _ in range(5):
        model.learn_many(
            ["wheat and corn", "gold and silver", "nothing of note"], [{"grain"}, {"metal"}, set()]
        )
    for label, words in {"grain": {"wheat", "corn"}, "metal": {"gold", "silver"}}.items():
        found = model.top_words(label, 2)
        assert {word for word, _ in found} == words
        assert all(weight > 0 for _, weight in found)
        assert found == sorted(found, key=lambda pair: -pair.weight)
    assert model.top_words("grain", 1) == model.top_words("grain")[:1]


@pytest.mark.parametrize(
    "how",
    [{}, {"weighting": "tf"}, {"weighting": "icf"}, {"depth": 2}, {"half_life": 10.0}],
    ids=str,
)
@pytest.mark.parametrize("rule", ["perceptron", "centroid", "mistake"])
def test_weights_are_those_of_a_document_of_one_word(rule, how):
    model = taught(rule, dimensions=4096, words=True, **how)
    compared = 0
    for label in model.labels:
        for word, weight in model.top_words(label, 3):
            explanation = model.explain(word, label)
            if rule == "perceptron" or explanation.region == label:
                assert weight == pytest.approx(explanation.words[0].evidence, rel=1e-5)
                compared += 1
    assert compared >= 3


def test_weights_of_the_margin_rule_hold_both_layers():
    model = taught("margin", dimensions=4096, words=True)
    state = dense(model)
    for word, weight in model.top_words("oil", 3):
        bucket, sign = plain.place(word, 0, 4096)
        prototype, linear = state.rows[bucket, :, 0].astype(np.float64)
        share = sign * (linear + state.shared[0, 0] * prototype * state.scales[0]) * state.odds[1]
        assert weight == pytest.approx(share, rel=1e-6)
    assert model.labels[0] == "oil"


def test_a_model_without_words_says_what_to_do():
    model = taught()
    message = r"keeps no words; make it with Clasher\(words=True\), or clasher learn --words"
    with pytest.raises(SettingError, match=message):
        model.top_words("oil")
    with pytest.raises(SettingError, match=message):
        model.word_of(0)


def test_bad_arguments_are_refused():
    model = taught(words=True)
    with pytest.raises(LabelError, match="knows no label 'oill'; did you mean 'oil'"):
        model.top_words("oill")
    for n in (0, -1, 2.0, True):
        with pytest.raises(SettingError, match="'n' parameter of top_words must be an integer fr"):
            model.top_words("oil", n)
    for bucket in (-1, 128):
        with pytest.raises(SettingError, match="'bucket' parameter of word_of must be from 0 to 1"):
            model.word_of(bucket)
    assert Clasher(4, words=True).word_of(3) is None


# ── part of the state ────────────────────────────────────────────────────────────────────────────


NAMES = ("word_keys", "word_votes", "words")


def arrays(model, of_words):
    """The arrays of a model that hold words, or all the others."""
    state = memory.contents(model.state)
    return {k: array.tobytes() for k, array in state.items() if (k in NAMES) is of_words}


@pytest.mark.parametrize("rule", RULES)
def test_words_change_nothing_else(rule):
    with_words, without = taught(rule, words=True), taught(rule)
    assert arrays(with_words, of_words=False) == arrays(without, of_words=False)
    assert with_words.nbytes == without.nbytes + 128 * (8 + 8 + LONGEST)
    assert with_words.max_nbytes == without.max_nbytes + 128 * (8 + 8 + LONGEST)


def test_words_take_no_more_memory_however_many_there_are():
    model = Clasher(16, max_labels=4, words=True)
    for batch in range(20):
        model.learn_many([f"w{batch}x{i} y{i}z{batch}" for i in range(30)], [{"a"}] * 30)
    assert model.nbytes <= model.max_nbytes


@pytest.mark.parametrize("cut", [1, 3, 7])
def test_batches_do_not_matter(cut):
    whole, parts = taught(words=True, times=1), Clasher(128, max_labels=8, words=True)
    for start in range(0, len(TEXTS), cut):
        part = slice(start, start + cut)
        parts.learn_many(parts.hash_many(TEXTS[part]), LABELS[part])
    assert state_bytes(parts) == state_bytes(whole)


def test_words_are_kept_while_labels_are_evicted():
    small = Clasher(128, max_labels=3, on_full="evict", words=True)
    small.learn_many(TEXTS, LABELS)
    plenty = taught(words=True, times=1)
    assert arrays(small, of_words=True) == arrays(plenty, of_words=True)


def test_words_are_in_the_model_file(tmp_path):
    model = taught(words=True)
    model.save(tmp_path / "model")
    again = Clasher.load(tmp_path / "model")
    assert again.top_words("oil") == model.top_words("oil")
    again.learn_many(TEXTS, LABELS)
    model.learn_many(TEXTS, LABELS)
    assert state_bytes(again) == state_bytes(model)


def test_documents_without_words_are_refused():
    model = Clasher(128, max_labels=8, words=True)
    with pytest.raises(SettingError, match="hashed without their words"):
        model.learn_many(Clasher(128).hash_many(["oil"]), [{"oil"}])
