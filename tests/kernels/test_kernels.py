"""Properties of kernels that the model does not show; oracle tests compare their results."""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clasher
from clasher import Settings, kernels
from clasher.kernels import kernel
from clasher.kernels.labels import (
    COMPLETE,
    NO,
    PARTIAL,
    UNKNOWN,
    YES,
    above,
    best_two,
    best_two_listed,
    mark,
    stated,
    unmark,
)
from clasher.kernels.margin import sigmoid
from clasher.kernels.regions import COUNT_LIMIT, halve, ratio, scale_label, scale_row
from clasher.kernels.sketch import weigh
from clasher.kernels.state import FADED
from clasher.labels import LabelSets
from clasher.learning import memory
from clasher.text.hashing import Hasher
from tests.models import TEXTS, UNSEEN, dense, taught

REGIONS = ("margin", "centroid", "mistake")


# ── counting without end ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rule", REGIONS)
@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_halving_changes_no_mean_fraction_or_cosine(rule, similarity):
    model = taught(rule, similarity=similarity)
    state = model._state
    scores = model.probabilities_many(TEXTS + UNSEEN)
    explained = [model.explain(text, "oil") for text in UNSEEN]
    before = dense(model)
    for label in (0, 2):
        halve(state, label)
    halved = np.ones(len(state.counts))
    halved[[0, 2]] = 0.5
    assert np.array_equal(state.counts, before.counts * halved)
    assert np.array_equal(dense(model).rows[:, 0], before.rows[:, 0] * halved)
    assert np.array_equal(dense(model).together, before.together * halved[:, None])
    if rule == "margin":  # looks at how many documents labels had, too
        return
    assert np.array_equal(model.probabilities_many(TEXTS + UNSEEN), scores)
    assert [model.explain(text, "oil") for text in UNSEEN] == explained


@pytest.mark.parametrize("rule", ["margin", "centroid"])
def test_a_label_is_halved_when_its_documents_reach_the_limit(rule):
    """Simulate a label with four million documents."""
    model = taught(rule)
    state = model._state
    factor = (COUNT_LIMIT - 1) / state.counts[0]
    state.counts[0] *= factor
    scale_row(state.together, 0, state.pool, np.float32(factor))
    scale_label(state.rows, state.pool, 0, np.float32(factor))
    state.norms[0] = np.square(dense(model).rows[:, 0, 0].astype(np.float64)).sum()
    state.scales[0] = 1 / math.sqrt(state.norms[0])
    scores = model.probabilities("crude oil and gold")
    for _ in range(4):
        model.learn("entirely different", {"oil": True})
    assert COUNT_LIMIT / 2 <= state.counts[0] < COUNT_LIMIT / 2 + 4
    assert dense(model).together[0, 0] == pytest.approx(state.counts[0], rel=1e-6)
    norm = np.square(dense(model).rows[:, 0, 0].astype(np.float64)).sum()
    assert state.norms[0] == pytest.approx(norm, rel=1e-9)
    assert state.scales[0] == pytest.approx(1 / math.sqrt(norm), rel=1e-9)
    if rule != "margin":  # whose weights have learnt from these documents
        assert model.probabilities("crude oil and gold") == pytest.approx(scores, abs=1e-4)


def test_norms_do_not_drift():
    model = taught("centroid", times=60)
    norms = np.square(dense(model).rows[:, 0].astype(np.float64)).sum(axis=0)
    np.testing.assert_allclose(model._state.norms, norms, rtol=1e-12)


# ── small pieces ─────────────────────────────────────────────────────────────────────────────────


@given(st.floats(-1e6, 1e6))
def test_sigmoid(z):
    assert 0 <= sigmoid(z) <= 1
    assert sigmoid(z) + sigmoid(-z) == pytest.approx(1)
    if abs(z) < 30:
        assert sigmoid(z) == pytest.approx(1 / (1 + math.exp(-z)))


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_ratio_stays_within_one(cosine, best):
    assert -1 <= ratio(cosine, best) <= 1
    if best <= 0:
        assert ratio(cosine, best) == 0
    elif abs(cosine) < best:
        assert ratio(cosine, best) == cosine / best


@given(
    st.lists(st.tuples(st.floats(-2, 2), st.booleans()), max_size=6),
    st.floats(-2, 2),
    st.floats(-2, 2) | st.sampled_from([-math.inf, math.inf]),
)
def test_labels_above_a_threshold(labels, threshold, floor):
    scores = np.array([score for score, _ in labels], np.float64)
    counts = np.array([float(able) for _, able in labels], np.float64)
    ids, out = np.arange(len(scores), dtype=np.int32), np.empty(len(scores) + 1, np.int32)
    likely = ids[::-1].copy()  # in any order
    best, second = best_two(scores, ids, counts, len(scores))
    assert (best, second) == best_two_listed(scores, ids, counts, likely)
    found = out[: above(scores, ids, likely, counts, threshold, floor, best, out)].tolist()
    able = [j for j, (_, is_able) in enumerate(labels) if is_able]
    expected = [j for j in able if scores[j] > threshold]
    if not expected and able:
        best = max(able, key=lambda j: scores[j])
        expected = [best] if scores[best] > floor else []
    assert found == expected


@pytest.mark.parametrize(("known", "rest"), [(COMPLETE, NO), (PARTIAL, UNKNOWN)])
def test_the_truth_of_a_document(known, rest):
    truth = np.zeros(4, np.int8)
    ids, yes = np.array([1, 3], np.int32), np.array([True, False])
    mark(truth, ids, yes)
    assert [stated(truth, known, label) for label in range(4)] == [rest, YES, rest, NO]
    unmark(truth, ids)
    assert not truth.any()


@pytest.mark.parametrize("norm", ["l2", "none"])
@pytest.mark.parametrize("weighting", ["tfidf", "tf"])
def test_weights_are_as_documented(norm, weighting):
    setting = Settings(rule="centroid", norm=norm, weighting=weighting).for_kernels()
    buckets, counts = np.array([2, 0, 1], np.int32), np.array([3, -2, 0], np.float32)
    state = memory.allocate(Settings(dimensions=4))
    state.frequencies[0], state.clock[FADED] = [4, 0, 9, 5], 9
    work = memory.work_for(state)
    none = np.empty(0, np.int32), np.empty(0, np.uint64)
    length = weigh(state, setting, buckets, counts, *none, work)
    expected = np.array([1 + math.log(3), -1 - math.log(2), 0])
    if weighting == "tfidf":
        expected *= [math.log(10 / 10), math.log(10 / 5), math.log(10 / 1)]
    if norm == "l2":
        expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(work.x[:3], expected, rtol=1e-6)
    assert length == pytest.approx(np.linalg.norm(expected))


def test_first_words_weigh_more():
    settings = Settings(dimensions=256, weighting="tf", norm="none")
    state = memory.allocate(settings)
    buckets, counts = np.arange(200, dtype=np.int32), np.ones(200, np.float32)
    work = memory.work_for(state)
    none = np.empty(0, np.int32), np.empty(0, np.uint64)
    weigh(state, settings.for_kernels(), buckets, counts, *none, work)
    lead = 1 + 0.6 * np.exp(-np.arange(200) / 16)
    lead[128:] = 1
    np.testing.assert_allclose(work.x[:200], lead, rtol=1e-6)


def test_codes_are_those_of_the_labels():
    assert LabelSets.of([None, set(), {}]).known.tolist() == [0, COMPLETE, PARTIAL]


# ── compilation ──────────────────────────────────────────────────────────────────────────────────


def test_a_kernel_takes_options():
    @kernel(inline="never")
    def twice(x):
        return 2 * x

    assert twice(3) == 6


@pytest.mark.compiled
def test_arrow_and_python_buffers_share_one_compilation():
    import pyarrow as pa

    from clasher.kernels import scan

    hash_documents = scan.hash_documents.variant({"PLACES": 0})
    hasher = Hasher(64)
    hasher.hash_many(["oil prices"])
    compiled = len(hash_documents.compiled.signatures)
    hasher.hash_one("oil")
    hasher.hash_many([])
    hasher.hash_many(pa.array(["oil"]))
    hasher.hash_many(pa.array(["oil", "gas"], pa.large_string())[1:])
    hasher.hash_many(pa.chunked_array([["oil"], ["gas"]]))
    hasher.hash_many(pa.array([], pa.string()))
    assert len(hash_documents.compiled.signatures) == compiled


@pytest.mark.compiled
def test_all_states_share_one_compilation():
    from clasher.kernels.clash import predict_documents, step_documents

    taught("margin").predict("oil")
    kernels = step_documents.compiled, predict_documents.compiled
    compiled = [len(kernel.signatures) for kernel in kernels]
    for rule in REGIONS:
        model = taught(rule, threshold=0.3, at_least_one=False, max_labels=100)
        model.step_many(TEXTS, [{"a"}] * len(TEXTS))
        model.probabilities_many(model.hash_many(UNSEEN))
        model._state = memory.grow(model._state, model.settings, 90)
        model.predict("oil")
        model.observe("oil")
    assert [len(kernel.signatures) for kernel in kernels] == compiled


TEACH = """
import numpy as np
from clasher import Settings
from clasher.kernels.clash import teach
from clasher.learning import memory
settings = Settings(dimensions=4, rule="perceptron", max_labels=1)
state = memory.allocate(settings)
buckets, ids, yes = np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones(1, np.bool_)
work, setting = memory.work_for(state), settings.for_kernels()
teach = teach.variant(setting.constants)
work.scores[:], work.x[:], work.truth[0], work.moved[0], work.likely[0] = 0.0, 1.0, 1, 0, 0
known = np.uint8(1)
teach(
    state, setting, buckets, 1.0, 0.0, True, 1, 0, (1, 1), 0, known, ids, yes, 1, work
)
step = memory.column(state, "rows", 0)[0][0]
print(float(step), sum(teach.compiled.stats.cache_hits.values()))
"""


@pytest.mark.trial
@pytest.mark.compiled
def test_a_change_to_one_kernel_recompiles_all(tmp_path):
    """Numba checks the file of a kernel only, but ``teach`` has others inlined."""
    package = tmp_path / "clasher"
    source = Path(clasher.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PYTHONPATH": str(tmp_path)}

    def run():
        command = [sys.executable, "-c", TEACH]
        environment = {**os.environ, **cache}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        step, hits = done.stdout.split()
        return float(step), int(hits)

    assert run() == (pytest.approx(0.1), 0)
    assert run() == (pytest.approx(0.1), 1)
    rules = package / "kernels" / "rules.py"
    old = rules.read_text("utf-8")
    new = old.replace("PERCEPTRON_STEP = np.float32(0.1)", "PERCEPTRON_STEP = np.float32(0.7)")
    assert new != old
    rules.write_text(new, "utf-8")
    assert run() == (pytest.approx(0.7), 0)


def test_the_digest_covers_every_kernel_file(tmp_path, monkeypatch):
    folder = Path(kernels.__file__).parent
    before = kernels._sources()
    shutil.copytree(folder, tmp_path / "kernels")
    monkeypatch.setattr(kernels, "__file__", str(tmp_path / "kernels" / "__init__.py"))
    assert kernels._sources.__wrapped__() == before
    for path in (tmp_path / "kernels").glob("*.py"):
        original = path.read_bytes()
        path.write_bytes(original + b"#")
        assert kernels._sources.__wrapped__() != before
        path.write_bytes(original)
