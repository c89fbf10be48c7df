"""Compare the peers of the benchmark with plain computations of their algorithms."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from benchmarks.peers import SYSTEMS, exact, nearest, svm
from benchmarks.peers.base import Record, Task
from benchmarks.peers.clasher_rules import RULES
from benchmarks.peers.terms import Terms
from benchmarks.tests.runs import run
from clasher import Analyzer, Clasher
from clasher.settings import PAPER
from support.corpora import Corpus, synthetic
from support.reference import plain
from support.reference.margin import reference
from support.reference.near_ties import gap
from support.reference.paper import inner

SHARP = 1e-3  # decisions closer than this are left to rounding


def stream(documents: int = 90) -> Corpus:
    return synthetic(documents, labels=5, vocabulary=150, words=12)


def with_changed_end(corpus: Corpus, start: int) -> Corpus:
    """Return the same stream up to a document, with other words and labels after it."""
    texts = corpus.texts.to_pylist()[:start] + ["all of this is new"] * (len(corpus) - start)
    labels = corpus.labels.to_pylist()[:start] + [["topic0000"]] * (len(corpus) - start)
    return Corpus("changed", pa.array(texts), pa.array(labels), "")


def predictions(system: str, corpus: Corpus, **task: Any) -> list[set[str]]:
    """Return the predictions of a system for a stream."""
    return [set(labels) for labels in run(system, Task(corpus, Path(), **task))[1]]


def half(documents: int) -> Any:
    return np.random.default_rng(1).random(documents) < 0.5


# ── terms ────────────────────────────────────────────────────────────────────────────────────


TEXTS = ["Oil, oil & GAS?", "", "gas ☂ a 小麦粉", "no oil! " * 30]


def plain_terms(text: str, analyzer: Analyzer) -> Counter[Any]:
    """Return words as text and pairs as two words, in order of first appearance."""
    words = [word for word, _, _ in plain.words(text, analyzer.min_length, analyzer.marks)]
    counts: Counter[Any] = Counter(words)
    if len(words) < analyzer.pairs:
        for pair in pairwise(words):
            counts[pair] += 0.5
    return counts


@pytest.mark.parametrize("analyzer", [Analyzer(), Analyzer.rich()], ids=["words", "rich"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_terms_are_counted_exactly_each_with_its_own_number(analyzer: Analyzer, size: int):
    terms = Terms(analyzer)
    numbers: dict[int, Any] = {}
    for start in range(0, len(TEXTS), size):
        texts = TEXTS[start : start + size]
        counted = terms.count(texts)
        for text, (first, last) in zip(texts, pairwise(counted.indptr), strict=True):
            expected = plain_terms(text, analyzer)
            assert counted.counts[first:last].tolist() == list(expected.values())
            for number, term in zip(counted.terms[first:last].tolist(), expected, strict=True):
                assert numbers.setdefault(number, term) == term
    assert sorted(numbers) == list(range(len(terms)))
    assert len(set(numbers.values())) == len(terms)


def test_terms_without_a_column_are_left_out():
    terms = Terms(Analyzer())
    terms.count(["oil gas"])
    assert terms.count(["new gas", "gas newer gas"]).to_sparse(2).toarray().tolist() == [
        [0.0, 1.0], [0.0, 2.0],
    ]  # fmt: skip


def test_terms_refuse_n_grams():
    with pytest.raises(ValueError, match="counts no n-grams"):
        Terms(Analyzer(ngrams=2))


# ── without hashing ──────────────────────────────────────────────────────────────────────────


def oracle_of(rule: str) -> tuple[Any, Analyzer]:
    if rule.startswith("paper"):
        return reference("centroid" if rule == "paper-1" else "mistake", **PAPER), Analyzer()
    return reference(rule), Analyzer.rich() if rule == "margin" else Analyzer()


@pytest.mark.parametrize("rule", exact.WITHOUT_HASHING)
def test_a_rule_without_hashing_equals_the_paper_on_exact_counts(rule: str):
    """The stream leaves out documents whose decision depends on rounding."""
    oracle, analyzer = oracle_of(rule)
    numbers: dict[Any, int] = {}
    kept, expected = [], []
    documents = zip(stream().texts.to_pylist(), stream().labels.to_pylist(), strict=True)
    for at, (text, own) in enumerate(documents):
        document = [
            (numbers.setdefault(term, len(numbers)), count)
            for term, count in plain_terms(text, analyzer).items()
        ]
        if gap(oracle, document) > SHARP:
            kept.append(at)
            expected.append(oracle.step(document, own))
    assert len(kept) > 30
    texts, labels = (column.take(pa.array(kept)) for column in (stream().texts, stream().labels))
    assert predictions(f"exact-{rule}", Corpus("sharp", texts, labels, "")) == expected


@pytest.mark.parametrize("rule", exact.WITHOUT_HASHING)
def test_with_room_for_all_hashing_changes_nothing(rule: str):
    dimensions = 2**22
    model = exact.build(RULES[rule] | {"dimensions": dimensions})
    terms = exact.vocabulary(RULES[rule], Task(stream(), Path()))
    assert len(np.unique(model.hash_many(stream().texts).buckets)) == len(terms)
    task: dict[str, Any] = {"learn": half(90), "test_from": 70}
    hashed = predictions(f"clasher-{rule}", stream(), options={"dimensions": dimensions}, **task)
    assert predictions(f"exact-{rule}", stream(), **task) == hashed


def test_a_vocabulary_too_large_for_memory_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exact, "MOST_BYTES", 1e4)
    with pytest.raises(MemoryError, match=r"[\d,]+ terms × 5 labels .* use fewer documents"):
        predictions("exact-margin", stream())


def test_the_analysis_is_that_of_the_rule():
    assert Clasher().settings.analyzer == Analyzer.rich()
    assert len(exact.vocabulary(RULES["margin"], Task(stream(), Path()))) > len(
        exact.vocabulary(RULES["centroid"], Task(stream(), Path()))
    )


# ── nearest neighbours ───────────────────────────────────────────────────────────────────────


def by_brute_force(corpus: Corpus, learn: Any, test_from: int) -> list[dict[int, float]]:
    """Return the cosine of each document with each kept document before it."""
    frequencies: Counter[str] = Counter()
    vectors: list[dict[str, float]] = []
    found = []
    for at, text in enumerate(corpus.texts.to_pylist()):
        counts = Counter(word for word, _, _ in plain.words(text))
        seen = min(at, test_from)
        vector = {
            word: count * math.log((seen + 1) / (frequencies[word] + 1))
            for word, count in counts.items()
        }
        length = math.sqrt(math.fsum(weight**2 for weight in vector.values())) or 1.0
        own = {word: weight / length for word, weight in vector.items()}
        kept = [other for other in range(seen) if learn[other]]
        found.append({other: inner(own, vectors[other]) for other in kept})
        vectors.append(own)
        if at < test_from:
            frequencies.update(set(counts))
    return found


@pytest.mark.parametrize("batch", [1, 7, 1000])
@pytest.mark.parametrize("test_from", [None, 60])
def test_the_nearest_neighbour_is_that_of_brute_force(
    batch: int, test_from: int | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(nearest, "BATCH", batch)
    learn = half(90)
    cosines = by_brute_force(stream(), learn, 90 if test_from is None else test_from)
    truth = stream().labels.to_pylist()
    predicted = predictions("knn", stream(), learn=learn, test_from=test_from)
    for own, labels in zip(cosines[test_from or 0 :], predicted, strict=True):
        best = max(own.values(), default=0.0)
        nearly = [other for other, cosine in own.items() if 0 < best < cosine + 1e-6]
        assert labels in ([set(truth[other]) for other in nearly] or [set()])


def test_neighbours_come_from_the_past_only():
    changed = with_changed_end(stream(), 50)
    assert predictions("knn", changed)[:50] == predictions("knn", stream())[:50]


# ── support vector machines ──────────────────────────────────────────────────────────────────


RETRAINING = {"first": 20, "every": 15, "until": 50, "then": 30}


def by_hand(corpus: Corpus, learn: Any, trained_at: int) -> tuple[TfidfVectorizer, dict[str, Any]]:
    """Return the features of a training, and the SVM of each label with documents."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"[^\W_]{2,}")
    features = vectorizer.fit_transform(corpus.texts.to_pylist()[:trained_at])[learn[:trained_at]]
    labels = [own for own, known in zip(corpus.labels.to_pylist(), learn, strict=True) if known]
    models = {}
    for name in corpus.label_names:
        truth = [name in own for own in labels[: features.shape[0]]]
        if any(truth):
            models[name] = LinearSVC(loss="hinge", tol=0.1, random_state=0).fit(features, truth)
    return vectorizer, models


def test_the_svm_is_the_one_fitted_by_hand_on_all_so_far():
    learn = half(90)
    corpus = stream()
    predicted = predictions("svm-retrained", corpus, learn=learn, options=RETRAINING)
    assert not any(predicted[:20])
    for start, stop in pairwise([20, 35, 50, 80, 90]):
        vectorizer, models = by_hand(corpus, learn, start)
        features = vectorizer.transform(corpus.texts.to_pylist()[start:stop])
        yes = {name: model.predict(features) for name, model in models.items()}
        for at in range(start, stop):
            assert predicted[at] == {name for name in yes if yes[name][at - start]}
    assert any(predicted[20:35])


@pytest.mark.parametrize(
    ("system", "options", "test_from", "trained_at"),
    [
        ("svm-retrained", RETRAINING, None, [20, 35, 50, 80]),
        ("svm-retrained", RETRAINING, 60, [20, 35, 50]),
        ("svm-first", {"first": 20}, None, [20]),
        ("svm-first", {}, None, [30]),
        ("svm-first", {}, 60, [20]),
        ("svm-full", {}, 60, [60]),
    ],
)  # fmt: skip
def test_the_svm_is_trained_at_the_given_times(
    system: str, options: dict[str, int], test_from: int | None, trained_at: list[int]
):
    record = Record(Task(stream(), Path(), options=options, test_from=test_from))
    SYSTEMS[system].run(record.task, record)
    assert record.figures()["trained_at"] == trained_at


def test_the_svm_is_trained_as_often_as_in_the_paper():
    early = [4_000, 6_000, 8_000, 10_000, 12_000, 14_000, 16_000, 18_000, 20_000]
    assert svm.again(3_999) == []
    assert svm.again(11_367) == early[:4]
    assert svm.again(167_861) == [*early, *range(40_000, 160_001, 20_000)]
    assert svm.once(400_000) == [22_000]


@pytest.mark.parametrize("changed_from", [40, 45, 50])
def test_the_svm_does_not_see_the_future(changed_from: int):
    options = {"first": 20, "every": 10}
    changed = with_changed_end(stream(), changed_from)
    one, other = (predictions("svm-retrained", own, options=options) for own in (stream(), changed))
    assert one[:changed_from] == other[:changed_from]


def test_a_label_of_all_documents_is_always_predicted_and_one_of_none_never():
    labels = [["always", *(["late"] if at >= 20 else [])] for at in range(30)]
    corpus = Corpus("c", stream().texts[:30], pa.array(labels), "")
    predicted = predictions("svm-retrained", corpus, options={"first": 10, "every": 100})
    assert predicted == [set()] * 10 + [{"always"}] * 20


def test_two_processes_find_what_one_does(monkeypatch: pytest.MonkeyPatch):
    options = {"first": 30, "every": 100}
    one = predictions("svm-retrained", stream(), options=options)
    monkeypatch.setattr(svm, "WORTH_IT", 0)
    assert predictions("svm-retrained", stream(), options=options) == one


def test_settings_of_the_solver_are_options_and_others_are_refused():
    weak = predictions("svm-first", stream(), options={"C": 1e-6})
    assert predictions("svm-first", stream()) != weak
    with pytest.raises(TypeError, match="unexpected keyword argument 'cost'"):
        predictions("svm-first", stream(), options={"cost": 1})
