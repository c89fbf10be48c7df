"""Drift: rising errors raise alarms and make the model forget, however the stream is cut."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clasher import Alarm, Analyzer, Clasher
from clasher.datasets.synthetic import Stream
from clasher.errors import ModelFileError
from clasher.kernels.scan import LONGEST
from clasher.kernels.state import BLOCKS, RECENT
from clasher.learning import drift, memory
from clasher.learning.drift import Watch, all_changed, label_changed
from tests import mutations, strategies
from tests.models import RULES, TEXTS, state_bytes

EXAMPLES = settings(deadline=None, max_examples=10 if numba.config.DISABLE_JIT else 50)
DETECTORS = ("window", "adwin")


@contextlib.contextmanager
def quick() -> Iterator[None]:
    """Look at the errors every eight documents, with low limits."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift, "EVERY", 8)
        patch.setattr(drift, "BLOCK", 4)
        patch.setattr(drift, "SMALLEST", 4)
        patch.setattr(drift, "CONFIDENCE", 0.9)
        yield


def two_worlds(documents: int) -> list[tuple[str, set[str]]]:
    """Two labels that swap their words half-way."""
    stream = []
    for number in range(documents):
        label, other = ("grain", "oil") if number % 2 else ("oil", "grain")
        meant = label if number < documents // 2 else other
        stream.append((f"{meant} {meant}s price {number % 5}", {label}))
    return stream


def learnt(stream: list[tuple[str, set[str]]], **how: Any) -> Clasher:
    model = Clasher(**{"dimensions": 64, "max_labels": 8, **how})
    model.learn_many([text for text, _ in stream], [labels for _, labels in stream])
    return model


# ── the record of errors ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", RULES)
@given(strategies.streams(max_size=40), strategies.settings())
@EXAMPLES
def test_trials_and_errors_are_those_of_the_predictions(rule, stream, how):
    model = Clasher(16, rule=rule, max_labels=16, detector="window", **how)
    trials: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for words, labels in stream:
        text = strategies.text(words)
        predicted = model.predict(text)
        if labels is not None:
            fed = {name for name, n in zip(model.labels, model.state.counts, strict=False) if n}
            yes = {n for n in labels if not isinstance(labels, dict) or labels[n]}
            known = set(labels) if isinstance(labels, dict) else predicted | yes
            judged = (predicted & known) | (yes & fed)
            trials.update(judged)
            errors.update(name for name in judged if (name in predicted) != (name in yes))
        model.learn(text, labels)
    counted = model.state.blocks[: len(model.labels), 0].tolist()
    assert counted == [[trials[name], errors[name]] for name in model.labels]
    assert model.state.all_blocks[0, 0].tolist() == [trials.total(), errors.total()]


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 20), st.integers(1, 9))
def test_stretches_end_at_fixed_places_of_the_stream(labelled, before, every):
    known = np.array(labelled, np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift, "EVERY", every)
        stretches = list(Watch.stretches(known, before))
    assert [start for start, _, _ in stretches] == [0, *(stop for _, stop, _ in stretches[:-1])]
    assert stretches[-1][1] == len(known) or stretches == [(0, 0, False)]
    due = [stop for _, stop, is_due in stretches if is_due]
    assert due == [
        at + 1
        for at, is_labelled in enumerate(labelled)
        if is_labelled and (before + sum(labelled[: at + 1])) % every == 0
    ]


# ── alarms ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.compiled
@pytest.mark.parametrize("rule", ["margin", "centroid"])
@pytest.mark.parametrize("detector", DETECTORS)
def test_a_sudden_change_raises_an_alarm_soon_and_helps(rule, detector):
    stream = Stream(5000, 8, "sudden", at=3000, seed=2)
    texts, labels = map(list, zip(*stream, strict=True))
    right = []
    for watching in ("none", detector):
        model = Clasher(4096, rule=rule, max_labels=8, detector=watching)
        predicted = model.step_many(texts, labels)
        right.append(sum(predicted[i] == set(labels[i]) for i in range(3000, 5000)))
    assert right[1] > right[0] + (50 if rule == "centroid" else 20)  # margin recovers by itself
    first, *_ = model.alarms
    assert first.document - stream.points[0] < 600
    assert first.label in (None, *stream.changed)
    for alarm in model.alarms:
        assert alarm.document > stream.points[0]
        assert 0 <= alarm.error_before < alarm.error_after <= 1


@pytest.mark.compiled
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("detector", DETECTORS)
def test_a_stream_without_drift_raises_no_alarm(rule, detector):
    documents = list(Stream(6000, 8, "none", seed=2))
    watching = learnt(documents, rule=rule, detector=detector, dimensions=4096)
    assert watching.alarms == []
    plain = learnt(documents, rule=rule, dimensions=4096)
    watched = memory.contents(watching.state)
    for name, array in memory.contents(plain.state).items():
        if array.size:
            assert np.array_equal(array, watched[name]), name


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("detector", DETECTORS)
def test_alarms_do_not_depend_on_how_the_stream_is_cut(rule, detector):
    stream = [*two_worlds(120), ("nothing is known of this", None), *two_worlds(40)]
    texts, labels = [text for text, _ in stream], [known for _, known in stream]
    with quick():
        whole = learnt(stream, rule=rule, detector=detector)
        assert whole.alarms or rule in ("mistake", "perceptron")  # which are soon right again
        for size in (1, 3, 8, 50):
            parts = Clasher(64, rule=rule, max_labels=8, detector=detector)
            for start in range(0, len(stream), size):
                inside = slice(start, start + size)
                (parts.learn_many if size == 3 else parts.step_many)(texts[inside], labels[inside])
            assert parts.alarms == whole.alarms
            assert state_bytes(parts) == state_bytes(whole)


@pytest.mark.parametrize("rule", RULES)
def test_a_loaded_model_learns_on_as_if_never_stopped(rule, tmp_path):
    stream = two_worlds(160)
    with quick():
        whole = learnt(stream, rule=rule, detector="window")
        stopped = learnt(stream[:70], rule=rule, detector="window")
        for start, stop in ((70, 97), (97, 160)):
            stopped.save(tmp_path / "model")
            stopped = Clasher.load(tmp_path / "model")
            stopped.learn_many(*map(list, zip(*stream[start:stop], strict=True)))
    assert whole.alarms or rule == "mistake"
    assert stopped.alarms == whole.alarms
    assert state_bytes(stopped) == state_bytes(whole)


def test_adwin_continues_after_loading(tmp_path):
    """It is rebuilt from the blocks in the file, so the alarm may come at another document."""
    stream = two_worlds(160)
    with quick():
        learnt(stream[:70], detector="adwin").save(tmp_path / "model")
        loaded = Clasher.load(tmp_path / "model")
        loaded.learn_many(*map(list, zip(*stream[70:], strict=True)))
    assert loaded.alarms


@pytest.mark.parametrize("rule", RULES)
def test_an_evicted_label_loses_its_record(rule):
    with quick():
        model = learnt(two_worlds(60), rule=rule, detector="adwin", max_labels=2, on_full="evict")
        number = model._index.numbers["oil"]
        model.learn("wheat", {"grain"})
        model.learn("gold", {"gold"})
        assert model._index.numbers["gold"] == number
        assert model.state.blocks[number].sum() <= 1
        assert (model.state.recent_labels == number).sum() == 1
        assert ("label", number) not in model._watch.detector._known


@pytest.mark.parametrize("detector", DETECTORS)
def test_memory_stays_bounded_with_everything_on(detector):
    with quick():
        model = Clasher(64, max_labels=20, detector=detector, half_life=10, on_full="evict")
        random = np.random.default_rng(1)
        for batch in range(12):
            words = random.integers(0, 10**9, (40, 6))
            texts = [" ".join(f"w{word}" for word in row) for row in words]
            model.step_many(texts, [{f"label{random.integers(9 + 5 * batch)}"} for _ in texts])
            assert model.nbytes <= model.max_nbytes
            if batch == 8:
                shapes = [array.shape for array in model.state[1:]]
            model._watch.alarms += [Alarm(batch, None, 0.1, 0.2)] * 30
            model._watch.alarms = model._watch.alarms[-drift.MOST_ALARMS :]
        assert [array.shape for array in model.state[1:]] == shapes
        assert len(model.alarms) <= drift.MOST_ALARMS


def test_only_the_latest_alarms_are_kept():
    with quick():
        model = learnt(two_worlds(64), detector="window")
        raised = len(model.alarms)
        model._watch.alarms = [Alarm(0, None, 0.1, 0.2)] * drift.MOST_ALARMS
        model.learn_many(*map(list, zip(*reversed(two_worlds(64)), strict=True)))
    assert raised
    assert len(model.alarms) == drift.MOST_ALARMS
    assert model.alarms[-1].document > 64


def test_a_detector_adds_little_memory():
    assert Clasher(64).nbytes < Clasher(64, detector="window").nbytes
    documents, buckets, labels = RECENT
    extra = 32 * (BLOCKS + 1) * 2 * 4 + (BLOCKS + 1) * 2 * 4
    extra += documents * (buckets * 8 + labels * 4) + 64 * (8 + 8 + LONGEST)  # and words
    assert Clasher(64, detector="window").nbytes - Clasher(64).nbytes == extra


def test_without_a_detector_there_are_no_alarms():
    assert learnt(two_worlds(300)).alarms == []


def test_alarms_convert_to_plain_values_and_back():
    alarm = Alarm(512, "oil", 0.25, 0.5, ("fracking",), ())
    assert Alarm.of(alarm.to_dict()) == alarm
    assert str(alarm) == "document 512: oil, errors 25 % → 50 %; more fracking"
    assert "all labels" in str(Alarm(1, None, 0.0, 1.0))


# ── what changed ─────────────────────────────────────────────────────────────────────────────────


def bucket(model: Clasher, word: str) -> int:
    return int(model.hash_many([word]).buckets[0])


@pytest.mark.parametrize("rule", ["margin", "centroid"])
def test_the_words_of_a_label_that_changed(rule):
    model = Clasher(4096, rule=rule, detector="window", max_labels=8)
    model.learn_many(["wheat corn market", "crude barrel market"] * 30, [{"grain"}, {"oil"}] * 30)
    for _ in range(9):
        model.learn_many(["quinoa market", "crude barrel market"], [{"grain"}, {"oil"}])
    kept = model.state.recent_labels
    kept[:50] = -1  # as if the ring were small
    change = label_changed(model.state, model._index.numbers["grain"])
    assert np.argmax(change) == bucket(model, "quinoa")
    assert set(np.argsort(change)[:2]) == {bucket(model, "wheat"), bucket(model, "corn")}
    unmoved = label_changed(model.state, model._index.numbers["oil"])
    assert np.abs(unmoved).max() < 0.2


def test_the_words_of_all_documents_that_changed():
    model = Clasher(4096, detector="window", max_labels=8, analyzer=Analyzer())
    model.observe_many(["wheat corn market"] * 50)
    model.learn_many(["quinoa market"] * 9, [{"grain"}] * 9)
    change = all_changed(model.state)
    assert np.argmax(change) == bucket(model, "quinoa")
    assert np.argmin(change) in {bucket(model, "wheat"), bucket(model, "corn")}


def test_long_documents_are_sampled_evenly():
    model = Clasher(4096, rule="centroid", detector="window", max_labels=8)
    words = [f"w{number}" for number in range(300)]
    model.observe("other words")
    for _ in range(6):
        model.learn(" ".join(words), {"long"})
    hashed = model.hash_many([" ".join(words)])
    kept = model.state.recent_buckets[1]
    assert len(set(kept.tolist())) == RECENT[1]
    assert kept[0] == hashed.buckets[0]
    assert set(kept.tolist()) & set(hashed.buckets[-10:].tolist())


def test_too_few_documents_name_no_words():
    model = Clasher(64, detector="window", max_labels=8)
    model.learn("wheat", {"grain"})
    assert not label_changed(model.state, 0).any()


def test_the_perceptron_keeps_no_mean_to_compare_with():
    model = Clasher(64, rule="perceptron", detector="window", max_labels=8)
    model.learn_many(TEXTS, [{"all"}] * len(TEXTS))
    assert not label_changed(model.state, 0).any()


# ── the model file ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("alarms", "message"),
    [
        ("all", "its header is not that of a clasher model"),
        ([1], "its alarms are not valid"),
        ([{"document": 3}], "its alarms are not valid"),
    ],
)
def test_files_with_bad_alarms(tmp_path, alarms, message):
    path = tmp_path / "model"
    Clasher(16, detector="window").save(path)
    header, body = mutations.parse(path.read_bytes())
    about = mutations.about(header) | {"alarms": alarms}
    path.write_bytes(mutations.build(mutations.signed(header, body, about), body))
    with pytest.raises(ModelFileError, match=message):
        Clasher.load(path)


def test_files_with_latest_documents_of_another_model(tmp_path):
    path = tmp_path / "model"
    model = Clasher(16, detector="window")
    model.state.recent_buckets[0, 0] = 2**30
    model.save(path)
    with pytest.raises(ModelFileError, match="its latest documents contradict its settings"):
        Clasher.load(path)
