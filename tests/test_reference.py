"""The oracle itself: examples worked out by hand from the paper's algorithms and equations."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given

from support.reference.margin import LearntThreshold, MarginClasher, Tuning, reference
from support.reference.near_ties import gap
from support.reference.paper import (
    LearntFloor,
    PaperClasher,
    PerceptronClasher,
    Regions,
    Sketch,
    Truth,
    doc_hash_tf,
    term_frequency,
)
from tests import strategies

COUNTS = {"weighting": "tf", "tf": "count", "norm": "none"}
"""Documents are plain signed counts, for examples by hand."""


def words(*buckets: int) -> list[tuple[int, int]]:
    """Return a document with one positive word in each of the buckets."""
    return [(bucket, 1) for bucket in buckets]


# ── Document hashing ─────────────────────────────────────────────────────────────────────────────


def test_algorithm_2_adds_signs_and_keeps_buckets_that_cancel():
    assert doc_hash_tf([(1, 1), (2, -1), (2, -1), (1, -1), (3, 1)]) == {1: 0, 2: -2, 3: 1}


@pytest.mark.parametrize(
    ("count", "tf", "expected"),
    [
        (-3, "count", -3),
        (1, "log", 1),
        (-1, "log", -1),
        (3, "log", 2.09861228866811),
        (-3, "log", -2.09861228866811),
        (0, "log", 0),
    ],
)
def test_term_frequency(count, tf, expected):
    assert term_frequency(count, tf) == pytest.approx(expected)


def test_algorithm_3_by_hand():
    model = PaperClasher(tf="count", norm="none")
    assert model.doc_hash(words(1, 2)) == {1: 0, 2: 0}  # log(1/1)
    model.learn(words(1, 2), None)
    assert model.doc_hash(words(1, 1)) == {1: 0}  # log(2/2)
    model.learn(words(1, 1), None)
    third = [(2, -1), (2, -1), (3, 1)]
    assert model.doc_hash(third) == pytest.approx({2: -2 * 0.405465108108, 3: 1.098612288668})
    model.learn(third, None)
    assert (model.sketch.n, model.sketch.C) == (3, {1: 2, 2: 2, 3: 1})


def test_document_frequency_counts_a_bucket_once_even_where_words_cancel():
    sketch = Sketch()
    sketch.count([(1, 1), (1, -1), (1, 1), (1, -1), (2, 1)])
    assert (sketch.n, sketch.C) == (1, {1: 1, 2: 1})


def test_unit_length():
    model = PaperClasher(weighting="tf", tf="count", norm="l2")
    assert model.doc_hash(words(1, 1, 1, 2, 2, 2, 2)) == pytest.approx({1: 0.6, 2: 0.8})
    assert model.doc_hash([(1, 1), (1, -1)]) == {1: 0}
    assert model.doc_hash([]) == {}


@given(strategies.streams())
def test_weights_before_counting_are_those_of_algorithm_3(stream):
    model = PaperClasher(tf="count", norm="none")
    C = [0] * strategies.BUCKETS
    for n, (numbers, labels) in enumerate(stream, start=1):
        document = strategies.hashed(numbers)
        phi = [0] * strategies.BUCKETS
        present = [0] * strategies.BUCKETS
        for k, sign in document:
            phi[k] += sign
            present[k] = 1
        C = [c + p for c, p in zip(C, present, strict=True)]
        expected = {k: phi[k] * math.log(n / C[k]) for k, _ in document}
        assert model.doc_hash(document) == pytest.approx(expected)
        model.learn(document, labels)


# ── Mapper and prediction rule ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("similarity", "winner"), [("cosine", "far"), ("euclidean", "near")])
def test_algorithm_4_by_hand(similarity, winner):
    # x = (3, 1): cosines .949 and .894, squared distances 49 + 1 and 4 + 0
    model = PaperClasher(similarity=similarity, **COUNTS)
    model.learn(words(*[1] * 10), {"far"})
    model.learn(words(1, 2), {"near"})
    assert model.regions.map({1: 3, 2: 1}) == winner


def test_ties_go_to_the_label_that_came_first_then_by_name():
    model = PaperClasher(**COUNTS)
    model.learn(words(1), {"zebra", "yak"})
    model.learn(words(1), {"ant"})
    assert model.labels == ["yak", "zebra", "ant"]
    assert model.regions.map({1: 1}) == "yak"
    assert model.regions.map({2: 1}) == "yak"


def test_regions_without_a_document_or_with_a_zero_prototype():
    regions = Regions("cosine")
    for name in ("never fed", "cancelled", "opposite"):
        regions.add(name)
    truth = Truth.of({}, [])
    regions.feed("cancelled", {1: 1.0}, truth)
    regions.feed("cancelled", {1: -1.0}, truth)
    regions.feed("opposite", {1: -1.0}, truth)
    assert regions.s({1: 1.0}, "cancelled") == 0
    assert regions.map({1: 1.0}) == "cancelled"
    assert regions.map({1: 0.0}) is None
    assert Regions("cosine").map({1: 1.0}) is None


def test_eq_13_reads_the_statistics_of_the_winning_region():
    model = PaperClasher(**COUNTS)
    model.learn(words(1), {"a", "b"})
    model.learn(words(2), {"b"})
    model.learn(words(2), {"b"})
    assert model.regions.F["a", "b"] == 1
    assert model.regions.F["b", "a"] == Fraction(1, 3)
    assert model.predict(words(1)) == {"a", "b"}
    assert model.probabilities(words(2)) == pytest.approx({"a": 1 / 3, "b": 1})
    assert model.predict(words(2)) == {"b"}


def test_eq_13_is_strict():
    model = PaperClasher(**COUNTS)
    model.learn(words(1), {"a", "b"})
    model.learn(words(1), {"a"})
    assert model.probabilities(words(1)) == {"a": 1, "b": 0.5}
    assert model.predict(words(1)) == {"a"}


# ── Learning engine ──────────────────────────────────────────────────────────────────────────────


def test_algorithm_5_by_hand():
    model = PaperClasher("centroid", **COUNTS)
    model.learn(words(1, 1), {"a"})
    model.learn(words(2), {"a", "b"})
    model.learn(words(1, 2, 2), {"b"})
    model.learn(words(1, 3), {"a"})
    assert model.regions.n == {"a": 3, "b": 2}
    assert model.regions.p["a"] == pytest.approx({1: 1, 2: 1 / 3, 3: 1 / 3})
    assert model.regions.p["b"] == pytest.approx({1: 0.5, 2: 1.5})
    assert {
        ("a", "a"): 1,
        ("a", "b"): Fraction(1, 3),
        ("b", "a"): Fraction(1, 2),
        ("b", "b"): 1,
    } == model.regions.F


@given(strategies.streams(strategies.complete_labels), strategies.settings())
def test_mode_1_keeps_centroids_and_the_fractions_of_eq_15(stream, settings):
    model = PaperClasher("centroid", **settings)
    learnt = []
    for numbers, labels in stream:
        document = strategies.hashed(numbers)
        learnt.append((model.doc_hash(document), labels))
        model.learn(document, labels)
    for i in model.labels:
        own = [(x, labels) for x, labels in learnt if i in labels]
        centroid = {k: sum(x.get(k, 0) for x, _ in own) / len(own) for x, _ in own for k in x}
        assert model.regions.p[i] == pytest.approx(centroid, abs=1e-12)
        for j in model.labels:
            both = sum(j in labels for _, labels in own)
            assert model.regions.F[i, j] == Fraction(both, len(own))


def test_algorithm_6_by_hand():
    model = PaperClasher("mistake", **COUNTS)
    assert model.step(words(1), {"a"}) == set()
    assert model.regions.n == {"a": 1}

    # b is missed and fed; a was wrong, so all of T_t, which is b, is fed once more
    assert model.step(words(1), {"b"}) == {"a"}
    assert model.regions.n == {"a": 1, "b": 2}
    assert model.regions.p["b"] == {1: 1}

    # right: nothing is learnt
    assert model.step(words(1), {"a"}) == {"a"}
    assert model.regions.n == {"a": 1, "b": 2}

    # at cosine 0 to both, a wins; b goes to (2/3, 1/3), then to 3/4·(2/3, 1/3) + 1/4·(0, 1)
    assert model.step(words(2), {"b"}) == {"a"}
    assert model.regions.n == {"a": 1, "b": 4}
    assert model.regions.p["b"] == pytest.approx({1: 1 / 2, 2: 1 / 2})

    # a is missed, nothing is wrong: only a is fed
    assert model.step(words(2), {"a", "b"}) == {"b"}
    assert model.regions.n == {"a": 2, "b": 4}
    assert model.regions.p["a"] == {1: 0.5, 2: 0.5}
    assert {
        ("a", "a"): 1,
        ("a", "b"): Fraction(1, 2),
        ("b", "a"): 0,
        ("b", "b"): 1,
    } == model.regions.F


# ── Yes, no, unknown ─────────────────────────────────────────────────────────────────────────────


def test_unknown_labels_leave_the_statistics_as_they_are():
    model = PaperClasher("centroid", **COUNTS)
    model.learn(words(1), {"a", "b"})
    model.learn(words(1), {"a": True})
    assert (model.regions.n["a"], model.regions.F["a", "b"]) == (2, 1)
    model.learn(words(1), {"a": True, "b": False})
    assert (model.regions.n["a"], model.regions.F["a", "b"]) == (3, Fraction(2, 3))
    model.learn(words(1), {"a": True, "b": True})
    assert (model.regions.n["a"], model.regions.F["a", "b"]) == (4, Fraction(3, 4))
    assert model.regions.n["b"] == 2


@pytest.mark.parametrize(("labels", "fed"), [({"b": True}, 1), ({"b": True, "a": False}, 2)])
def test_only_a_known_no_is_a_false_positive(labels, fed):
    model = PaperClasher("mistake", **COUNTS)
    model.learn(words(1), {"a"})
    assert model.step(words(1), labels) == {"a"}
    assert model.regions.n == {"a": 1, "b": fed}


def test_none_and_the_empty_set_as_labels():
    model = PaperClasher("centroid", **COUNTS)
    model.learn(words(1), None)
    assert (model.sketch.n, model.labelled, model.labels) == (1, 0, [])
    model.learn(words(1), set())
    assert (model.sketch.n, model.labelled, model.labels) == (2, 1, [])
    model.learn(words(1), {"a": False})
    assert (model.labels, model.regions.n) == (["a"], {"a": 0})
    assert model.predict(words(1)) == set()


def test_a_document_without_weight_has_no_region_but_teaches():
    model = PaperClasher("centroid", tf="count", norm="none")
    assert model.step(words(1), {"a"}) == set()
    assert model.regions.n == {"a": 1}
    assert not any(model.regions.p["a"].values())
    assert model.probabilities(words(1)) == {"a": 0}
    assert model.predict(words(1)) == model.predict([]) == set()
    assert model.predict(words(2)) == {"a"}  # log(2/1) > 0: a has the only region


@given(strategies.streams(), strategies.words, strategies.rules, strategies.settings())
def test_predicting_changes_nothing(stream, numbers, rule, settings):
    asked, silent = reference(rule, **settings), reference(rule, **settings)
    for words_, labels in stream:
        asked.predict(strategies.hashed(numbers))
        asked.probabilities(strategies.hashed(numbers))
        asked.learn(strategies.hashed(words_), labels)
        silent.learn(strategies.hashed(words_), labels)
    assert asked.probabilities(strategies.hashed(numbers)) == silent.probabilities(
        strategies.hashed(numbers)
    )


# ── Linear rules ─────────────────────────────────────────────────────────────────────────────────


def test_perceptron_by_hand():
    model = PerceptronClasher(**COUNTS)
    assert model.step(words(1, 1), {"a"}) == set()  # z = 0
    assert (model.w["a"], model.b["a"]) == ({1: 0.2}, 0.1)
    assert model.step(words(1), set()) == {"a"}  # z = 0.1 + 0.2
    assert model.w["a"] == pytest.approx({1: 0.1})
    assert model.b["a"] == 0
    assert model.probabilities(words(1))["a"] == pytest.approx(0.524979187479)  # σ(0.1)
    assert model.step(words(1), {"a"}) == {"a"}  # right: nothing moves
    assert model.mistakes == {"a": 2}
    model.learn(words(2), {"a": True, "b": False})
    assert model.predict(words(2)) == {"a"}
    assert model.w["b"] == {}


def test_margin_by_hand():
    model = MarginClasher(lead=0.0, **COUNTS)

    # a is new: z = −4, σ(−4) = 0.0179862, g = −0.9820138·(1 + 4/√1) = −4.9100690
    # 0.7·g/√(8 + g²) = −0.6065600; 0.5·g/√(0.1 + g²) = −0.4989662
    assert model.step(words(1), {"a"}) == set()
    assert model.w["a"] == pytest.approx({1: 0.6065600})
    assert model.G[1] == pytest.approx(24.1087771)
    assert model.b["a"] == pytest.approx(-3.5010338)
    assert (model.a, model.Ga) == ([4, 2.5, 1, 0], [0, 0, 0, 0])

    # c = r = F = 1, and there is no other label:
    # z = −3.5010338 + 0.6065600 + 7.5 = 4.6055262, g = σ(z) = 0.9901025
    assert model.evidence({1: 1.0})["a"] == pytest.approx(4.6055262)
    assert model.step(words(1), set()) == {"a"}
    # all of G belongs to a: 0.7·g·√(1 + 0.6065600²)/√(8 + 24.1087771 + g²) = 0.1409177
    assert model.w["a"] == pytest.approx({1: 0.6065600 - 0.1409177}, abs=1e-6)
    # 0.5·g/√(0.1 + 24.1087771 + g²) = 0.0986379; 0.07·g/√(10 + g²) = 0.0209156
    assert model.b["a"] == pytest.approx(-3.5010338 - 0.0986379)
    assert model.a == pytest.approx([4 - 0.0209156, 2.5 - 0.0209156, 1 - 0.0209156, 0], abs=1e-6)
    assert model.Ga == pytest.approx([0.9803030] * 3 + [0])
    assert (model.regions.n, model.regions.p) == ({"a": 1}, {"a": {1: 1}})


def test_margin_clash_terms_by_hand():
    # p_a = (1, 0), p_b = (1/2, 1/2), x = (0, 1): c = (0, .7071), i* = b, F_b = (1/2, 1)
    model = MarginClasher(lead=0.0, **COUNTS)
    model.learn(words(1), {"a", "b"})
    model.learn(words(2), {"b"})
    model.learn(words(3), {"c": False})
    views = model.clash({2: 1.0})
    assert {j: view[:3] for j, view in views.items()} == {
        "a": (0, 0, 0.5),
        "b": (pytest.approx(math.sqrt(0.5)), 1, 1),
        "c": (0, 0, 0),
    }
    assert model.clash({}) == dict.fromkeys("abc", (0, 0, 0, 0))
    # both documents near the three regions: 1 of a and b, 1/2 of it b's; c_a² = 1, c_b² = 1/2
    assert model.clash({1: 1.0})["a"].fraction == pytest.approx((1 + 0.5 * 0.5) / 1.5)
    # by distance a is as near as b to (1, 1)·1/2 at 1/2 and 0; its cosine may still be the smaller
    euclidean = MarginClasher(similarity="euclidean", lead=0.0, **COUNTS)
    euclidean.learn(words(*[1] * 10), {"far"})
    euclidean.learn(words(1, 2), {"near"})
    cosines = {"far": 3 / math.sqrt(10), "near": 4 / math.sqrt(20)}
    views = euclidean.clash({1: 3.0, 2: 1.0})
    assert {j: view[:3] for j, view in views.items()} == {
        "far": pytest.approx((cosines["far"], 1, 0.9 / 1.7)),  # 1.06 of the winner's, kept to 1
        "near": pytest.approx((cosines["near"], 1, 0.8 / 1.7)),
    }


def test_margin_looks_twice_at_labels_beside_the_best_of_the_others():
    model = MarginClasher(**COUNTS)
    for labels in [{"a", "b"}, {"a", "b"}, {"a"}, {"c"}]:
        model.learn(words(1), labels)
    # of 4 documents and the one to come: n_ab = 2 where 3·2/5 are expected, n_ac = 0 where 3/5 are
    z = {"a": 0.0, "b": -1.0, "c": -2.0}
    looks = model.looks(z, model.labels)
    assert looks["b"] == pytest.approx(0.5 * (2 - 1.2) / (2 + 1.2 + 1))
    assert looks["c"] == pytest.approx(0.5 * (0 - 0.6) / (0 + 0.6 + 1))
    assert looks["a"] == pytest.approx(looks["b"] / 0.5 / (1 + math.exp(1)))
    assert model.looks({**z, "c": -3.5}, model.labels)["c"] == 0  # too far from being predicted


def test_margin_weighs_the_first_words_more():
    x = MarginClasher(**COUNTS).doc_hash(words(7, 8))
    assert list(x.values()) == pytest.approx([1.6, 1 + 0.6 * math.exp(-1 / 16)])


def test_margin_floor_is_shared_by_the_buckets_of_a_document():
    # two buckets, g = −4.9100690 in each: 0.7·g/√(8/2 + g²) = −0.6482830
    model = MarginClasher(lead=0.0, **COUNTS)
    model.learn(words(1, 2), {"a"})
    assert model.w["a"] == pytest.approx({1: 0.6482830, 2: 0.6482830})


def test_margin_learns_only_what_is_known_and_not_yet_clear():
    model = MarginClasher(**COUNTS)
    model.learn(words(1), {"a"})
    before = dict(model.w["a"])
    model.learn(words(1), {"b": True})  # a is unknown
    assert model.w["a"] == before
    model.learn(words(2), set())  # at z ≈ −4 both are clear
    assert model.w["a"] == before
    model.learn(words(1), {"b"})  # a is a no now
    assert model.w["a"][1] < before[1]


def test_margin_without_weight_moves_biases_only():
    model = MarginClasher()
    assert model.step([], {"a"}) == set()
    assert model.b["a"] == pytest.approx(-3.5010338)
    assert model.probabilities([])["a"] == pytest.approx(1 / (1 + math.exp(2 * 3.5010338)))
    assert (model.w["a"], model.a) == ({}, [4, 2.5, 1, 0])
    assert not any(model.learnt.true)


def test_margin_predicts_the_best_label_if_none_passes():
    streams = [(words(1), {"a"}), (words(2), {"b"})]
    settings = {"threshold": 0.99999, **COUNTS}
    best, strict = MarginClasher(**settings), MarginClasher(at_least_one=False, **settings)
    for document, labels in streams:
        best.learn(document, labels)
        strict.learn(document, labels)
    assert best.predict(words(2)) == {"b"}
    assert best.predict([]) == strict.predict(words(2)) == set()
    assert best.cut == pytest.approx(math.log(99999) / 2)


def test_best_label_is_predicted_where_documents_have_labels():
    model = MarginClasher(threshold=0.99999, **COUNTS)
    for _ in range(3):
        model.learn(words(1), {"a"})
    assert (model.predict(words(2)), model.floor) == ({"a"}, -math.inf)
    model.learn(words(2), {"a": False, "b": True})  # a false best label alone is no reason
    assert model.predict(words(3)) == {"a"}
    model.learn(words(3), {"a": False})  # it may have the label b
    assert model.predict(words(3)) == {"a"}
    for _ in range(3):
        model.learn(words(3), {"a": False, "b": False})
    assert (model.predict(words(1)), model.predict(words(4))) == ({"a"}, set())


def test_floor_lies_where_the_best_label_leads_by_most():
    # above 1.95: 1 − 0; above 0.95: 2 − 1, no more; above −1.05: 4 − 1; above −2.05: 4 − 3
    best = LearntFloor()
    assert best.edge(1) == -3.05
    for z in (2, 1, -1, -1):
        best.count(z, True)
    best.look(1)
    assert best.value == -math.inf
    for z in (1, -2, -2):
        best.count(z, False)
    best.look(1)
    assert best.value == pytest.approx(-1.05)
    for z in (9, 9, 9, -1, -1):
        best.count(z, False)
    best.look(1000)
    assert best.value == math.inf
    assert (sum(best.true), sum(best.empty)) == pytest.approx((3.6, 7.2))


# ── The learnt threshold ─────────────────────────────────────────────────────────────────────────


def fill(threshold: LearntThreshold, true: list[float], false: list[float]) -> None:
    for z in true:
        threshold.count(z, True)
    for z in false:
        threshold.count(z, False)


def test_threshold_takes_the_lowest_of_the_best_edges():
    # from −0.2 up to 0.5: 2 hits, 1 miss, F1 = 4/5; at −0.3: 3 hits, 3 alarms, F1 = 6/9
    threshold = LearntThreshold(Tuning())
    fill(threshold, true=[0.55, 0.55, -0.25], false=[-0.25, -0.25, -0.25])
    assert threshold.micro_f1(27) == pytest.approx(6 / 9)
    assert threshold.micro_f1(28) == pytest.approx(4 / 5)
    threshold.look(2000)
    assert threshold.value == pytest.approx(-0.2)
    assert (sum(threshold.true), sum(threshold.false)) == pytest.approx((2.7, 2.7))


def test_threshold_counts_what_lies_beyond_its_edges():
    threshold = LearntThreshold(Tuning())
    fill(threshold, true=[-5, 7], false=[-5, 2.95, 7])
    assert threshold.micro_f1(0) == pytest.approx(2 / 5)  # the first is missed at any edge
    threshold.choose()
    assert threshold.value == pytest.approx(3)  # 2 / 4


def test_threshold_stays_while_there_is_nothing_to_find():
    threshold = LearntThreshold(Tuning())
    fill(threshold, true=[], false=[0.5, 2])
    threshold.choose()
    assert threshold.value == 0


def test_threshold_is_chosen_every_so_many_labelled_documents():
    model = MarginClasher(period=3, early=3, fade=0.5, **COUNTS)
    model.learn(words(1), {"a"})
    assert not any(model.learnt.true)  # a was new: no threshold would have found it
    model.learn(words(1), {"a"})
    model.learn(words(1), None)
    assert (sum(model.learnt.true), model.cut) == (1, 0)
    model.learn(words(1), {"a"})
    assert (sum(model.learnt.true), model.cut) == (1, -3)


def test_probabilities_are_fitted_to_the_histograms():
    # beside so many labels the pull to the start is nothing: of those at 0.05 one in four is true,
    # of those at 1.05 three in four
    threshold = LearntThreshold(Tuning(odds_steps=300))
    fill(threshold, true=[0.05] * 250 + [1.05] * 750, false=[0.05] * 750 + [1.05] * 250)
    threshold.calibrate()
    alpha, beta = threshold.odds
    assert beta == pytest.approx(2 * math.log(3), abs=0.05)
    assert alpha + beta * 0.05 == pytest.approx(-math.log(3), abs=0.05)


def test_probabilities_rise_with_the_score_whatever_the_histograms_say():
    threshold = LearntThreshold(Tuning())
    fill(threshold, true=[-1.0] * 500, false=[1.0] * 500)
    threshold.calibrate()
    assert threshold.odds[1] == Tuning().least_slope


# ── Near ties ────────────────────────────────────────────────────────────────────────────────────


def test_gap_is_the_distance_to_the_nearest_other_decision():
    model = PaperClasher(threshold=0.4, **COUNTS)
    assert gap(model, words(1)) == math.inf
    model.learn(words(1, 1, 1, 2, 2, 2, 2), {"a"})
    model.learn(words(1, 1, 1, 1, 2, 2, 2), {"b"})
    assert gap(model, words(1)) == pytest.approx(0.8 - 0.6)
    model.learn(words(2, 2), {"b", "c"})  # p_b = (2, 5/2), p_c = (0, 2)
    assert gap(model, words(2)) == pytest.approx(1 - 0.8)
    model.learn(words(2, 2), {"c"})
    assert gap(model, words(2)) == pytest.approx(0.5 - 0.4)  # F̂_cb


def test_gap_ignores_ties_that_any_arithmetic_agrees_on():
    model = PaperClasher(threshold=0.5, **COUNTS)
    model.learn(words(1), {"a", "b"})  # fed alike
    model.learn(words(2), {"c"})
    assert gap(model, words(1)) == 0.5
    assert gap(model, words(3)) == 0.5  # at cosine 0 to all
    model.learn(words(1), {"a", "b", "c"})
    model.learn(words(1), {"a", "b"})
    model.learn(words(1), {"a", "b", "c"})
    assert model.regions.F["a", "c"] == 0.5
    assert gap(model, words(1)) > 0.05  # one half of whole counts is exact
    model.learn(words(1), {"a": True, "b": True})
    assert model.regions.F["a", "c"] == 0.5
    assert gap(model, words(1)) == 0  # one half after an unknown is not


def test_gap_knows_prototypes_that_cancelled():
    model = PaperClasher(**COUNTS)
    model.learn([(1, 1)], {"a"})
    model.learn([(1, -1)], {"a"})
    assert gap(model, words(1)) == 0


def test_gap_of_linear_rules():
    perceptron = PerceptronClasher(at_least_one=True, **COUNTS)
    perceptron.learn(words(2), {"a": False})
    assert gap(perceptron, words(1)) == math.inf
    perceptron.learn(words(1, 1), {"a"})
    assert gap(perceptron, words(1)) == pytest.approx(0.3)
    perceptron.at_least_one = None  # the next edge of the best label's histogram
    assert gap(perceptron, words(1)) == pytest.approx(0.05)
    margin = MarginClasher(lead=0.0, **COUNTS)
    margin.learn(words(1), {"a"})
    # z = 4.6055262 made of terms that add up to 11.6075937; learning stops at log(0.86 / 0.14)
    assert gap(margin, words(1)) == pytest.approx((4.6055262 - 1.8152900) / 11.6075937, abs=1e-6)
