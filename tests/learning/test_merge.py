"""Models of parts, merged, against one model of the whole stream."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Clasher, LabelSets
from clasher.errors import LabelCapacityError, SettingError
from clasher.kernels.decay import settle
from clasher.kernels.margin import EVERY, ODDS_START, best_cut, calibrate
from clasher.kernels.regions import COUNT_LIMIT
from clasher.kernels.state import DOCUMENTS, LABELS, SIZE, TOP, Pool, State
from clasher.learning import memory
from clasher.text.analyzer import Analyzer
from support.corpora import synthetic
from tests import strategies
from tests.models import AXES, RULES, TEXTS, UNSEEN, dense, state_bytes, taught
from tests.models import LABELS as TRUTHS

EXAMPLES = settings(max_examples=15 if numba.config.DISABLE_JIT else 60)
every_rule = pytest.mark.parametrize("rule", RULES)
SUMS = ("frequencies", "rows", "counts", "norms", "scales", "together")
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def a_model(rule="centroid", **how):
    return Clasher(**{"dimensions": 16, "max_labels": 8, "rule": rule, **how})


def learnt(stream, rule="centroid", **how):
    model = a_model(rule, **how)
    for words, labels in stream:
        model.learn(strategies.text(words), labels)
    return model


def by_name(model, name):
    """An array of the state in the order of the labels' names; of rows, the sums."""
    array = getattr(dense(model), name)
    order = [model._index.numbers[label] for label in sorted(model.labels)]
    if name == "rows":
        return array[:, 0, order]
    if name == "together":
        return array[np.ix_(order, order)] if array.size else array
    axis = AXES.get(name)
    return array if axis is None or not array.size else np.take(array, order, axis)


def check_same(ours, theirs, names=SUMS, **close):
    assert sorted(ours.labels) == sorted(theirs.labels)
    assert (ours.documents, ours.labelled) == (theirs.documents, theirs.labelled)
    for name in names:
        np.testing.assert_allclose(
            by_name(ours, name), by_name(theirs, name), err_msg=name, **{**CLOSE, **close}
        )


def merged(models):
    first, *rest = models
    for model in rest:
        first.merge(model)
    return first


# Of the other model, errors and latest documents say nothing of this one, gains are all 1, norms
# and scales follow from the sums, and only documents that still wait are taken over.
UNMERGED = {
    "norms", "scales", "gains", "blocks", "all_blocks", "recent_buckets", "recent_x",
    "recent_labels", "floor", "spent",
}  # fmt: skip


def added(mine, other, difference):
    model = mine.copy()
    model._add(other, difference)
    return model


@pytest.mark.parametrize("difference", [False, True])
@pytest.mark.parametrize(
    "name", sorted({*State._fields, *Pool._fields} - {"pool", "free", "layers"})
)
def test_every_array_of_the_other_model_counts(name, difference):
    """Fails if somebody adds an array and does not merge it."""
    how = {"weighting": "chi2", "words": True, "detector": "window", "pending": 4}
    mine, theirs = a_model("margin", **how), taught("margin", dimensions=16, **how)
    mine.learn("silver and copper", {"metal"})
    theirs.observe("wheat and corn", id="d1")
    merged = []
    for change in (0, 1):
        other = theirs.copy()
        if name in memory.HEADS:  # take the cells of a row away
            heads = getattr(other.state, name)
            heads[np.flatnonzero(heads[:, SIZE])[0], SIZE] *= 1 - change
            merged.append(state_bytes(added(mine, other, difference)))
            continue
        pool = other.state.pool
        array = getattr(other.state, name, None)
        array = getattr(pool, name)[: pool.free[TOP]] if array is None else array
        array[(array != array.max()) | (array.size == 1)] += change
        merged.append(state_bytes(added(mine, other, difference)))
    assert (merged[0] == merged[1]) == (name in UNMERGED)


# ── parts and the whole ──────────────────────────────────────────────────────────────────────────


@given(
    strategies.streams(st.one_of(strategies.complete_labels, st.none())),
    st.sampled_from(["count", "log"]),
    st.sampled_from(["l2", "none"]),
    st.data(),
)
@EXAMPLES
def test_parts_merged_are_one_pass(stream, tf, norm, data):
    """With the TF weighting, for any number of parts."""
    how = {"weighting": "tf", "tf": tf, "norm": norm}
    cuts = data.draw(strategies.cuts(len(stream)))
    parts = merged([learnt(stream[cut], **how) for cut in cuts])
    whole = learnt(stream, **how)
    check_same(parts, whole, (*SUMS, "seen"))
    assert parts.labels == whole.labels  # in the same order, too
    np.testing.assert_array_equal(parts.state.totals, whole.state.totals)


@given(
    strategies.streams(strategies.complete_labels, max_size=15),
    st.sampled_from([1.5, 4.0, 100.0]),
    st.data(),
)
@EXAMPLES
def test_parts_that_forget_are_one_pass_too(stream, half_life, data):
    """What came first fades while the other parts pass."""
    how = {"weighting": "tf", "half_life": half_life}
    parts = merged([learnt(stream[cut], **how) for cut in data.draw(strategies.cuts(len(stream)))])
    whole = learnt(stream, **how)
    for model in (parts, whole):
        settle(model.state)
    check_same(parts, whole, (*SUMS, "seen", "clock"))


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_parts_merged_predict_like_one_pass(parts):
    stream = synthetic(240, 10, words=20)
    models = [Clasher(4096, rule="centroid", weighting="tf", max_labels=16) for _ in range(parts)]
    for part, model in enumerate(models):
        inside = slice(200 * part // parts, 200 * (part + 1) // parts)
        model.learn_many(stream.texts[inside], stream.labels[inside])
    whole = Clasher(4096, rule="centroid", weighting="tf", max_labels=16)
    whole.learn_many(stream.texts[:200], stream.labels[:200])
    both = merged(models)
    assert list(both.predict_many(stream.texts)) == list(whole.predict_many(stream.texts))
    np.testing.assert_allclose(
        both.probabilities_many(stream.texts), whole.probabilities_many(stream.texts), rtol=1e-5
    )


@every_rule
@given(st.lists(strategies.streams(max_size=10), min_size=3, max_size=3), strategies.settings())
@EXAMPLES
def test_order_and_grouping_do_not_matter_for_sums(rule, streams, how):
    sums = ("frequencies", "counts", "together") if rule == "perceptron" else SUMS

    def parts():
        return [learnt(stream, rule, **how) for stream in streams]

    a, b, c = parts()
    left = merged([a, b, c])
    a, b, c = parts()
    b.merge(c)
    right = merged([a, b])
    a, b, c = parts()
    turned = merged([c, b, a])
    check_same(left, right, sums)
    check_same(left, turned, sums)


@pytest.mark.parametrize("rule", ["margin", "perceptron"])
@given(strategies.streams(), strategies.streams(), strategies.settings())
@EXAMPLES
def test_weights_do_not_depend_on_who_merges_whom(rule, one, other, how):
    ab, ba = learnt(one, rule, **how), learnt(other, rule, **how)
    ab.merge(learnt(other, rule, **how))
    ba.merge(learnt(one, rule, **how))
    check_same(ab, ba, ("bias", "squares", "shared", "margins", "cut", "bests", "floor"))
    order_ab, order_ba = ([m._index.numbers[x] for x in sorted(m.labels)] for m in (ab, ba))
    np.testing.assert_allclose(
        dense(ab).rows[:, :, order_ab], dense(ba).rows[:, :, order_ba], **CLOSE
    )


@every_rule
def test_a_model_that_learnt_nothing_changes_nothing(rule):
    model = taught(rule)
    before = state_bytes(model)
    model.merge(Clasher(128, rule=rule, max_labels=8))
    assert (state_bytes(model), model.labels) == (before, taught(rule).labels)
    empty = Clasher(128, rule=rule, max_labels=8)
    empty.merge(model)
    assert empty.labels == model.labels
    names = [name for name in State._fields if name not in ("norms", "scales", "pool")]
    for name in names:
        ours, theirs = (getattr(dense(each), name) for each in (empty, model))
        np.testing.assert_allclose(ours, theirs, err_msg=name, rtol=1e-6)
    assert list(empty.predict_many(UNSEEN)) == list(model.predict_many(UNSEEN))


@every_rule
def test_the_other_model_stays_as_it_is(rule):
    model, other = taught(rule), taught(rule, times=1)
    before = state_bytes(other)
    model.merge(other)
    model.learn("something else", {"oil"})
    assert state_bytes(other) == before


@every_rule
def test_a_merged_model_is_saved_loaded_and_learns_on(rule, tmp_path):
    model = taught(rule)
    other = Clasher(128, rule=rule, max_labels=8)
    other.learn_many(["tin and zinc", "zinc mine"], [{"tin", "zinc"}, {"zinc"}])
    model.merge(other)
    model.save(tmp_path / "model")
    loaded = Clasher.load(tmp_path / "model")
    assert state_bytes(loaded) == state_bytes(model)
    for each in (model, loaded):
        each.step_many(TEXTS, TRUTHS)
    assert state_bytes(loaded) == state_bytes(model)
    assert set(model.labels) == {*taught(rule).labels, "tin", "zinc"}


def how_far(state: State, label: int) -> np.ndarray:
    """The roots of the AdaGrad sums of a label: its part of the sum of each bucket."""
    return np.sqrt(state.squares * state.bias[1, label] / state.bias[1].sum())


def test_weights_are_means_by_how_far_they_were_learnt():
    one, other = taught("margin"), Clasher(128, max_labels=8)
    other.learn_many(["oil price", "wheat"], [{"oil"}, {"grain"}])
    before, theirs = dense(taught("margin")), dense(other)
    index = taught("margin")._index
    one.merge(other)
    for label in ("oil", "grain"):
        mine, his = index.numbers[label], other._index.numbers[label]
        weights = before.rows[:, 1, mine], theirs.rows[:, 1, his]
        here = how_far(before, mine) * (weights[0] != 0)
        there = how_far(theirs, his) * (weights[1] != 0)
        total = np.where(here + there > 0, here + there, 1)
        np.testing.assert_allclose(
            dense(one).rows[:, 1, mine],
            (here * weights[0] + there * weights[1]) / total,
            rtol=1e-4, atol=1e-6,
        )  # fmt: skip
    squares = before.squares + theirs.squares
    np.testing.assert_allclose(one.state.squares, squares, rtol=1e-5)
    untouched = index.numbers["gold"]
    np.testing.assert_array_equal(dense(one).rows[:, 1, untouched], before.rows[:, 1, untouched])


def test_the_threshold_is_chosen_from_the_merged_histograms():
    halves = []
    for side in range(2):
        model = Clasher(64, max_labels=4)
        texts = [f"{'oil' if i % 3 else 'wheat'} text {i % 5}" for i in range(EVERY // 2 + 50)]
        labels = [{"oil"} if (i + side) % 3 else {"grain"} for i in range(len(texts))]
        model.learn_many(texts, labels)
        halves.append(model)
    margins = halves[0].state.margins + halves[1].state.margins
    merged(halves)
    np.testing.assert_array_equal(halves[0].state.margins, margins)
    state = halves[0].state
    assert state.cut[0] == best_cut(margins, 0.0)
    odds = np.array(ODDS_START)
    for _ in range(20):
        calibrate(margins, odds)
    np.testing.assert_allclose(state.odds, odds, atol=0.05)


def test_counts_stay_below_the_limit_of_single_precision():
    model, other = taught("centroid"), taught("centroid")
    for each in (model, other):
        each.state.counts[0] = COUNT_LIMIT * 0.75
    model.merge(other)
    assert model.state.counts[0] == COUNT_LIMIT * 0.75
    np.testing.assert_allclose(dense(model).rows[:, 0, 0], dense(other).rows[:, 0, 0], rtol=1e-6)


# ── labels ───────────────────────────────────────────────────────────────────────────────────────


@every_rule
def test_too_many_labels_are_refused_and_nothing_changes(rule):
    model = taught(rule, max_labels=5)
    other = Clasher(128, rule=rule, max_labels=5)
    other.learn("tin and zinc", {"tin", "zinc"})
    before = state_bytes(model)
    with pytest.raises(LabelCapacityError, match="'zinc' would be number 6, and max_labels is 5"):
        model.merge(other)
    assert (state_bytes(model), model.labels) == (before, taught(rule).labels)
    fading, more = (Clasher(64, rule=rule, max_labels=1, half_life=2.0) for _ in range(2))
    fading.learn("oil", {"oil"})
    more.learn("gas", {"gas"})
    before = state_bytes(fading)
    with pytest.raises(LabelCapacityError):
        fading.merge(more)
    assert state_bytes(fading) == before


@every_rule
def test_evicting_models_keep_the_labels_seen_last(rule):
    one = Clasher(64, rule=rule, max_labels=3, on_full="evict")
    other = Clasher(64, rule=rule, max_labels=3, on_full="evict")
    for label in ("a", "b", "c"):
        one.learn(f"about {label}", {label})
    for label in ("d", "a"):
        other.learn(f"about {label}", {label})
    one.merge(other)
    assert set(one.labels) == {"c", "d", "a"}
    assert one.state.totals[LABELS] == 3
    assert one.support["a"] >= 2
    one.learn("about e", {"e"})
    assert set(one.labels) == {"d", "a", "e"}


def test_documents_still_wait_in_the_merged_model():
    one, other = (Clasher(64, max_labels=4, pending=3) for _ in range(2))
    one.observe_many(["oil", "gas"], ["o1", "o2"])
    other.observe_many(["tin", "zinc", "gold", "lead"], ["t1", "t2", "t3", "t4"])
    one.merge(other)
    assert (one.pending, one.dropped, one.documents) == (3, 3, 6)
    one.learn_later("t4", {"metal"})
    assert one.support == {"metal": 1}


# ── what does not merge ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dimensions", 64), ("rule", "centroid"), ("weighting", "tf"), ("similarity", "euclidean"),
        ("tf", "count"), ("norm", "none"), ("threshold", 0.3), ("at_least_one", False),
        ("max_labels", 7), ("on_full", "evict"), ("seed", 5), ("pending", 4),
    ],
)  # fmt: skip
def test_different_settings_are_named(name, value):
    model = Clasher(128, max_labels=8)
    with pytest.raises(SettingError, match=f"settings agree: {name} is .* here and .* there"):
        model.merge(Clasher(**{"dimensions": 128, "max_labels": 8, name: value}))


def test_text_cut_differently_is_named():
    other = Clasher(128, analyzer=Analyzer(min_length=3))
    with pytest.raises(SettingError, match="analyzer's min_length is 1 here and 3 there"):
        Clasher(128).merge(other)


def test_a_model_does_not_merge_with_itself():
    model = taught()
    with pytest.raises(SettingError, match="with itself"):
        model.merge(model)


def test_memory_stays_bounded():
    model = Clasher(32, max_labels=20, pending=5)
    for i in range(30):
        part = Clasher(32, max_labels=20, pending=5)
        part.learn_many([f"word{i}", "text"], [{f"label{i % 20}"}, None])
        part.observe("text", id=i)
        model.merge(part)
        assert model.nbytes <= model.max_nbytes
    assert (len(model.labels), model.pending) == (20, 5)


@pytest.mark.parametrize("weighting", ["tfidf", "icsdf"])
@every_rule
def test_memory_stays_bounded_with_everything_on(rule, weighting):
    """All features together, in any order, take the memory known in advance."""
    everything = {
        "rule": rule, "weighting": weighting, "max_labels": 6, "on_full": "evict", "pending": 8,
        "depth": 2, "words": True, "half_life": 50.0, "detector": "window",
    }  # fmt: skip
    model = Clasher(32, **everything)
    random = np.random.default_rng(7)
    for i in range(60):
        text = " ".join(f"w{n}" for n in random.integers(0, 200, 6))
        labels = {f"l{n}" for n in random.integers(0, 12, 2)}
        model.learn(text, labels)
        model.observe(text, id=i)
        if i % 3 == 0:
            model.learn_later(i, {f"l{i % 12}"})
        if i % 5 == 0 and rule != "mistake":
            model.correct(text, labels, {"l1"})
        if i % 11 == 0:
            model.merge_labels(model.labels[0], model.labels[-1])
        if i % 13 == 0:
            model.retire_label(model.labels[-1])
        if i % 17 == 0:
            other = Clasher(32, **everything)
            other.learn(text, {"l3", "l4"})
            other.observe(text, id=f"other {i}")
            model.merge(other)
        assert model.nbytes <= model.max_nbytes
        assert len(model.labels) <= 6
        assert model.pending <= 8
        assert np.isfinite(dense(model).rows).all()
    assert model.predict("w1 w2") <= set(model.labels)


# ── in threads ───────────────────────────────────────────────────────────────────────────────────


@given(strategies.streams(), strategies.label_free_settings(), st.integers(2, 5))
@EXAMPLES
def test_threads_learn_what_one_learns(stream, how, threads):
    """The centroid rule, with any weighting: also the IDF is that of a single pass."""
    stream = [(words, set(labels or ())) for words, labels in stream]
    texts, labels = [strategies.text(words) for words, _ in stream], [known for _, known in stream]
    one, many = a_model(**how), a_model(**how)
    for model in (one, many):
        model.learn_many(["w1 w2", "w3"], [{"ale"}, {"new"}])
    one.learn_many(texts, labels)
    many.learn_many(texts, labels, threads=threads)
    check_same(many, one, (*SUMS, "seen"))
    assert many.labels == one.labels
    np.testing.assert_array_equal(many.state.totals, one.state.totals)
    for name in ("frequencies", "counts", "together", "seen"):
        np.testing.assert_array_equal(getattr(dense(many), name), getattr(dense(one), name))


@every_rule
def test_threads_give_the_same_every_time(rule):
    models = [taught(rule, times=1) for _ in range(2)]
    for model in models:
        model.learn_many(TEXTS * 3, TRUTHS * 3, threads=3)
    assert state_bytes(models[0]) == state_bytes(models[1])
    assert models[0].documents == 40
    assert models[0].state.totals[DOCUMENTS] == 40
    hashed = taught(rule, times=1)
    hashed.learn_many(hashed.hash_many(TEXTS * 3), LabelSets.of(TRUTHS * 3), threads=3)
    assert state_bytes(hashed) == state_bytes(models[0])


@every_rule
def test_more_threads_than_documents(rule):
    model, one = taught(rule), taught(rule)
    model.learn_many(["oil"], [{"oil"}], threads=4)
    one.learn_many(["oil"], [{"oil"}])
    assert state_bytes(model) == state_bytes(one)
    model.learn_many([], [], threads=4)
    model.learn_many(["oil", "gold"], [{"oil"}, {"gold"}], threads=4)
    assert model.documents == one.documents + 2


def test_wrong_calls_are_refused_before_anything_is_learnt():
    model = taught(max_labels=4)
    before = state_bytes(model)
    for bad in (0, -1, 1.5, True, None):
        with pytest.raises(SettingError, match="'threads' parameter of learn_many"):
            model.learn_many(TEXTS, TRUTHS, threads=bad)
    with pytest.raises(LabelCapacityError):
        model.learn_many(["a", "b"], [{"oil"}, {"fifth"}], threads=2)
    assert state_bytes(model) == before
    for forgetting in ({"half_life": 9.0}, {"detector": "window"}):
        with pytest.raises(SettingError, match="must be 1 for a model that forgets"):
            Clasher(64, **forgetting).learn_many(TEXTS, TRUTHS, threads=2)
