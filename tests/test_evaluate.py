import itertools
import json
import random
import signal
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Clasher
from clasher.errors import LabelCapacityError, LabelError, SettingError, StreamError
from clasher.evaluate import evaluate, process_memory
from clasher.metrics import Figures, Metrics, RankedMetrics

module = sys.modules["clasher.evaluate"]

TOPICS = {
    "grain": ["wheat", "corn", "harvest", "barley"],
    "metal": ["gold", "zinc", "copper", "smelter"],
    "energy": ["crude", "barrel", "pipeline", "gas"],
    "rates": ["bank", "inflation", "bond", "lending"],
}


def a_stream(documents, seed=0):
    """Documents of one or two topics: most labelled, some partly, some not at all."""
    draw = random.Random(seed)
    texts, labels = [], []
    for _ in range(documents):
        topics = draw.sample(sorted(TOPICS), draw.choice([1, 1, 2]))
        words = [word for topic in topics for word in draw.sample(TOPICS[topic], 2)]
        texts.append(" ".join([*words, draw.choice(["today", "again", "market"])]))
        others = {name: False for name in TOPICS if name not in topics}
        labels.append(draw.choice([set(topics)] * 4 + [{topics[0]: True, **others}, None]))
    return texts, labels


def a_model(**settings):
    return Clasher(dimensions=128, **settings)


def batches(texts, labels, cuts):
    bounds = [0, *sorted(cuts), len(texts)]
    for start, stop in itertools.pairwise(bounds):
        yield texts[start:stop], labels[start:stop]


def figures(result):
    """What an evaluation says about the predictions, apart from times and memory."""
    names = Figures.__dataclass_fields__
    return (
        result.documents,
        result.judged,
        result.labels,
        {name: getattr(result, name) for name in names},
        [(p.documents, p.judged, p.labels, p.cumulative, p.window) for p in result.curve],
        result.per_label,
    )


def background_threads():
    return {t for t in threading.enumerate() if t.name == "clasher-read-ahead"}


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = background_threads()  # of other tests
    yield
    assert not background_threads() - before


@pytest.fixture
def default_interrupt():
    """Python's own handler of Ctrl-C, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


class InterferingModel(Clasher):
    """A model that calls ``interfere`` in the midst of every step."""

    def __init__(self, interfere):
        super().__init__(dimensions=128)
        self.interfere = interfere

    def step_many(self, texts, labels):
        self.interfere(self)
        return super().step_many(texts, labels)


# ── the loop ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", ["margin", "centroid", "mistake", "perceptron"])
def test_evaluation_is_predict_then_learn_for_each_document(rule):
    texts, labels = a_stream(60)
    model, same = a_model(rule=rule), a_model(rule=rule)
    result = evaluate(model, [(texts, labels)], every=25)
    metrics = Metrics()
    for text, truth in zip(texts, labels, strict=True):
        predicted = same.predict(text)
        same.learn(text, truth)
        metrics.update_many([truth], [predicted])
    assert {name: getattr(result, name) for name in metrics.summary()} == metrics.summary()
    assert result.per_label == metrics.per_label()
    assert result.labels == len(metrics.labels) == len(TOPICS)
    assert model.probabilities(texts[0]) == same.probabilities(texts[0])


@settings(max_examples=15, deadline=None)
@given(cuts=st.sets(st.integers(0, 50)), ahead=st.integers(1, 3))
def test_figures_do_not_depend_on_batches(cuts, ahead):
    texts, labels = a_stream(50)
    whole = evaluate(a_model(), [(texts, labels)], every=20, window=2)
    cut = evaluate(a_model(), batches(texts, labels, cuts), every=20, window=2, ahead=ahead)
    assert figures(cut) == figures(whole)


def test_arrow_columns_give_the_same_figures():
    texts, labels = a_stream(40)
    labels = [labels if isinstance(labels, set) else None for labels in labels]
    columns = pa.array(texts), pa.array([labels and sorted(labels) for labels in labels])
    plain = evaluate(a_model(), [(texts, labels)])
    assert figures(evaluate(a_model(), [columns])) == figures(plain)


def test_unlabelled_documents_are_observed_and_not_judged():
    texts, labels = a_stream(30)
    model = a_model()
    result = evaluate(model, [(texts, labels)])
    assert result.documents == model.documents == 30
    assert result.judged == model.labelled == sum(truth is not None for truth in labels) < 30


@pytest.mark.parametrize("rule", ["margin", "centroid", "mistake", "perceptron"])
def test_ranked_labels_are_measured_before_they_are_learnt(rule):
    texts, labels = a_stream(60)
    plain = evaluate(a_model(rule=rule), [(texts, labels)], every=25)
    cut = batches(texts, labels, [7, 40])
    result = evaluate(a_model(rule=rule), cut, every=25, ranked=True)
    assert figures(result) == figures(plain)
    assert plain.ranked is plain.to_dict()["ranked"] is None
    model, metrics = a_model(rule=rule), RankedMetrics()
    for text, truth in zip(texts, labels, strict=True):
        metrics.update_many([truth], model.rank_many([text]))
        model.learn(text, truth)
    assert result.ranked == metrics.figures()
    assert result.to_dict()["ranked"] == vars(metrics.figures())
    assert 0 < result.ranked.precision_at_3 < result.ranked.psp_at_3 < 1


def test_ranked_labels_may_be_evicted_or_hidden():
    texts, labels = a_stream(80)
    labels = [truth if isinstance(truth, set) else None for truth in labels]
    how = {"max_labels": 2, "on_full": "evict"}
    result = evaluate(a_model(**how), [(texts, labels)], label_probability=0.5, seed=1, ranked=True)
    shown = np.random.default_rng(1).random(80) < 0.5
    model, metrics = a_model(**how), RankedMetrics()
    for text, truth, seen in zip(texts, labels, shown, strict=True):
        metrics.update_many([truth], model.rank_many([text]))
        model.learn(text, truth if seen else None)
    assert result.taught < metrics.documents == result.judged
    assert result.ranked == metrics.figures()


@pytest.mark.parametrize("bad", [1, "yes", None])
def test_ranked_must_be_a_flag(bad):
    with pytest.raises(SettingError, match="'ranked' parameter of evaluate"):
        evaluate(a_model(), [a_stream(5)], ranked=bad)


# ── partially labelled streams ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", ["margin", "centroid", "mistake", "perceptron"])
def test_labels_reach_the_model_with_a_probability(rule):
    """Every document is judged and counted; the hidden labels teach nothing."""
    texts, labels = a_stream(120)
    model, same = a_model(rule=rule), a_model(rule=rule)
    result = evaluate(model, [(texts, labels)], label_probability=0.3, seed=5)
    shown = np.random.default_rng(5).random(120) < 0.3
    metrics = Metrics()
    for text, truth, seen in zip(texts, labels, shown, strict=True):
        metrics.update_many([truth], [same.predict(text)])
        same.learn(text, truth if seen else None)
    assert {name: getattr(result, name) for name in metrics.summary()} == metrics.summary()
    assert result.per_label == metrics.per_label()
    assert (result.judged, result.label_probability) == (metrics.documents, 0.3)
    assert result.taught == model.labelled == same.labelled
    assert 15 < result.taught < 60
    assert model.documents == 120
    assert model.probabilities(texts[0]) == same.probabilities(texts[0])


@settings(max_examples=15, deadline=None)
@given(cuts=st.sets(st.integers(0, 50)), seed=st.integers(0, 3))
def test_what_is_hidden_does_not_depend_on_batches(cuts, seed):
    texts, labels = a_stream(50)
    how = {"every": 7, "label_probability": 0.5, "seed": seed}
    whole = evaluate(a_model(), [(texts, labels)], **how)
    cut = evaluate(a_model(), batches(texts, labels, cuts), **how)
    assert figures(cut) == figures(whole)
    assert cut.taught == whole.taught


def test_the_seed_decides_what_is_hidden():
    results = [
        evaluate(a_model(), [a_stream(80)], label_probability=0.5, seed=seed) for seed in (0, 1, 0)
    ]
    assert figures(results[0]) == figures(results[2])
    assert figures(results[0]) != figures(results[1])


def test_all_labels_or_none():
    texts, labels = a_stream(40)
    plain = evaluate(a_model(), [(texts, labels)])
    assert (plain.taught, plain.label_probability) == (plain.judged, 1.0)
    model = a_model()
    nothing = evaluate(model, [(texts, labels)], label_probability=0)
    assert (nothing.taught, nothing.judged, nothing.micro_f1) == (0, plain.judged, 0.0)
    assert (model.documents, model.labels) == (40, [])


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan"), "half", None, True])
def test_an_impossible_probability_is_refused(bad):
    with pytest.raises(SettingError, match=r"'label_probability' .* a number from 0 to 1"):
        evaluate(a_model(), [a_stream(5)], label_probability=bad)


@pytest.mark.parametrize("bad", [-1, 0.5, "x", None, False])
def test_an_impossible_seed_is_refused(bad):
    with pytest.raises(SettingError, match="'seed' parameter of evaluate"):
        evaluate(a_model(), [a_stream(5)], seed=bad)


def test_model_facts_are_reported():
    model = a_model(seed=3)
    result = evaluate(model, [a_stream(30)], every=10, window=4)
    assert result.state_bytes == result.curve[-1].state_bytes == model.nbytes
    assert result.settings == model.settings.to_dict()
    assert (result.every, result.window, result.interrupted) == (10, 4, False)
    assert result.seconds > 0
    assert result.documents_per_second == 30 / result.seconds
    assert result.memory_bytes > 0


# ── the curve ────────────────────────────────────────────────────────────────────────────────────


def test_curve_points_stand_at_every_n_documents_and_at_the_end():
    texts, labels = a_stream(95)
    result = evaluate(a_model(), batches(texts, labels, [7, 64]), every=30, window=2)
    assert [point.documents for point in result.curve] == [30, 60, 90, 95]
    for point in result.curve:
        until = evaluate(a_model(), [(texts, labels)], every=30, limit=point.documents)
        assert point.cumulative == Figures(
            **{name: getattr(until, name) for name in Figures.__dataclass_fields__}
        )
        assert (point.judged, point.labels) == (until.judged, until.labels)


def test_window_of_a_point_is_the_last_panes():
    texts, labels = a_stream(50)
    result = evaluate(a_model(), [(texts, labels)], every=10, window=2)
    predicted = a_model().step_many(texts, labels)
    for point in result.curve:
        start = max(0, point.documents - 20)
        alone = Metrics()
        alone.update_many(labels[start : point.documents], predicted[start : point.documents])
        assert point.window.macro_f1 == pytest.approx(alone.macro_f1)
        assert point.window.subset_accuracy == alone.subset_accuracy


def test_rates_of_the_curve_cover_the_whole_time():
    result = evaluate(a_model(), [a_stream(25)], every=10)
    spent = [
        (point.documents - before) / point.documents_per_second
        for point, before in zip(result.curve, [0, 10, 20], strict=True)
    ]
    assert sum(spent) == pytest.approx(result.curve[-1].seconds) == pytest.approx(result.seconds)


def test_a_long_curve_grows_coarse_instead_of_long(monkeypatch):
    texts, labels = a_stream(47)
    fine = evaluate(a_model(), [(texts, labels)], every=1, window=3)
    monkeypatch.setattr(module, "MAX_POINTS", 8)
    coarse = evaluate(a_model(), [(texts, labels)], every=1, window=3)
    assert [point.documents for point in coarse.curve] == [8, 16, 24, 32, 40, 47]
    at = {point.documents: point for point in fine.curve}
    for point in coarse.curve:
        assert point.window == at[point.documents].window
        assert point.cumulative == at[point.documents].cumulative
    spent = [
        (point.documents - before) / point.documents_per_second
        for point, before in zip(coarse.curve, [0, 8, 16, 24, 32, 40], strict=True)
    ]
    assert sum(spent) == pytest.approx(coarse.seconds)


def test_macro_f1_over_all_counts_labels_yet_to_appear_as_0():
    texts = ["wheat corn"] * 4 + ["gold zinc"] * 4
    labels = [{"grain"}] * 4 + [{"metal"}] * 4
    result = evaluate(a_model(), [(texts, labels)], every=4)
    early, late = result.curve
    assert (early.labels, late.labels) == (1, 2)
    assert result.macro_f1_over_all() == [early.cumulative.macro_f1 / 2, result.macro_f1]


def test_a_stream_without_labels_has_a_curve_of_zeros():
    result = evaluate(a_model(), [(["wheat"] * 3, [None] * 3)])
    assert (result.documents, result.judged, result.labels) == (3, 0, 0)
    assert result.macro_f1_over_all() == [0.0]


def test_to_dict_is_json_with_the_main_figures_first():
    result = evaluate(a_model(), [a_stream(25)], every=10)
    plain = result.to_dict()
    assert list(plain)[:6] == [
        "documents", "labels", "macro_f1", "micro_f1", "documents_per_second", "state_bytes",
    ]  # fmt: skip
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert [row["label"] for row in plain["per_label"]] == [row.label for row in result.per_label]
    assert plain["curve"][1]["window"]["micro_f1"] == result.curve[1].window.micro_f1
    assert [p["macro_f1_over_all"] for p in plain["curve"]] == result.macro_f1_over_all()


# ── progress and limits ──────────────────────────────────────────────────────────────────────────


def test_progress_comes_with_every_batch_and_every_point():
    texts, labels = a_stream(50)
    seen = []
    model = a_model()
    result = evaluate(model, batches(texts, labels, [15, 35]), every=20, on_progress=seen.append)
    assert [progress.documents for progress in seen] == [15, 20, 35, 40, 50]
    last = seen[-1]
    assert (last.macro_f1, last.micro_f1, last.labels) == (
        result.macro_f1,
        result.micro_f1,
        result.labels,
    )
    assert last.state_bytes == model.nbytes
    assert last.memory_bytes > 0
    assert last.documents_per_second == 50 / last.seconds


def test_large_batches_are_learnt_in_pieces(monkeypatch):
    monkeypatch.setattr(module, "PIECE", 8)
    seen = []
    evaluate(a_model(), [a_stream(20)], on_progress=lambda p: seen.append(p.documents))
    assert seen == [8, 16, 20]


@pytest.mark.parametrize("limit", [1, 9, 10, 11, 20])
def test_limit_stops_the_reading_too(limit):
    texts, labels = a_stream(100)
    taken = []

    def source():
        for start in range(0, 100, 10):
            taken.append(start)
            yield texts[start : start + 10], labels[start : start + 10]

    model = a_model()
    result = evaluate(model, source(), limit=limit, ahead=5)
    assert result.documents == model.documents == limit
    assert len(taken) == -(-limit // 10)


def test_a_limit_past_the_end_is_no_limit():
    assert evaluate(a_model(), [a_stream(7), a_stream(5)], limit=100).documents == 12


def test_reading_ahead_is_bounded_and_in_one_other_thread():
    texts, labels = a_stream(40)
    taken, threads, lead = [], set(), []

    def source():
        for i in range(40):
            taken.append(i)
            threads.add(threading.current_thread())
            yield texts[i : i + 1], labels[i : i + 1]

    model = InterferingModel(lambda model: lead.append(len(taken) - model.documents))
    evaluate(model, source(), ahead=3)
    assert max(lead) <= 4  # three ahead, one in hand
    assert len(threads) == 1
    assert threads != {threading.main_thread()}


# ── what can go wrong ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("stream", [[], [([], [])]])
def test_an_empty_stream_is_refused(stream):
    with pytest.raises(StreamError, match="holds no document"):
        evaluate(a_model(), stream)


@pytest.mark.parametrize("name", ["every", "window", "limit", "ahead"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_settings_must_be_positive_integers(name, value):
    with pytest.raises(SettingError, match=f"'{name}' parameter of evaluate must be a positive"):
        evaluate(a_model(), [a_stream(1)], **{name: value})


def test_an_error_of_the_source_reaches_the_caller():
    texts, labels = a_stream(20)

    def source():
        yield texts[:10], labels[:10]
        raise OSError("the disk is gone")

    model = a_model()
    with pytest.raises(OSError, match="the disk is gone"):
        evaluate(model, source())
    assert model.documents == 10


def test_an_error_of_the_model_reaches_the_caller():
    def endless():
        for i in itertools.count():
            yield ["wheat"], [{f"label {i}"}]

    with pytest.raises(LabelCapacityError):
        evaluate(a_model(max_labels=5), endless())


def test_an_error_of_the_progress_reaches_the_caller():
    def broken(progress):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        evaluate(a_model(), itertools.repeat(a_stream(5)), on_progress=broken)


def test_texts_and_labels_must_go_together():
    with pytest.raises(LabelError, match="2 documents and 1 entries"):
        evaluate(a_model(), [(["wheat", "corn"], [{"grain"}])])


# ── Ctrl-C ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("default_interrupt")
def test_ctrl_c_finishes_the_documents_in_hand():
    def press(model):
        if model.documents == 20:
            signal.raise_signal(signal.SIGINT)

    texts, labels = a_stream(10)
    model = InterferingModel(press)
    result = evaluate(model, itertools.repeat((texts, labels)), every=10)
    assert result.interrupted
    assert result.documents == model.documents == 30
    assert figures(result) == figures(evaluate(a_model(), [(texts, labels)] * 3, every=10))


@pytest.mark.usefixtures("default_interrupt")
def test_a_second_ctrl_c_does_not_wait():
    def press_twice(model):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        evaluate(InterferingModel(press_twice), itertools.repeat(a_stream(5)))


@pytest.mark.usefixtures("default_interrupt")
@pytest.mark.parametrize("batches_before", [0, 2])
def test_ctrl_c_is_heard_while_the_source_is_silent(batches_before, monkeypatch):
    monkeypatch.setattr("clasher.io.read_ahead.PATIENCE", 0.01)
    wake = threading.Event()
    main = threading.main_thread()

    def source():
        yield from [a_stream(5)] * batches_before
        signal.pthread_kill(main.ident, signal.SIGINT)
        wake.wait()

    result = evaluate(a_model(), source())
    assert result.interrupted
    assert result.documents <= 5 * batches_before
    assert len(result.curve) == (result.documents > 0)
    json.dumps(result.to_dict(), allow_nan=False)
    wake.set()
    for thread in background_threads():
        thread.join()


@pytest.mark.usefixtures("default_interrupt")
def test_a_program_keeps_its_own_handler():
    heard = []

    def own(number, frame):
        heard.append(number)

    signal.signal(signal.SIGINT, own)
    try:
        model = InterferingModel(lambda model: signal.raise_signal(signal.SIGINT))
        result = evaluate(model, [a_stream(5)])
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert heard == [signal.SIGINT]
    assert not result.interrupted


@pytest.mark.usefixtures("default_interrupt")
def test_other_threads_evaluate_without_a_handler():
    results = []
    worker = threading.Thread(target=lambda: results.append(evaluate(a_model(), [a_stream(5)])))
    worker.start()
    worker.join()
    assert results[0].documents == 5


def test_process_memory_does_without_psutil(monkeypatch, tmp_path):
    full = process_memory()
    assert full > 1_000_000
    monkeypatch.setitem(sys.modules, "psutil", None)
    plain = process_memory()
    monkeypatch.setattr(module, "STATM", tmp_path / "missing")
    peak = process_memory()
    assert full / 2 < plain <= full * 2
    assert full / 2 < peak
    monkeypatch.setitem(sys.modules, "resource", None)
    assert process_memory() == 0
