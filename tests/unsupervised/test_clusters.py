"""Clusters against online k-means written out plainly."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clasher import Clasher, Clusters, HashedTfidf
from clasher.errors import ModelFileError, SettingError
from clasher.unsupervised.clusters import PATIENCE
from tests.models import state_bytes
from tests.strategies import cuts, text, words

M = 64
TOLERANCE = 1e-4  # between float32 sums and those below
streams = st.lists(words, min_size=1, max_size=25)
TOPICS = (["wheat", "corn", "harvest"], ["bank", "rates", "loan"], ["oil", "gas", "barrel"])


def topical(documents, seed=0):
    """Texts of one topic each, and their topics."""
    random = np.random.default_rng(seed)
    topics = random.integers(0, len(TOPICS), documents)
    return [" ".join(random.choice(TOPICS[topic], 4)) for topic in topics], topics


def check_by_hand(texts, k, threshold, patience, found, half_life=None):
    """Check every choice against plain online k-means."""
    vectors = HashedTfidf(M, half_life=half_life)
    rows = vectors.step_arrays(texts).to_dense(M).astype(float)
    sums, fed = [], []
    for n, (x, cluster, similarity) in enumerate(zip(rows, *found, strict=True), 1):
        if not x.any():
            assert cluster == -1
            continue
        cosines = [x @ s / (np.linalg.norm(s) or 1.0) for s in sums]
        best = max(cosines, default=0.0)
        assert similarity == pytest.approx(best, abs=TOLERANCE)
        assume(abs(best - threshold) > TOLERANCE)
        if sums and best > threshold:
            assert cosines[cluster] > best - TOLERANCE
        elif len(sums) < k:
            assert cluster == len(sums)
            sums.append(np.zeros(M))
            fed.append(n)
        elif n - min(fed) > patience:
            assert cluster == np.argmin(fed)
            sums[cluster] = np.zeros(M)
        else:
            assert cosines[cluster] > best - TOLERANCE
        sums[cluster] = sums[cluster] + x * (2.0 ** (n / half_life) if half_life else 1.0)
        fed[cluster] = n


@given(streams, st.integers(1, 5), st.sampled_from([0.1, 0.3, 0.6]))
def test_clusters_are_those_of_online_k_means(documents, k, threshold):
    texts = [text(document) for document in documents]
    found = Clusters(k, M, threshold=threshold).learn_many(texts)
    check_by_hand(texts, k, threshold, math.inf, found)


@given(streams, st.sampled_from([1.0, 3.5, 50.0]))
def test_old_documents_count_less(documents, half_life):
    texts = [text(document) for document in documents]
    found = Clusters(3, M, half_life=half_life).learn_many(texts)
    check_by_hand(texts, 3, 0.2, math.inf, found, half_life)


def test_clusters_that_forget_go_on_for_ever(tmp_path):
    """Learn long enough that all sums are scaled down."""
    clusters = Clusters(3, M, half_life=1.0)
    texts, _ = topical(150)
    found = [clusters.learn_many(texts[at : at + 50]) for at in (0, 50)]
    clusters.save(tmp_path / "clusters")
    back = Clusters.load(tmp_path / "clusters")
    assert clusters.learn_many(texts[100:]).clusters.tolist() == (
        back.learn_many(texts[100:]).clusters.tolist()
    )
    assert found[1].similarities.max() > 0.5
    assert clusters.sizes.sum() <= 2  # 1 + 1/2 + 1/4 + …


@given(streams, st.integers(1, 3))
def test_stale_clusters_make_room(documents, k):
    texts = [text(document) for document in documents]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clasher.unsupervised.clusters.PATIENCE", 2)
        found = Clusters(k, M, threshold=0.5, recycle=True).learn_many(texts)
    check_by_hand(texts, k, 0.5, 2 * k, found)


def test_a_new_topic_replaces_a_stale_cluster():
    first = ["corn", *["wheat harvest"] * 3, *["bank loan"] * (2 * PATIENCE + 5), "oil gas barrel"]
    kept, given = (Clusters(2, M, recycle=recycle) for recycle in (False, True))
    assert kept.learn_many(first).clusters[-1] >= 0
    assert kept.sizes.sum() == len(first) - 1
    assert given.learn_many(first).clusters[-1] == 0
    assert given.sizes[0] == 1
    assert given.predict("oil barrel") == 0
    assert given.predict("bank") == 1


def test_clusters_separate_topics():
    texts, topics = topical(150)
    found = Clusters(6, 1024, threshold=0.1).learn_many(texts).clusters
    for cluster in range(found.max() + 1):
        inside = topics[found == cluster]
        assert (inside == np.bincount(inside).argmax()).mean() > 0.9


@given(st.data(), streams)
def test_clusters_do_not_depend_on_batches(data, documents):
    texts = [text(document) for document in documents]
    whole, parts = Clusters(4, M), Clusters(4, M)
    expected = whole.learn_many(texts)
    found = [parts.learn_many(texts[cut]) for cut in data.draw(cuts(len(texts)))]
    for at, column in enumerate(expected):
        assert np.concatenate([part[at] for part in found]).tobytes() == column.tobytes()
    assert state_bytes(whole) == state_bytes(parts)


def test_predicting_changes_nothing():
    texts, _ = topical(30)
    clusters = Clusters(3, M)
    clusters.learn_many(texts)
    before = state_bytes(clusters)
    one, other = clusters.predict_many(texts), clusters.predict_many(texts)
    assert state_bytes(clusters) == before
    assert one.clusters.tolist() == other.clusters.tolist()
    assert clusters.predict(texts[3]) == one.clusters[3]


def test_documents_without_weight_are_in_no_cluster():
    clusters = Clusters(3, M)
    assert clusters.learn_many([]).clusters.tolist() == []
    assert clusters.predict("wheat") == -1
    assert [clusters.learn(t) for t in ("wheat", "", "corn", "oil")] == [-1, -1, 0, 1]
    assert clusters.predict("") == -1
    assert (clusters.documents, len(clusters)) == (4, 2)


def test_memory_never_grows():
    clusters = Clusters(5, M, recycle=True)
    sizes = []
    for first in range(0, 900, 300):
        texts = [f"word{i} word{i * 7 % 40} word{i % 5}" for i in range(first, first + 300)]
        clusters.learn_many(texts)
        sizes.append(clusters.nbytes)
    assert max(sizes) < 1.1 * sizes[0]
    assert len(clusters) <= 5


def test_loaded_clusters_learn_on(tmp_path):
    texts, _ = topical(80)
    clusters = Clusters(4, M, threshold=0.3, recycle=True, seed=2, tf="count")
    clusters.learn_many(texts[:40])
    clusters.save(tmp_path / "clusters")
    back = Clusters.load(tmp_path / "clusters")
    assert back.settings == clusters.settings
    assert back.k == 4
    assert back.learn_many(texts[40:]).clusters.tolist() == (
        clusters.learn_many(texts[40:]).clusters.tolist()
    )
    back.save(tmp_path / "one")
    clusters.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_file_of_clusters_is_a_model_with_a_label_for_each(tmp_path):
    texts, _ = topical(60)
    clusters = Clusters(3, 1024)
    clusters.learn_many(texts)
    clusters.save(tmp_path / "clusters")
    model = Clasher.load(tmp_path / "clusters")
    found = clusters.predict_many(texts[:9]).clusters
    assert [model.predict(t) for t in texts[:9]] == [{f"cluster {c}"} for c in found]


def test_a_model_with_labels_is_no_file_of_clusters(tmp_path):
    model = Clasher(M)
    model.learn("wheat", {"grain"})
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="a model with labels of its own"):
        Clusters.load(tmp_path / "model")


def test_top_words_of_a_cluster(tmp_path):
    texts, _ = topical(120)
    clusters = Clusters(3, 4096, threshold=0.1)
    clusters.learn_many(["and so on", *(f"{t} and" for t in texts)])
    clusters.save(tmp_path / "clusters")
    for number in range(3):
        found = clusters.top_words(number, 3)
        assert {word for word, _ in found} in [set(topic) for topic in TOPICS]
        weights = [weight for _, weight in found]
        assert weights == sorted(weights, reverse=True)
        assert Clusters.load(tmp_path / "clusters").top_words(number, 3) == found
    for number in (-1, 3):
        with pytest.raises(SettingError, match="must be the number of a cluster, below 3"):
            clusters.top_words(number)


def test_words_need_not_be_kept():
    plain, named = (Clusters(2, M, words=words) for words in (False, True))
    texts, _ = topical(20)
    assert plain.learn_many(texts).clusters.tolist() == named.learn_many(texts).clusters.tolist()
    assert plain.nbytes < named.nbytes
    with pytest.raises(SettingError, match="keeps no words"):
        plain.top_words(0)


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": 5000}, {"k": 2.0}, {"threshold": 0}, {"threshold": 1},
              {"threshold": None}, {"threshold": "0.5"}, {"half_life": 0.5}, {"tf": "x"},
              {"dimensions": 1}],
)  # fmt: skip
def test_settings_out_of_range(wrong):
    with pytest.raises(SettingError, match=f"The {next(iter(wrong))!r} parameter of"):
        Clusters(**wrong)


def test_properties_and_repr():
    assert repr(Clusters(3, M)) == "<Clusters 0 of 3, documents=0>"
