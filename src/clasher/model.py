"""The clashing system: Algorithm 1 of the paper, stage by stage."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from clasher import frames
from clasher.errors import LabelCapacityError, LabelError, SettingError, require_positive
from clasher.kernels.clash import predict_documents, step_documents
from clasher.kernels.margin import probability
from clasher.kernels.scan import vote
from clasher.kernels.state import DOCUMENTS, LABELLED, NOW, State
from clasher.labels import LabelIndex, Labels, LabelSets
from clasher.learning import explain as behind
from clasher.learning import memory, model_file
from clasher.learning.explain import Explanation, WordWeight, explain
from clasher.learning.late_labels import Id, Revising
from clasher.learning.merge import Merging
from clasher.learning.model_file import Copied
from clasher.learning.watch import Watching
from clasher.settings import PAPER, ModelSettings, Settings, signature_of
from clasher.text.analyzer import Tokenizer
from clasher.text.hashing import Hashed, hash_features, take_rows
from clasher.text.label_names import settled_names
from clasher.text.tokens import Buffers, as_buffers

BATCH = 1024  # documents that pass through the stages together


class Clasher(Watching, Revising, Merging, Copied):
    """Classifies an endless stream of multi-label text in bounded memory.

    Words are hashed to signed buckets and weighed by an online TF-IDF; the nearest prototype
    tells which region of the space a document clashes into, the region's statistics which labels
    live there. All parameters are documented, with their defaults, at
    :class:`clasher.settings.Settings`.

    Examples
    --------
    >>> from clasher import Clasher
    >>> model = Clasher(dimensions=4096)
    >>> for _ in range(5):
    ...     model.learn("The central bank raised interest rates", {"economy"})
    ...     model.learn("Wheat and corn prices fell after a good harvest", {"economy", "farming"})
    ...     model.learn("The striker scored twice in the final", {"sport"})
    >>> sorted(model.predict("Corn harvest and wheat prices"))
    ['economy', 'farming']

    References
    ----------
    Ñanculef, Flaounas, Cristianini: Efficient Classification of Multi-Labelled Text Streams by
    Clashing. Expert Systems with Applications, 2014.
    """

    @signature_of(ModelSettings)
    def __init__(self, dimensions: int = 65536, **settings: Any) -> None:
        given = Settings(dimensions, **settings)
        self._set_up(given, LabelIndex(given.max_labels), memory.allocate(given))

    @classmethod
    def paper(cls, mode: int = 1, **settings: Any) -> Clasher:
        """The paper's own settings: raw counts, no length normalisation, θ = 0.5.

        ``mode`` 1 feeds every document to the prototypes of its labels (Algorithm 5), ``mode`` 2
        feeds those that led to a mistake (Algorithm 6).

        >>> Clasher.paper(mode=2).settings.rule
        'mistake'
        """
        if mode not in (1, 2):
            raise SettingError.of("mode", "1 or 2", mode)
        return cls(**{**PAPER, "rule": "centroid" if mode == 1 else "mistake", **settings})

    # ── what the model is ────────────────────────────────────────────────────────────────────

    @property
    def labels(self) -> list[str]:
        """The labels seen so far, in the order of ``probabilities_many``'s columns."""
        return list(self._index.names)

    @property
    def documents(self) -> int:
        """How many documents the model was shown, labelled or not."""
        return int(self._state.totals[DOCUMENTS])

    @property
    def labelled(self) -> int:
        """How many of them came with labels."""
        return int(self._state.totals[LABELLED])

    @property
    def support(self) -> dict[str, int]:
        """How many documents taught each label; with the mistake rule, how often it was fed.

        Where the past is forgotten, as many documents of now as the label's past is worth, rounded
        up: a label that was ever taught has one at least.
        """
        counts = self._state.counts[: len(self._index)]
        faded = counts / (self._state.gains[: len(counts)] * self._state.clock[NOW])
        whole = np.maximum(np.ceil(faded - 1e-6), counts > 0).astype(np.int64).tolist()
        return dict(zip(self._index.names, whole, strict=True))

    @property
    def threshold(self) -> float:
        """The probability above which a label is predicted now."""
        if not self._setting.learnt_cut:
            return 0.5 if self.settings.threshold is None else self.settings.threshold
        return float(probability(self._state, self._state.cut[0]))

    @property
    def state(self) -> State:
        """The arrays of the model, for code that splits or merges models.

        They are not copied. Their layout is that of ``clasher.kernels.state.State``, and may change
        between versions.
        """
        return self._state

    @property
    def nbytes(self) -> int:
        """Bytes of all that is learnt."""
        return memory.nbytes(self.settings, len(self._state.counts))

    @property
    def max_nbytes(self) -> int:
        """Bytes the model will never exceed: those it takes with ``max_labels`` labels."""
        return memory.nbytes(self.settings, self.settings.max_labels)

    def __repr__(self) -> str:
        return (
            f"<Clasher rule={self.settings.rule!r} dimensions={self.settings.dimensions} "
            f"labels={len(self._index)} documents={self.documents}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the model, and the labels that it was taught most."""
        support = sorted(self.support.items(), key=lambda pair: -pair[1])
        counts = (self.documents, self.labelled, len(self._index), f"{self.nbytes / 1e6:.1f} MB")
        return frames.card(
            f"Clasher: rule {self.settings.rule}, {self.settings.dimensions:,} dimensions",
            frames.rows(["documents", "with labels", "labels", "memory"], [counts]),
            frames.rows(["label", "documents"], support[:10]),
        )

    # ── one document ─────────────────────────────────────────────────────────────────────────

    def learn(self, text: str, labels: Labels) -> None:
        """Learn from one document.

        A set means "these labels and no others"; a mapping label → bool leaves the labels it
        does not name unknown; None only counts the words.
        """
        self._step(self._hasher.hash_one(text), LabelSets.of([labels]), predicting=False)

    def observe(self, text: str, id: Id | None = None) -> None:  # noqa: A002
        """Count the words of an unlabelled document: every document teaches the sketch.

        Under an ``id`` it waits for its labels: ``learn_later`` learns them.
        """
        sets = LabelSets.unlabelled(1)
        keys = self._keys(None if id is None else [id], sets)
        hashed = self._hasher.hash_one(text)
        self._step(hashed, sets, predicting=False)
        self._remember(keys, hashed)

    def predict(self, text: str) -> set[str]:
        """The labels of one document; changes nothing."""
        return self._predict(self._hasher.hash_one(text))[0]

    def probabilities(self, text: str) -> dict[str, float]:
        """Return the probability of every label.

        With the paper's rules, ``centroid`` and ``mistake``, it is the fraction F̂ of the region's
        documents that carry the label (Eq. 15).
        """
        row = self._probabilities(self._hasher.hash_one(text))[0]
        return dict(zip(self._index.names, map(float, row), strict=True))

    def explain(self, text: str, label: str | None = None) -> Explanation:
        """Which words and which region spoke for and against a label (by default the best)."""
        return explain(text, label, self._hasher, self._index, self._state, self._setting)

    def top_words(self, label: str, n: int = 10) -> list[WordWeight]:
        """The words that speak most for a label, and how much; needs ``words=True``.

        >>> model = Clasher(1024, words=True)
        >>> for _ in range(5):
        ...     model.learn("wheat and corn", {"grain"})
        ...     model.learn("gold and silver", {"metal"})
        >>> sorted(word for word, weight in model.top_words("grain", 2))
        ['corn', 'wheat']
        """
        return behind.top_words(label, n, self._index, self._state, self._setting)

    def neighbours(self, label: str, n: int = 10) -> list[tuple[str, float]]:
        """The labels that go with a label most often, and in which part of its documents (Eq. 15).

        The perceptron does not know.

        >>> model = Clasher(1024)
        >>> model.learn_many(["wheat", "gold"], [{"grain", "wheat"}, {"metal"}])
        >>> model.neighbours("grain")
        [('wheat', 1.0)]
        """
        j, labels = self._index.number(label), len(self._index)
        if not self._state.together.size or not self._state.counts[j] > 0:
            return []
        shares = self._state.together[j, :labels] / self._state.counts[j]
        shares[j] = 0.0
        best = [i for i in np.argsort(-shares, kind="stable")[:n].tolist() if shares[i] > 0]
        return [(self._index.names[i], float(shares[i])) for i in best]

    def word_of(self, bucket: int) -> str | None:
        """The word behind a bucket, where one is known; needs ``words=True``."""
        return behind.word_of(self._state, bucket)

    # ── many documents ───────────────────────────────────────────────────────────────────────

    def hash_many(self, texts: Any) -> Hashed:
        """Hash documents ahead of time: reads no state, so it may run in another thread."""
        return self._hasher.hash_many(texts)

    def take_rows(self, indptr: Any, buckets: Any, weights: Any) -> Hashed:
        """Documents that are vectors already, for all that takes many documents.

        Document ``d`` has ``weights[indptr[d]:indptr[d + 1]]`` in ``buckets[indptr[d]:indptr[d +
        1]]``, each bucket once: the rows of a sparse matrix. With ``weighting="given"`` they are
        taken as they are (scaled to unit length with ``norm="l2"``); other weightings take them
        for the counts of words.

        >>> model = Clasher(4, weighting="given")
        >>> rows = model.take_rows([0, 2, 3], [0, 1, 3], [0.5, 2.0, -1.0])
        >>> model.learn_many(rows, [{"left"}, {"right"}])
        >>> model.predict_many(rows)[0]
        {'left'}
        """
        return take_rows(self._hasher, indptr, buckets, weights)

    def hash_features(self, documents: Iterable[Mapping[Any, Any]]) -> Hashed:
        """Hash documents that are names with values: what ``learn_many`` and others then take.

        >>> model = Clasher(1024, weighting="tf", analyzer=Analyzer(features=True))
        >>> model.learn_many(model.hash_features([{"wheat": 2}, {"gold": 0.5}]), [{"a"}, {"b"}])
        >>> model.predict_many(model.hash_features([{"gold": 1}]))[0]
        {'b'}
        """
        return hash_features(self._hasher, documents)

    def learn_many(
        self,
        texts: Any,
        labels: Any,
        ids: Sequence[Id | None] | None = None,
        threads: int = 1,
    ) -> None:
        """Learn from many documents: the same as ``learn`` one by one.

        Unlabelled documents that have an id wait for their labels, as with ``observe``.

        With more ``threads`` each learns a part of the documents into a model of its own, and
        these are merged: equal, to float rounding, for ``centroid``, and an approximation for the
        other rules. Takes as much memory again for each of them. A model that forgets learns in
        the order of the stream: with one.
        """
        require_positive("learn_many", "threads", threads)
        if threads > 1 and self.settings.forgets:
            raise SettingError.of("threads", "1 for a model that forgets", threads, "learn_many")
        sets = LabelSets.of(labels)
        source, keys = self._checked(texts, sets), self._keys(ids, sets)
        parts: Iterable[tuple[slice, Hashed]]
        if threads > 1 and len(sets) > 1:
            parts = self._learn_in_threads(source, sets, threads)
        else:
            parts = ((inside, hashed) for inside, hashed, _ in self._steps(source, sets, False))
        for inside, hashed in parts:
            self._remember(keys[inside], hashed)

    def observe_many(self, texts: Any, ids: Sequence[Id | None] | None = None) -> None:
        """Count the words of many unlabelled documents; those with an id wait for their labels."""
        source = texts if isinstance(texts, Hashed) else as_buffers(texts)
        self.learn_many(source, LabelSets.unlabelled(source.documents), ids)

    def step_many(
        self, texts: Any, labels: Any, ids: Sequence[Id | None] | None = None
    ) -> LabelSets:
        """Algorithm 1: predict each document, then learn from it; returns the predictions.

        Unlabelled documents that have an id wait for their labels, as with ``observe``.
        """
        sets = LabelSets.of(labels)
        source, keys = self._checked(texts, sets), self._keys(ids, sets)
        parts = []
        for inside, hashed, predicted in self._steps(source, sets, predicting=True):
            self._remember(keys[inside], hashed)
            parts.append(predicted)
        return LabelSets.join(parts)

    def predict_many(self, texts: Any) -> LabelSets:
        """The labels of many documents, on all cores; changes nothing."""
        return LabelSets.join(self._in_parallel(self._predict, texts))

    def decide_many(self, texts: Any) -> tuple[LabelSets, npt.NDArray[np.float32]]:
        """Return both ``predict_many`` and ``probabilities_many``, at the cost of one of them.

        >>> model = Clasher(1024)
        >>> model.learn_many(["wheat and corn"] * 5, [{"grain"}] * 5)
        >>> labels, probabilities = model.decide_many(["corn and wheat"])
        >>> labels[0], probabilities.shape
        ({'grain'}, (1, 1))
        """
        parts = self._in_parallel(self._decide, texts)
        none = np.zeros((0, len(self._index)), np.float32)
        probabilities = np.concatenate([none, *(part for _, part in parts)])
        return LabelSets.join([labels for labels, _ in parts]), probabilities

    def probabilities_many(self, texts: Any) -> npt.NDArray[np.float32]:
        """The probabilities of many documents: a row each, a column per entry of ``labels``."""
        none = np.zeros((0, len(self._index)), np.float32)
        return np.concatenate([none, *self._in_parallel(self._probabilities, texts)])

    # ── the model file ───────────────────────────────────────────────────────────────────────

    def save(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        """Write the model to a file, whole or not at all; equal models give equal bytes.

        A file that need not be there after a power cut may do without being ``durable``.
        """
        names, alarms = self._index.names, self.alarms
        model_file.save(path, self.settings, names, self._state, alarms, durable)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Clasher:
        """Read a model file; learning goes on as if it had never stopped.

        A model that cuts text with a function of yours must be given it again: a file holds its
        name only.
        """
        settings, labels, state, alarms = model_file.load(path, tokenizer)
        model = cls.__new__(cls)
        model._set_up(
            settings, LabelIndex(settings.max_labels, settled_names(labels)), state, alarms
        )
        return model

    def copy(self) -> Self:
        """Another model that has learnt the same, and goes its own way from here.

        >>> model = Clasher(1024)
        >>> model.copy().learn("wheat and corn", {"grain"})
        >>> model.labels
        []
        """
        model = type(self).__new__(type(self))
        state = State(*(array.copy() for array in self._state))
        names = LabelIndex(self.settings.max_labels, self._index.names)
        model._set_up(self.settings, names, state, self.alarms)
        model.pinned = set(self.pinned)
        return model

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return *super().__reduce__(), {"pinned": set(self.pinned)}

    # ── how it is done ───────────────────────────────────────────────────────────────────────

    def _checked(self, texts: Any, sets: LabelSets) -> Hashed | Buffers:
        """The documents, after all that can be wrong was looked at: all or nothing."""
        source = texts if isinstance(texts, Hashed | Buffers) else as_buffers(texts)
        if source.documents != len(sets):
            raise LabelError(
                f"every document needs an entry of labels, None where it has none. "
                f"Got {source.documents} documents and {len(sets)} entries of labels."
            )
        evicting = self.settings.on_full == "evict"
        (self._index.check_documents if evicting else self._index.check)(sets)
        return source

    def _steps(
        self, source: Hashed | Buffers, sets: LabelSets, predicting: bool
    ) -> Iterator[tuple[slice, Hashed, LabelSets]]:
        """Step batch by batch: which documents these were, hashed, and what was predicted."""
        start = 0
        for hashed in self._hasher.batches(source, BATCH):
            inside = slice(start, start + hashed.documents)
            yield inside, hashed, self._step(hashed, sets[inside], predicting)
            start = inside.stop

    def _advance(self, hashed: Hashed, sets: LabelSets, predicting: bool) -> LabelSets:
        """Lines 3–6 of Algorithm 1 for a batch."""
        if self.settings.on_full == "evict" and not self._index.has_room(sets):
            if len(sets) > 1:  # a number may change hands between two documents
                return LabelSets.join(
                    [
                        self._advance(hashed.part(i, i + 1), sets[i : i + 1], predicting)
                        for i in range(len(sets))
                    ]
                )
            predicted = self._predict(hashed) if predicting else None  # with what is given up now
            self._evict(sets)
            if predicted is not None:
                self._advance(hashed, sets, predicting=False)
                return predicted
        labels = len(self._index) + len(self._index.check(sets))
        self._state = memory.grow(self._state, self.settings, labels)  # may fail: names come after
        truth = self._index.adopt(sets)
        ids, indptr = self._room_for_labels(hashed.documents if predicting else 0)
        words = hashed.words
        step_documents(
            hashed.indptr, hashed.buckets, hashed.counts, words.indptr, words.places, words.keys,
            truth.known, truth.indptr, truth.ids, truth.yes, self._state, self._setting,
            memory.work_for(self._state, len(words.keys)), predicting, indptr, ids,
        )  # fmt: skip
        if self.settings.keeps_words:
            vote(hashed.indptr, hashed.buckets, hashed.words, self._state)
        return LabelSets(self._names(), ids[: indptr[-1]], indptr)

    def _evict(self, sets: LabelSets) -> None:
        """Give the numbers of the longest unseen labels to the new labels of one document."""
        self._index.check_documents(sets)
        new = self._index.unknown(sets)
        wanted = {sets.names[i] for i in sets.ids}
        wanted |= self.pinned
        spared = {self._index.numbers[name] for name in wanted if name in self._index.numbers}
        if len(spared) + len(new) > self.settings.max_labels:
            raise LabelCapacityError(
                f"label {new[-1]!r} finds no room: {len(self.pinned)} of "
                f"{self.settings.max_labels} labels are pinned; unpin some, or raise max_labels"
            )
        for name in new[self.settings.max_labels - len(self._index) :]:
            number = memory.longest_unseen(self._state, spared)
            memory.clear_label(self._state, number, self.settings)
            if self._watch is not None:
                self._watch.renumber()
            self._index.replace(number, name)
            spared.add(number)

    def _predict(self, hashed: Hashed) -> LabelSets:
        """Lines 3–5 of Algorithm 1 for a batch."""
        ids, indptr = self._room_for_labels(hashed.documents)
        self._predict_into(hashed, indptr, ids, np.empty((0, 0), np.float32))
        return LabelSets(self._names(), ids[: indptr[-1]], indptr)

    def _probabilities(self, hashed: Hashed) -> npt.NDArray[np.float32]:
        return self._decide(hashed)[1]

    def _decide(self, hashed: Hashed) -> tuple[LabelSets, npt.NDArray[np.float32]]:
        ids, indptr = self._room_for_labels(hashed.documents)
        probabilities = np.empty((hashed.documents, len(self._index)), np.float32)
        self._predict_into(hashed, indptr, ids, probabilities)
        return LabelSets(self._names(), ids[: indptr[-1]], indptr), probabilities

    def _predict_into(self, hashed: Hashed, indptr: Any, ids: Any, probabilities: Any) -> None:
        words = hashed.words
        predict_documents(
            hashed.indptr, hashed.buckets, hashed.counts, words.indptr, words.places, words.keys,
            self._state, self._setting, memory.work_for(self._state, len(words.keys)),
            indptr, ids, probabilities,
        )  # fmt: skip

    def _room_for_labels(self, documents: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Room for the label sets of so many documents, each with every label at most."""
        indptr = np.zeros(documents + 1, np.int64)
        return np.empty(documents * len(self._index), np.int32), indptr

    def _names(self) -> list[str]:
        """The labels behind the numbers of now; shared between batches while it holds."""
        evicting = self.settings.on_full == "evict"
        return list(self._index.names) if evicting else self._index.names

    def _in_parallel(self, work: Any, texts: Any) -> list[Any]:
        """Apply ``work`` to batches of documents on all cores, in order."""
        source = texts if isinstance(texts, Hashed | Buffers) else as_buffers(texts)
        batches = self._hasher.batches(source, BATCH)
        if source.documents <= BATCH:  # nothing to share out: a thread would cost more than it does
            return [work(batch) for batch in batches]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return list(threads.map(work, batches))
