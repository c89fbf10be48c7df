import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clasher.errors import LabelError, SettingError
from clasher.labels import LabelSets, Rankings
from clasher.metrics import (
    OTHER,
    RANKS,
    LabelRow,
    Measures,
    Metrics,
    RankedMetrics,
    Window,
    propensities,
)
from support.environment import optional

NAMES = ["corn", "gold", "grain", "oil", "wheat", "zinc"]

some_names = st.sets(st.sampled_from(NAMES))
any_truth = st.one_of(some_names, st.dictionaries(st.sampled_from(NAMES), st.booleans()), st.none())
judged = st.tuples(any_truth, some_names)


def measured(pairs, max_labels=100_000):
    metrics = Metrics(max_labels)
    metrics.update_many(*columns(pairs))
    return metrics


def columns(pairs):
    return [truth for truth, _ in pairs], [predicted for _, predicted in pairs]


def everything(measures):
    return measures.documents, measures.labels, measures.summary(), measures.per_label()


def reference_counts(pairs):
    """Tp, fp, fn per label, and the decisions of partial documents, from sets of names."""
    tp, fp, fn, stated = Counter(), Counter(), Counter(), Counter()
    for truth, predicted in pairs:
        if truth is None:
            continue
        if isinstance(truth, dict):
            yes = {name for name, state in truth.items() if state}
            predicted = predicted & set(truth)
            stated.update(list(truth))
        else:
            yes = truth
        tp.update(yes & predicted)
        fp.update(predicted - yes)
        fn.update(yes - predicted)
    return tp, fp, fn, stated


def indicators(pairs):
    """The labels met, and truth and prediction as scikit-learn takes them."""
    met = sorted(set().union(*itertools.chain(*pairs)))
    return met, *(
        np.array([[name in labels for name in met] for labels in column], int)
        for column in columns(pairs)
    )


@pytest.fixture(scope="module")
def peer():
    """The measures of scikit-learn."""
    return optional("sklearn.metrics", "sklearn")


# scikit-learn takes a single label for a binary problem: the first document brings three
pairs_of_sets = st.lists(st.tuples(some_names, some_names)).map(
    lambda pairs: [({"corn", "gold"}, {"gold", "oil"}), *pairs]
)


@settings(deadline=None)  # the first example compiles
@given(pairs=pairs_of_sets)
def test_micro_averages_equal_those_of_scikit_learn(peer, pairs):
    metrics = measured(pairs)
    _, truth, predicted = indicators(pairs)
    expected = peer.precision_recall_fscore_support(
        truth, predicted, average="micro", zero_division=0
    )
    measures = (metrics.micro_precision, metrics.micro_recall, metrics.micro_f1)
    assert measures == pytest.approx(expected[:3])


@settings(deadline=None)
@given(pairs=pairs_of_sets)
def test_labels_and_macro_averages_equal_those_of_scikit_learn(peer, pairs):
    metrics = measured(pairs)
    met, truth, predicted = indicators(pairs)
    p, r, f, support = peer.precision_recall_fscore_support(
        truth, predicted, average=None, zero_division=0
    )
    rows = {row.label: row[1:] for row in metrics.per_label()}
    expected = zip(support, predicted.sum(axis=0), p, r, f, strict=True)
    assert rows == {name: pytest.approx(row) for name, row in zip(met, expected, strict=True)}
    seen = support > 0
    assert sorted(metrics.labels) == list(itertools.compress(met, seen))
    measures = (metrics.macro_precision, metrics.macro_recall, metrics.macro_f1)
    assert measures == pytest.approx((p[seen].mean(), r[seen].mean(), f[seen].mean()))


@settings(deadline=None)
@given(pairs=pairs_of_sets)
def test_losses_equal_those_of_scikit_learn(peer, pairs):
    metrics = measured(pairs)
    _, truth, predicted = indicators(pairs)
    assert metrics.hamming_loss == pytest.approx(peer.hamming_loss(truth, predicted))
    assert metrics.accuracy == pytest.approx(1 - peer.hamming_loss(truth, predicted))
    assert metrics.subset_accuracy == pytest.approx(peer.accuracy_score(truth, predicted))


@settings(deadline=None)
@given(st.lists(judged))
def test_partial_labels_judge_only_what_they_state(pairs):
    metrics = measured(pairs)
    tp, fp, fn, stated = reference_counts(pairs)
    rows = {row.label: (row.support, row.predicted) for row in metrics.per_label()}
    met = set(tp) | set(fp) | set(fn) | set(stated)
    assert rows == {name: (tp[name] + fn[name], tp[name] + fp[name]) for name in met}
    assert set(metrics.labels) == set(tp) | set(fn)
    assert metrics.documents == sum(truth is not None for truth, _ in pairs)
    whole = [(truth, labels) for truth, labels in pairs if isinstance(truth, set)]
    decisions = len(whole) * len(met) + stated.total()
    errors = fp.total() + fn.total()
    assert metrics.hamming_loss == (errors / decisions if decisions else 0)
    exact = sum(truth == labels for truth, labels in whole)
    assert metrics.subset_accuracy == (exact / len(whole) if whole else 0)


@settings(deadline=None)
@given(st.lists(judged), st.sets(st.integers(1, 30)), st.integers(1, 7))
@example([(set(), {"zinc"}), ({"corn"}, set())], {1}, 1)  # who comes first is counted alone
def test_figures_do_not_depend_on_batches(pairs, cuts, max_labels):
    metrics = Metrics(max_labels)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(pairs)), len(pairs)]
    for start, stop in itertools.pairwise(bounds):
        metrics.update_many(*columns(pairs[start:stop]))
    assert everything(metrics) == everything(measured(pairs, max_labels))


@settings(deadline=None)
@given(st.lists(st.lists(judged, max_size=4), min_size=1, max_size=8), st.integers(1, 4))
def test_window_equals_measuring_its_panes_alone(panes, size):
    metrics = Metrics()
    window = Window(metrics, size)
    for end, pane in enumerate(panes, 1):
        metrics.update_many(*columns(pane))
        inside = window.measures()
        alone = measured(list(itertools.chain(*panes[max(0, end - size) : end])))
        assert inside.documents == alone.documents
        assert set(inside.labels) == set(alone.labels)
        for name in ("micro_f1", "micro_precision", "micro_recall", "subset_accuracy"):
            assert getattr(inside, name) == getattr(alone, name)
        for name in ("macro_f1", "macro_precision", "macro_recall"):
            assert getattr(inside, name) == pytest.approx(getattr(alone, name))
        _, fp, fn, stated = reference_counts(itertools.chain(*panes[max(0, end - size) : end]))
        decisions = int(inside.totals[1]) * len(metrics.per_label()) + stated.total()
        assert inside.hamming_loss == ((fp.total() + fn.total()) / decisions if decisions else 0)
        window.close_pane()


def test_window_memory_is_bounded_by_its_panes():
    metrics = Metrics(max_labels=3)
    window = Window(metrics, panes=2)
    for i in range(50):
        metrics.update_many([{f"label {i}"}], [{f"label {i}"}])
        window.close_pane()
    assert len(window._ends) == 2
    assert all(counts.shape == (4, 4) for counts, _ in window._ends)


def test_labels_past_the_capacity_are_counted_together():
    metrics = Metrics(max_labels=2)
    metrics.update_many(
        [{"corn"}, {"gold"}, {"oil", "zinc"}, {"oil", "zinc"}],
        [{"corn"}, {"corn"}, {"oil"}, {"oil", "wheat"}],
    )
    assert metrics.labels == ["corn", "gold"]
    assert metrics.counts.shape == (4, 3)
    rows = {row.label: (row.support, row.predicted) for row in metrics.per_label()}
    assert rows == {OTHER: (4, 3), "corn": (1, 2), "gold": (1, 0)}
    # "oil" was right and "wheat" wrong, though they share a row
    assert metrics.micro_precision == 3 / 5
    assert metrics.micro_recall == 3 / 6
    assert metrics.subset_accuracy == 1 / 4
    # of the named labels only
    assert metrics.macro_f1 == pytest.approx((2 / 3 + 0) / 2)
    assert metrics.hamming_loss == 2 / (4 * 2)


def test_memory_stops_growing_with_the_labels():
    metrics = Metrics(max_labels=10)
    for start in range(0, 200, 7):
        names = [{f"label {i}"} for i in range(start, start + 7)]
        metrics.update_many(names, names)
    assert metrics.counts.base.nbytes == 4 * 11 * 8
    assert len(metrics.names) == 11
    assert metrics.micro_f1 == 1


def test_a_number_may_change_its_label():
    ids, indptr = np.zeros(1, np.int32), np.array([0, 1])
    metrics = Metrics()
    metrics.update_many([{"corn"}], LabelSets(["corn"], ids, indptr))
    metrics.update_many([{"gold"}], LabelSets(["gold", "corn"], ids, indptr))
    assert metrics.micro_f1 == 1
    assert metrics.labels == ["corn", "gold"]


def test_names_that_label_no_judged_document_leave_no_trace():
    truth = LabelSets.of([{"corn"}, None, {"gold": True}])
    predicted = LabelSets.of([{"corn"}, {"zinc"}, {"gold", "wheat"}])
    metrics = Metrics()
    metrics.update_many(truth[0:1], predicted[0:1])
    assert metrics.per_label() == [LabelRow("corn", 1, 1, 1.0, 1.0, 1.0)]
    metrics.update_many(truth[1:], predicted[1:])
    assert [row.label for row in metrics.per_label()] == ["corn", "gold"]
    assert metrics.hamming_loss == 0


def test_a_label_named_twice_counts_once():
    metrics = Metrics()
    metrics.update_many([["corn", "corn"]], [["gold", "corn", "gold", "corn"]])
    assert metrics.per_label() == [
        LabelRow("corn", 1, 1, 1.0, 1.0, 1.0),
        LabelRow("gold", 0, 1, 0.0, 0.0, 0.0),
    ]


def test_a_predicted_no_is_no_prediction():
    metrics = Metrics()
    metrics.update_many([{"corn"}], [{"corn": False, "gold": False}])
    assert metrics.per_label() == [LabelRow("corn", 1, 0, 0.0, 0.0, 0.0)]


def test_a_label_never_true_is_in_micro_and_not_in_macro():
    metrics = measured([({"corn"}, {"corn", "gold"})])
    assert metrics.labels == ["corn"]
    assert metrics.macro_precision == metrics.macro_f1 == 1
    assert metrics.micro_precision == 1 / 2
    assert metrics.hamming_loss == 1 / 2


def test_rows_are_sorted_by_support_then_name():
    metrics = measured([({"wheat", "oil"}, set()), ({"zinc", "oil"}, {"gold"})])
    assert [row.label for row in metrics.per_label()] == ["oil", "wheat", "zinc", "gold"]


def test_nothing_judged_gives_zeros():
    for metrics in (Metrics(), measured([(None, {"corn"})])):
        assert metrics.documents == 0
        assert metrics.labels == metrics.per_label() == []
        assert set(metrics.summary().values()) == {0.0}


def test_summary_holds_plain_floats_by_the_names_of_the_properties():
    metrics = measured([({"corn"}, {"corn", "gold"}), ({"oil"}, {"corn"})])
    summary = metrics.summary()
    assert len(summary) == 9
    for name, value in summary.items():
        assert type(value) is float
        assert value == getattr(metrics, name)


def test_measures_of_a_window_keep_their_rows_while_the_stream_goes_on():
    metrics = measured([({"corn"}, {"corn"})])
    before = Measures(metrics.names, metrics.counts.copy(), metrics.totals.copy())
    metrics.update_many([{"gold"}], [{"gold"}])
    assert before.per_label() == [LabelRow("corn", 1, 1, 1.0, 1.0, 1.0)]


def test_refusals():
    with pytest.raises(LabelError, match="Got 2 and 1 instead"):
        Metrics().update_many([{"corn"}, {"oil"}], [{"corn"}])
    for wrong in (0, True, 2.5):
        with pytest.raises(SettingError, match=f"'max_labels' parameter of Metrics.*Got {wrong}"):
            Metrics(wrong)
    with pytest.raises(SettingError, match="'panes' parameter of Window"):
        Window(Metrics(), 0)


# ── rankings ─────────────────────────────────────────────────────────────────────────────────────


rankings = st.lists(st.sampled_from(NAMES), unique=True)
ranked_documents = st.lists(st.tuples(any_truth, rankings))
GIVEN = {"corn": 0.125, "gold": 1.0, "grain": 0.3, "oil": 0.75, "wheat": 0.2, "zinc": 0.9}


def ranked_figures(pairs, **options):
    metrics = RankedMetrics(**options)
    metrics.update_many(*columns(pairs))
    return metrics


def complete(pairs):
    return [(truth, best) for truth, best in pairs if isinstance(truth, set) and truth]


def scored(pairs, k, weights, ideal):
    """The hits of the best k, and of the labels of ideal rankings, as sums of weights."""
    above = sum(weights[name] for truth, best in pairs for name in best[:k] if name in truth)
    below = sum(weights[name] for names in ideal for name in names[:k])
    return above / below if below else 0.0


def weights_of(support, documents, a=0.55, b=1.5):
    """The inverse propensities of the paper."""
    c = (math.log(documents) - 1) * (b + 1) ** a if documents > 2 else 0.0
    return {name: 1 + c * math.exp(-a * math.log(n + b)) for name, n in support.items()}


def appearances(pairs):
    """The labels in order of appearance."""
    return list(dict.fromkeys(name for truth, _ in pairs for name in sorted(truth)))


@settings(deadline=None)
@given(ranked_documents)
def test_precision_is_the_share_of_true_labels_among_the_best(pairs):
    metrics = ranked_figures(pairs)
    judged = complete(pairs)
    assert metrics.documents == len(judged)
    for k in RANKS:
        shares = [len(truth & set(best[:k])) / k for truth, best in judged]
        assert metrics.precision(k) == pytest.approx(sum(shares) / len(shares) if shares else 0)


@settings(deadline=None)
@given(ranked_documents)
def test_propensities_given_make_the_published_measure(pairs):
    metrics = ranked_figures(pairs, propensities=GIVEN)
    judged = complete(pairs)
    weights = {name: 1 / p for name, p in GIVEN.items()}
    ideal = [sorted(truth, key=lambda name: -weights[name]) for truth, _ in judged]
    for k in RANKS:
        expected = scored(judged, k, weights, ideal)
        assert metrics.propensity_scored_precision(k) == pytest.approx(expected)
        assert metrics.propensity_scored_precision(k) <= 1 + 1e-9


@settings(deadline=None)
@given(ranked_documents)
def test_propensities_of_the_end_weigh_all_documents(pairs):
    """Only which labels are the rarest of a document is decided by the documents before it."""
    metrics = ranked_figures(pairs)
    judged, order = complete(pairs), appearances(complete(pairs))
    support, ideal = Counter(), []
    for truth, _ in judged:
        ideal.append(sorted(truth, key=lambda name: (support[name], order.index(name))))
        support.update(truth)
    weights = weights_of(support, len(judged))
    for k in RANKS:
        expected = scored(judged, k, weights, ideal)
        assert metrics.propensity_scored_precision(k) == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sets(st.sampled_from(NAMES), max_size=3), rankings)))
def test_documents_with_at_most_k_labels_give_the_published_measure(pairs):
    metrics = ranked_figures(pairs)
    judged = complete(pairs)
    weights = weights_of(Counter(n for truth, _ in judged for n in truth), len(judged))
    for k in (3, 5):
        expected = scored(judged, k, weights, [list(truth) for truth, _ in judged])
        assert metrics.propensity_scored_precision(k) == pytest.approx(expected)


@settings(deadline=None)
@given(
    ranked_documents,
    st.sets(st.integers(1, 30)),
    st.integers(1, 7),
    st.sampled_from([None, GIVEN]),
)
def test_ranked_figures_do_not_depend_on_batches(pairs, cuts, max_labels, given_propensities):
    options = {"max_labels": max_labels, "propensities": given_propensities}
    metrics = RankedMetrics(**options)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(pairs)), len(pairs)]
    for start, stop in itertools.pairwise(bounds):
        metrics.update_many(*columns(pairs[start:stop]))
    whole = ranked_figures(pairs, **options)
    assert (metrics.documents, metrics.figures()) == (whole.documents, whole.figures())


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sets(st.sampled_from(NAMES), max_size=5), rankings)), st.integers(1, 6)
)
def test_labels_past_the_capacity_count_in_precision_only(pairs, max_labels):
    metrics = ranked_figures(pairs, max_labels=max_labels)
    judged = complete(pairs)
    named = set(appearances(judged)[:max_labels])
    assert metrics._table.counts.shape[1] == 1 + len(named)
    for k in RANKS:
        assert metrics.precision(k) == ranked_figures(pairs).precision(k)
    kept = [(truth & named, best) for truth, best in judged]
    weights = weights_of(Counter(n for truth, _ in kept for n in truth), len(judged))
    expected = scored(kept, 5, weights, [list(truth) for truth, _ in kept])
    assert metrics.propensity_scored_precision(5) == pytest.approx(expected)


def test_hits_on_rare_labels_count_more():
    truth = [{"oil"}] * 98 + [{"zinc", "oil"}] * 2
    rare = ranked_figures(list(zip(truth, [["oil"]] * 98 + [["zinc"]] * 2, strict=True)))
    frequent = ranked_figures([(labels, ["oil"]) for labels in truth])
    assert rare.precision(1) == frequent.precision(1) == 1.0
    assert rare.propensity_scored_precision(1) == 1.0
    assert frequent.propensity_scored_precision(1) < 0.98


def test_propensities_grow_with_the_support():
    found = propensities(np.arange(1, 1000), 1000)
    assert (np.diff(found) > 0).all()
    assert 0 < found[0] < found[-1] < 1
    assert propensities([1, 2], 2).tolist() == [1.0, 1.0]
    # p of the paper, with other constants
    c = (math.log(500) - 1) * (0.4 + 1) ** 0.5
    expected = 1 / (1 + c * math.exp(-0.5 * math.log(7 + 0.4)))
    assert propensities(7, 500, a=0.5, b=0.4) == pytest.approx(expected)


def test_labels_without_a_given_propensity_have_the_lowest():
    pairs = [({"new", "oil"}, ["new"]), ({"new", "oil"}, ["oil"])]
    metrics = ranked_figures(pairs, propensities={"oil": 0.5, "gold": 0.25})
    assert metrics.propensity_scored_precision(1) == (4 + 2) / (4 + 4)


def test_numbers_of_rankings_may_change_their_labels():
    metrics = RankedMetrics()
    for names in (["corn", "gold"], ["gold", "corn"]):
        metrics.update_many([{"corn"}], Rankings.numbered(names, np.array([[0, 1]], np.int32)))
    assert metrics.precision(1) == 0.5


def test_a_label_named_twice_hits_once():
    metrics = ranked_figures([(["corn", "corn"], ["corn", "gold", "corn"])])
    assert metrics.precision(3) == pytest.approx(1 / 3)
    assert metrics.propensity_scored_precision(3) == 1.0


def test_nothing_ranked_gives_zeros():
    for pairs in ([], [(None, ["corn"])], [({"corn": True}, ["corn"])], [(set(), ["corn"])]):
        metrics = ranked_figures(pairs)
        assert metrics.documents == 0
        assert set(vars(metrics.figures()).values()) == {0.0}


def test_memory_of_ranked_metrics_stops_growing_with_the_labels():
    metrics = RankedMetrics(max_labels=10)
    for start in range(0, 200, 7):
        names = [[f"label {i}"] for i in range(start, start + 7)]
        metrics.update_many(names, names)
    assert metrics._table.counts.base.nbytes == 7 * 11 * 8
    assert metrics.precision(1) == 1


def test_refusals_of_ranked_metrics():
    with pytest.raises(LabelError, match="Got 2 and 1 instead"):
        RankedMetrics().update_many([{"corn"}, {"oil"}], [["corn"]])
    with pytest.raises(SettingError, match="'max_labels' parameter of RankedMetrics"):
        RankedMetrics(0)
    for wrong in ({}, {"oil": 0}, {"oil": 1.5}, {"oil": math.nan}, {"oil": "1"}):
        with pytest.raises(SettingError, match="'propensities' parameter of RankedMetrics"):
            RankedMetrics(propensities=wrong)
    for k in (0, 2, 6):
        with pytest.raises(SettingError, match="'k' parameter of RankedMetrics must be 1, 3 or 5"):
            RankedMetrics().precision(k)
