"""Everything switched on at once: nothing grows with the stream."""

import gc
import tracemalloc

import pytest

from clasher import Analyzer, Clasher, Clusters, HashedTfidf, Similar
from clasher.errors import SettingError
from clasher.learning import memory

EVERYTHING = {
    "weighting": "icf",
    "max_labels": 16,
    "on_full": "evict",
    "depth": 3,
    "conservative": True,
    "pending": 20,
    "words": True,
    "half_life": 50.0,
}
ANALYZER = Analyzer(
    stop_words=("the", "of"), ngrams=(1, 2), char_ngrams=(3, 4),
    strip_html=True, strip_urls=True, fold_numbers=True,
)  # fmt: skip
WARM = 31  # stretches until all that is loaded on demand is there
LITTLE = 100_000  # bytes: less than the documents of the stretches in between would take


def stretch(number):
    """Forty documents with words, labels and ids that never came before."""
    first = 40 * number
    texts = [f"<p>the word{i} of day{i // 3} https://x.org/{i} &amp; tail</p>" for i in
             range(first, first + 40)]  # fmt: skip
    labels = [{f"label {i // 5}", f"theme {i % 7}"} if i % 3 else None for i in
              range(first, first + 40)]  # fmt: skip
    return texts, labels, [f"id {i}" for i in range(first, first + 40)]


def memory_after(step, stretches=64):
    """Python's memory after each stretch of a stream, once caches are warm."""
    tracemalloc.start()
    try:
        sizes = []
        for number in range(stretches):
            step(number)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
        return sizes
    finally:
        tracemalloc.stop()


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("rule", "detector"),
    [
        ("margin", "adwin"),
        pytest.param("centroid", "window", marks=pytest.mark.trial),
        pytest.param("mistake", "window", marks=pytest.mark.trial),
        pytest.param("perceptron", "adwin", marks=pytest.mark.trial),
    ],
)
def test_a_model_with_everything_on_does_not_grow(rule, detector):
    model = Clasher(256, rule=rule, detector=detector, analyzer=ANALYZER, **EVERYTHING)
    most = model.max_nbytes

    def step(number):
        texts, labels, ids = stretch(number)
        model.step_many(texts, labels)
        model.learn_many(texts, labels, ids=ids)
        waits = max(at for at, known in enumerate(labels) if known is None)
        taught = max(at for at, known in enumerate(labels) if known)
        model.unlearn(texts[taught], labels[taught])
        model.learn_later(ids[waits], {"late"})
        assert model.nbytes <= most

    sizes = memory_after(step)
    assert sizes[-1] < sizes[WARM] + LITTLE
    assert len(model.labels) <= 16
    assert model.pending <= 20
    assert model.dropped > 0


@pytest.mark.compiled
@pytest.mark.parametrize(
    "make", [lambda: HashedTfidf(256), lambda: Similar(30, 256), lambda: Clusters(4, 256)],
    ids=["HashedTfidf", "Similar", "Clusters"],
)  # fmt: skip
def test_unsupervised_models_do_not_grow(make):
    model = make()
    most = memory.nbytes(model.settings, 4) if isinstance(model, Clusters) else model.nbytes
    learn = next(getattr(model, name) for name in ("partial_fit", "add_many", "learn_many")
                 if hasattr(model, name))  # fmt: skip

    def step(number):
        learn(stretch(number)[0])
        assert model.nbytes <= most

    sizes = memory_after(step)
    assert sizes[-1] < sizes[WARM] + LITTLE


@pytest.mark.compiled
@pytest.mark.parametrize(
    "rule", ["margin", *(pytest.param(rule, marks=pytest.mark.trial) for rule in
                         ("centroid", "mistake", "perceptron"))],
)  # fmt: skip
def test_a_budget_holds_whatever_the_stream_brings(rule):
    """New words and labels for ever: values are dropped and labels evicted, nothing grows."""
    most = 2**16
    model = Clasher(512, rule=rule, max_bytes=most, on_full="evict")
    assert model.max_nbytes <= most

    def step(number):
        model.learn_many(*stretch(number)[:2])
        assert model.nbytes <= most

    sizes = memory_after(step, 120)
    assert sizes[-1] < sizes[100] + LITTLE
    assert model.dropped_values > 0
    assert len(model.labels) == model.most_labels < 100 * 8


def test_a_budget_too_small_for_the_dimensions_is_refused():
    with pytest.raises(SettingError, match="raise max_bytes, or lower dimensions"):
        Clasher(2**16, max_bytes=2**20)
