"""The clashing system: Algorithm 1 of the paper, over batches of documents.

Line 1 sets up the components (``Clasher._set_up``), line 2 takes the documents (``_steps``), lines
3 to 5 map them to regions and predict (``_predict``), line 6 learns (``_advance``). The loops over
documents are in ``kernels/clash.py``.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from clasher import frames
from clasher.errors import (
    LabelCapacityError,
    LabelError,
    NotLearntError,
    SettingError,
    is_number,
    require,
    require_positive,
)
from clasher.kernels.clash import predict_documents, step_documents, unlearn_document
from clasher.kernels.classes import look_again
from clasher.kernels.margin import probability
from clasher.kernels.sketch import uncount
from clasher.kernels.state import LABELLED, NOW, State
from clasher.labels import LabelIndex, Labels, LabelSets, Rankings
from clasher.learning import drift, explain, late_labels, memory, merge, model_file
from clasher.learning.drift import Alarm
from clasher.learning.explain import Explanation, WordWeight
from clasher.learning.hashed_model import HashedModel
from clasher.learning.late_labels import Id, Keys
from clasher.learning.merge import Sketch
from clasher.settings import DIMENSIONS, PAPER, ModelSettings, Settings, signature_of
from clasher.text.analyzer import Tokenizer
from clasher.text.hashing import Hashed, hash_features
from clasher.text.label_names import settled_names
from clasher.text.tokens import Buffers, as_buffers, one_buffer

BATCH = 1024  # documents that pass through the stages together
NOWHERE = np.empty((0, 0), np.float32)  # no room for probabilities
UNRANKED = Rankings.of([])


class Predictions(NamedTuple):
    """The predicted labels of documents and, if asked for, their best labels in order."""

    labels: LabelSets
    ranked: Rankings

    @classmethod
    def join(cls, parts: Sequence["Predictions"]) -> "Predictions":
        """Concatenate the predictions of consecutive documents."""
        labels, ranked = [part.labels for part in parts], [part.ranked for part in parts]
        return cls(LabelSets.join(labels), Rankings.join(ranked))


class Clasher(HashedModel):
    """Classifies an endless stream of multi-label text in bounded memory.

    Words are hashed to signed buckets and weighted by an online TF-IDF. The nearest prototype tells
    which region of the space a document falls into, and the region's statistics which labels occur
    there. ``clasher.settings.Settings`` documents all parameters and their defaults.

    Attributes
    ----------
    settings : Settings
        The settings of the model.
    pinned : set of str
        Labels that are never evicted; not part of the model file.

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
    def __init__(self, dimensions: int = DIMENSIONS, **settings: Any) -> None:
        given = Settings(dimensions, **settings)
        self._set_up(given, memory.allocate(given))

    @classmethod
    def paper(cls, mode: int = 1, **settings: Any) -> Self:
        """Return a model with the paper's settings: raw counts, no length normalisation, θ = 0.5.

        ``mode`` 1 adds every document to the prototypes of its labels (Algorithm 5), ``mode`` 2
        only documents that were predicted wrongly (Algorithm 6).

        >>> Clasher.paper(mode=2).settings.rule
        'mistake'
        """
        require(mode in (1, 2), "mode", "1 or 2", mode)
        return cls(**{**PAPER, "rule": "centroid" if mode == 1 else "mistake", **settings})

    @classmethod
    def from_state(
        cls, settings: Settings, labels: Iterable[str], state: State, alarms: Sequence[Alarm] = ()
    ) -> Self:
        """Put a model together from its parts; it keeps the arrays, and does not check them."""
        model = cls.__new__(cls)
        model._set_up(settings, state, labels, alarms)
        return model

    def _set_up(
        self, settings: Settings, state: State, labels: Iterable[str] = (),
        alarms: Sequence[Alarm] = (),
    ) -> None:  # fmt: skip
        """Initialise each component of the system: line 1 of Algorithm 1."""
        super()._set_up(settings, state)
        self.pinned: set[str] = set()
        most = memory.most_labels(settings)
        limit = "max_labels" if most == settings.max_labels else "max_bytes"
        self._index = LabelIndex(most, labels, limit)
        watching = settings.detector != "none"
        self._watch = drift.Watch(settings.detector, alarms) if watching else None

    @property
    def labels(self) -> list[str]:
        """The labels seen so far, in the order of the columns of ``probabilities_many``."""
        return list(self._index.names)

    @property
    def labelled(self) -> int:
        """The number of documents seen with labels."""
        return int(self._state.totals[LABELLED])

    @property
    def support(self) -> dict[str, int]:
        """The number of documents learnt for each label (with ``mistake``, only those added).

        A model that forgets counts them as they faded, rounded up: at least one if ever learnt.
        """
        counts = self._state.counts[: len(self._index)]
        faded = counts / (self._state.gains[: len(counts)] * self._state.clock[NOW])
        whole = np.maximum(np.ceil(faded - 1e-6), counts > 0).astype(np.int64).tolist()
        return dict(zip(self._index.names, whole, strict=True))

    @property
    def unseen(self) -> dict[str, int]:
        """How many documents ago each label was last named; the longest unseen is evicted first."""
        ago = self.documents - self._state.seen[: len(self._index)]  # unlearning counts back
        return dict(zip(self._index.names, np.maximum(ago, 0).tolist(), strict=True))

    @property
    def threshold(self) -> float:
        """The probability above which labels are predicted now."""
        if not self._setting.learnt_cut:
            return 0.5 if self.settings.threshold is None else self.settings.threshold
        return float(probability(self._state.odds, self._state.cut[0]))

    @property
    def alarms(self) -> list[Alarm]:
        """The changes that the detector found: the latest hundred at most."""
        return [] if self._watch is None else list(self._watch.alarms)

    @property
    def pending(self) -> int:
        """The number of observed documents that wait for their labels."""
        return late_labels.mark(self._state, late_labels.WAITING)

    @property
    def dropped(self) -> int:
        """The number of documents dropped before their labels came, to make room for others."""
        return late_labels.mark(self._state, late_labels.DROPPED)

    @property
    def most_labels(self) -> int:
        """The number of labels that ``max_labels`` and ``max_bytes`` allow."""
        return self._index.most

    @property
    def label_limit(self) -> str:
        """What limits the number of labels, and how to raise it, in words."""
        return self._index.limit

    @property
    def dropped_values(self) -> int:
        """The number of values, of a word for a label, dropped to stay within ``max_bytes``."""
        return int(self._state.dropped[0])

    @property
    def state(self) -> State:
        """The arrays of the model, not copied; their layout may change between versions."""
        return self._state

    @property
    def max_nbytes(self) -> int:
        """The bytes of all arrays with ``max_labels`` labels: the model never exceeds them."""
        most = memory.nbytes(self.settings, memory.most_labels(self.settings))
        return min(most, self.settings.max_bytes)

    def __repr__(self) -> str:
        return (
            f"<Clasher rule={self.settings.rule!r} dimensions={self.settings.dimensions} "
            f"labels={len(self._index)} documents={self.documents}>"
        )

    def _repr_html_(self) -> str:
        support = sorted(self.support.items(), key=lambda pair: -pair[1])
        counts = (self.documents, self.labelled, len(self._index), f"{self.nbytes / 1e6:.1f} MB")
        return frames.card(
            f"Clasher: rule {self.settings.rule}, {self.settings.dimensions:,} dimensions",
            frames.rows(["documents", "with labels", "labels", "memory"], [counts]),
            frames.rows(["label", "documents"], support[:10]),
        )

    def learn(self, text: str, labels: Labels) -> None:
        """Learn from one document.

        A set means "these labels and no others". A mapping label → bool leaves the labels it does
        not name unknown. None counts the words only.
        """
        self._step(self._hasher.hash_one(text), LabelSets.of([labels]))

    def observe(self, text: str, id: Id | None = None) -> None:  # noqa: A002
        """Count the words of an unlabelled document, which waits under ``id`` for its labels."""
        self.observe_many(one_buffer(text), None if id is None else [id])

    def predict(self, text: str) -> set[str]:
        """Return the labels of one document; change nothing."""
        return self._predict(self._hasher.hash_one(text)).labels[0]

    def probabilities(self, text: str) -> dict[str, float]:
        """Return the probability of every label.

        With the paper's rules, ``centroid`` and ``mistake``, it is the fraction F̂ of the region's
        documents that carry the label (Eq. 15).
        """
        _, rows = self._decide(self._hasher.hash_one(text))
        return dict(zip(self._index.names, map(float, rows[0]), strict=True))

    def explain(self, text: str, label: str | None = None) -> Explanation:
        """Explain which words and which region spoke for a label (by default the best)."""
        return explain.explain(text, label, self._hasher, self._index, self._state, self._setting)

    def top_words(self, label: str, n: int = 10) -> list[WordWeight]:
        """Return the words that speak most for a label, with their weights; needs ``words=True``.

        >>> model = Clasher(1024, words=True)
        >>> for _ in range(5):
        ...     model.learn("wheat and corn", {"grain"})
        ...     model.learn("gold and silver", {"metal"})
        >>> sorted(word for word, weight in model.top_words("grain", 2))
        ['corn', 'wheat']
        """
        return explain.top_words(self._index.number(label), n, self._state, self._setting)

    def neighbours(self, label: str, n: int = 10) -> list[tuple[str, float]]:
        """Return the labels that occur most often with a label, and their share of its documents.

        The share is that of Eq. 15. The perceptron keeps none: its list is empty.

        >>> model = Clasher(1024)
        >>> model.learn_many(["wheat", "gold"], [{"grain", "wheat"}, {"metal"}])
        >>> model.neighbours("grain")
        [('wheat', 1.0)]
        """
        return explain.neighbours(label, n, self._index, self._state)

    def hash_features(self, documents: Iterable[Mapping[Any, Any]]) -> Hashed:
        """Hash documents given as mappings of names to values, for ``learn_many`` and the like.

        >>> from clasher import Analyzer
        >>> model = Clasher(1024, weighting="tf", analyzer=Analyzer(features=True))
        >>> model.learn_many(model.hash_features([{"wheat": 2}, {"gold": 0.5}]), [{"a"}, {"b"}])
        >>> model.predict_many(model.hash_features([{"gold": 1}]))[0]
        {'b'}
        """
        return hash_features(self._hasher, documents)

    def learn_many(
        self, texts: Any, labels: Any, ids: Sequence[Id | None] | None = None, threads: int = 1
    ) -> None:
        """Learn from many documents: the same as ``learn`` for each.

        Unlabelled documents with an id wait for their labels, as with ``observe``. With several
        ``threads``, each learns a part of the documents into its own model, and these are merged:
        equal up to float rounding for ``centroid``, an approximation for the other rules. Each
        thread takes the memory of another model. A model that forgets needs one thread.
        """
        require_positive("learn_many", "threads", threads)
        alone = threads == 1 or not self.settings.forgets
        require(alone, "threads", "1 for a model that forgets", threads, "learn_many")
        source, sets, keys = self._checked(texts, labels, ids)
        if threads > 1 and len(sets) > 1:
            self._learn_in_threads(source, sets, keys, threads)
        else:
            for _ in self._steps(source, sets, keys, predicting=False):
                pass

    def observe_many(self, texts: Any, ids: Sequence[Id | None] | None = None) -> None:
        """Count the words of many unlabelled documents; those with an id wait for their labels."""
        source = texts if isinstance(texts, Hashed | Buffers) else as_buffers(texts)
        self.learn_many(source, LabelSets.unlabelled(source.documents), ids)

    def step_many(
        self, texts: Any, labels: Any, ids: Sequence[Id | None] | None = None
    ) -> LabelSets:
        """Predict each document, then learn from it (Algorithm 1); return the predictions."""
        source, sets, keys = self._checked(texts, labels, ids)
        steps = self._steps(source, sets, keys, predicting=True)
        return LabelSets.join([step.labels for step in steps])

    def step_and_rank_many(
        self, texts: Any, labels: Any, ids: Sequence[Id | None] | None = None, k: int = 5
    ) -> tuple[LabelSets, Rankings]:
        """Do ``step_many``; return the predictions, and the best ``k`` labels before learning.

        >>> model = Clasher(1024)
        >>> texts, labels = ["wheat", "gold", "wheat"], [{"grain"}, {"metal"}, None]
        >>> predicted, ranked = model.step_and_rank_many(texts, labels)
        >>> ranked[0], ranked[2]
        ([], ['grain'])
        """
        require_positive("step_and_rank_many", "k", k)
        source, sets, keys = self._checked(texts, labels, ids)
        return Predictions.join(list(self._steps(source, sets, keys, predicting=True, k=k)))

    def predict_many(self, texts: Any) -> LabelSets:
        """Return the labels of many documents, on all cores; change nothing."""
        return Predictions.join(self._in_parallel(self._predict, texts)).labels

    def rank_many(self, texts: Any, k: int = 5) -> Rankings:
        """Return the best ``k`` labels of many documents, on all cores; change nothing.

        There may be fewer: labels that a document gives no evidence for or against may be left out.
        Equally probable labels are in the order of ``labels``.

        >>> model = Clasher(1024)
        >>> for _ in range(5):
        ...     model.learn("wheat and corn", {"grain"})
        ...     model.learn("gold and silver", {"metal"})
        >>> model.rank_many(["corn and silver and gold", ""])
        Rankings([['metal', 'grain'], []], documents=2)
        """
        require_positive("rank_many", "k", k)
        return Predictions.join(self._in_parallel(partial(self._predict, k=k), texts)).ranked

    def probabilities_many(self, texts: Any) -> npt.NDArray[np.float32]:
        """Return a row of probabilities per document, a column per entry of ``labels``."""
        return self.decide_many(texts)[1]

    def decide_many(self, texts: Any) -> tuple[LabelSets, npt.NDArray[np.float32]]:
        """Return both ``predict_many`` and ``probabilities_many``, at the cost of one of them."""
        parts = self._in_parallel(self._decide, texts)
        none = np.zeros((0, len(self._index)), np.float32)
        probabilities = np.concatenate([none, *(part for _, part in parts)])
        return LabelSets.join([labels for labels, _ in parts]), probabilities

    def learn_later(self, id: Id, labels: Labels) -> None:  # noqa: A002
        """Learn the labels of a document that was observed under ``id`` and waits for them.

        The document is learnt as if it came now, without counting its words again.

        >>> model = Clasher(1024, pending=100)
        >>> model.observe("wheat prices rise", id="d1")
        >>> model.learn_later("d1", {"grain"})
        >>> model.support, model.documents, model.pending
        ({'grain': 1}, 1, 0)
        """
        key = late_labels.key_of(id)
        if labels is None:
            raise LabelError("learn_later needs labels: None says that they are still unknown")
        sets = self._with_room(LabelSets.of([labels]))
        document = late_labels.take(self._state, key)
        if document is None:
            raise late_labels.not_waiting(self._state, id)
        hashed = self._hasher.one(document.buckets, document.counts)
        uncount(self._state, self._setting, hashed.buckets, hashed.words.keys)
        self._step(hashed, sets)

    def unlearn(self, text: str, labels: Labels) -> None:
        """Take back ``learn(text, labels)``; with None, ``observe(text)``.

        Exact, up to float rounding, for the sketch, and with ``weighting="tf"`` and complete labels
        for the prototypes and statistics of ``centroid`` and ``margin``. Otherwise approximate:
        other weightings weight the document as of today; ``mistake`` may not have added it;
        partial labels and the weights of ``margin`` and ``perceptron`` keep a trace.

        >>> model = Clasher(1024, rule="centroid")
        >>> for text in ("oil prices rise", "wheat prices rise"):
        ...     model.learn(text, {"oil"})
        >>> model.unlearn("wheat prices rise", {"oil"})
        >>> model.documents, model.support
        (1, {'oil': 1})
        """
        hashed, sets, state = self._hasher.hash_one(text), LabelSets.of([labels]), self._state
        if not self.documents or not state.frequencies[0, hashed.buckets].all():
            raise NotLearntError("this document was never learnt: the model has not seen its words")
        if sets.known[0] and not self.labelled:
            raise NotLearntError("no labelled document is left to unlearn")
        for number, yes in zip(sets.ids, sets.yes, strict=True):
            name = sets.names[number]
            if not state.counts[self._index.number(name)] > 0.0 and yes:
                raise NotLearntError(f"label {name!r} has no document left to unlearn")
        truth, (_, buckets, counts, _, places, keys) = self._index.translate(sets), hashed.arrays
        document = buckets, counts, places, keys, truth.known[0], truth.ids, truth.yes
        work, times = memory.work_for(state, hashed), 0
        unlearn = unlearn_document.variant(self._constants)
        while not unlearn(*document, state, self._setting, work):
            memory.make_room(state, self.settings, times)
            times += 1

    def correct(self, text: str, wrong: Labels, right: Labels) -> None:
        """Unlearn ``wrong`` for a document, and learn ``right``.

        With ``margin`` and ``perceptron`` this is also a step towards the right labels, if the
        model does not separate the document yet.
        """
        sets = self._with_room(LabelSets.of([right]))
        self.unlearn(text, wrong)
        self._step(self._hasher.hash_one(text), sets)

    def rename_label(self, old: str, new: str) -> None:
        """Rename a label."""
        self._index.rename(old, new)

    def merge_labels(self, source: str, target: str) -> None:
        """Merge the first label into the second.

        Documents with both count once. Prototypes and statistics are exact if there are no such
        documents; otherwise these weigh twice in the prototype. Linear weights are averaged by
        documents.
        """
        merge.join_labels(self._state, self._index, source, target, self.settings)
        self.retire_label(source)

    def retire_label(self, label: str) -> None:
        """Forget a label and all that was learnt about it; if it comes again, it is new."""
        merge.retire_label(self._state, self._index, self._index.number(label), self.settings)
        if self._watch is not None:
            self._watch.detector.clear()
        if self._state.terms.size:
            look_again(self._state, self._setting.measure)

    def forget(self, keep: float = 0.1, labels: Collection[str] | None = None) -> None:
        """Scale down what was learnt so far to ``keep``, for some labels or for all (None).

        Means and fractions stay as they are until something is learnt, and then follow faster. The
        weights of ``margin`` stay too, but move more easily; those of ``perceptron`` shrink. With
        all labels, word frequencies fade as well. Cheap, and cannot be undone.

        >>> model = Clasher(dimensions=64, rule="centroid")
        >>> model.learn_many(["wheat and corn"] * 20, [{"grain"}] * 20)
        >>> model.forget(keep=0.25, labels={"grain"})
        >>> model.support
        {'grain': 5}
        """
        require(is_number(keep, 1e-6, 1), "keep", "a number from 0.000001 to 1", keep, "forget")
        if isinstance(labels, str):
            labels = {labels}
        numbers = None if labels is None else sorted({self._index.number(x) for x in labels})
        drift.forget(self._state, float(keep), numbers)

    def merge(self, other: Self) -> None:
        """Add what another model has learnt, as if its stream had come after this one's.

        Exact, up to float rounding, for the sketch, the prototypes and the statistics of regions;
        with ``weighting="tfidf"`` each model has weighted its documents by the frequencies of its
        own stream. The weights of ``margin`` and ``perceptron`` become means, each by how far it
        was learnt. The model gets the labels of both; ``other`` stays as it is.

        >>> one, other = Clasher(1024), Clasher(1024)
        >>> one.learn("wheat prices rise", {"grain"})
        >>> other.learn("crude oil prices fall", {"oil"})
        >>> one.merge(other)
        >>> one.documents, one.support
        (2, {'grain': 1, 'oil': 1})
        """
        if other is self:
            raise SettingError("a model cannot be merged with itself")
        merge.check_settings(self.settings, other.settings)
        if other.state.totals.any():
            self._add(other)

    def add_difference(self, learnt: Self) -> None:
        """Add what parts of a stream learnt from this model on; see ``clasher.runtime.deltas``."""
        if learnt.documents:
            self._add(learnt, difference=True)

    def _add(self, other: Self, difference: bool = False) -> None:
        self._state = merge.add(
            self.settings, self._index, self._state, other.labels, other.state, difference
        )

    def copy(self) -> Self:
        """Return an independent copy."""
        state = memory.copy(self._state)
        model = self.from_state(self.settings, self._index.names, state, self.alarms)
        model.pinned = set(self.pinned)
        return model

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return *super().__reduce__(), {"pinned": set(self.pinned)}

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Self:
        """Read a model file; learning continues where it stopped.

        A file holds only the name of a ``tokenizer`` of your own: pass the function again.
        """
        settings, labels, state, alarms = model_file.load(path, tokenizer)
        return cls.from_state(settings, settled_names(labels), state, alarms)

    def _checked(
        self, texts: Any, labels: Any, ids: Sequence[Id | None] | None
    ) -> tuple[Hashed | Buffers, LabelSets, Keys]:
        """Check documents, labels and ids before anything is learnt: all or nothing."""
        source = texts if isinstance(texts, Hashed | Buffers) else as_buffers(texts)
        sets = LabelSets.of(labels, source.documents)
        return source, self._with_room(sets), late_labels.keys_of(ids, sets, self.settings.pending)

    def _with_room(self, sets: LabelSets) -> LabelSets:
        """Return the label sets; refuse them if there is no room for so many."""
        return self._index.check(sets, evicting=self.settings.on_full == "evict")

    def _steps(
        self, source: Hashed | Buffers, sets: LabelSets, keys: Keys, predicting: bool, k: int = 0
    ) -> Iterator[Predictions]:
        start = 0
        for hashed in self._hasher.batches(source, BATCH):
            inside = slice(start, start + hashed.documents)
            yield self._step(hashed, sets[inside], predicting, k)
            late_labels.remember(self._state, keys and keys[inside], hashed)
            start = inside.stop

    def _step(
        self, hashed: Hashed, sets: LabelSets, predicting: bool = False, k: int = 0
    ) -> Predictions:
        """Do lines 3–6 of Algorithm 1 for a batch; look at the errors when it is time."""
        if self._watch is None:
            return self._advance(hashed, sets, predicting, k)
        parts = []
        for start, stop, is_due in self._watch.stretches(sets.known, self.labelled):
            parts.append(self._advance(hashed.part(start, stop), sets[start:stop], predicting, k))
            if is_due:
                self._watch.look(self._state, self._index.names)
        return Predictions.join(parts)

    def _advance(
        self, hashed: Hashed, sets: LabelSets, predicting: bool, k: int = 0
    ) -> Predictions:
        """Do lines 3–6 of Algorithm 1 for a batch: map, predict and learn each document.

        If ``predicting``, it also ranks the best ``k`` labels of each document.
        """
        new = self._index.unknown(sets)
        labels = len(self._index) + len(new)
        if labels > self._index.most:
            return self._advance_full(hashed, sets, predicting, k)
        self._state = memory.grow(self._state, self.settings, labels)  # may fail: before the names
        self._index.extend(new)
        truth = self._index.translate(sets)
        indptr = np.zeros(hashed.documents + 1 if predicting else 1, np.int64)
        ids = np.empty(self._room_for_ids(hashed, labels) if predicting else 0, np.int32)
        ranked = self._room_for_ranks(hashed, labels, k if predicting else 0)
        work, step = memory.work_for(self._state, hashed), step_documents.variant(self._constants)
        done, before, times = 0, -1, 0
        while done < hashed.documents:
            done = step(
                done, *hashed.arrays, truth.known, truth.indptr, truth.ids, truth.yes,
                self._state, self._setting, work, predicting, indptr, ids, ranked,
            )  # fmt: skip
            if predicting and done < hashed.documents and len(ids) - indptr[done] < labels:
                ids = np.resize(ids, 2 * len(ids))
            elif done < hashed.documents:
                times = times + 1 if done == before else 0
                memory.make_room(self._state, self.settings, times)
                before = done
        self._vote(hashed)
        return self._named(ids, indptr, ranked)

    @staticmethod
    def _room_for_ids(hashed: Hashed, labels: int) -> int:
        """Return room for predicted labels: that of any document, and some for each."""
        return labels + hashed.documents * min(labels, 64)

    @staticmethod
    def _room_for_ranks(hashed: Hashed, labels: int, k: int) -> Any:
        """Return room for the best ``k`` labels of each document, as far as there are so many."""
        return np.empty((hashed.documents, min(k, max(labels, 1))), np.int32)

    def _named(self, ids: Any, indptr: Any, ranked: Any) -> Predictions:
        """Return what a kernel has predicted; ``ranked`` has no columns if it did not rank."""
        names = self._names()
        rankings = Rankings.numbered(names, ranked) if ranked.shape[1] else UNRANKED
        return Predictions(LabelSets(names, ids[: indptr[-1]], indptr), rankings)

    def _advance_full(
        self, hashed: Hashed, sets: LabelSets, predicting: bool, k: int
    ) -> Predictions:
        """Do the same for labels that do not all fit: refuse them, or evict others."""
        self._with_room(sets)
        if len(sets) > 1:  # a number may pass to another label between two documents
            singles = ((hashed.part(i, i + 1), sets[i : i + 1]) for i in range(len(sets)))
            return Predictions.join([self._advance(*single, predicting, k) for single in singles])
        predicted = self._predict(hashed, k=k) if predicting else None  # before labels are evicted
        self._evict(sets)
        nothing = self._advance(hashed, sets, predicting=False)
        return nothing if predicted is None else predicted

    def _evict(self, sets: LabelSets) -> None:
        """Give the numbers of the longest unseen labels to the new labels of one document."""
        new = self._index.unknown(sets)
        needed = {sets.names[i] for i in sets.ids} | self.pinned
        spared = {self._index.numbers[name] for name in needed if name in self._index.numbers}
        if len(spared) + len(new) > self._index.most:
            raise LabelCapacityError(
                f"label {new[-1]!r} finds no room: {len(self.pinned)} of {self._index.most} labels "
                f"are pinned; unpin some, or {self._index.limit.partition('; ')[2]}"
            )
        for name in new[self._index.most - len(self._index) :]:
            number = memory.longest_unseen(self._state, spared)
            memory.clear_label(self._state, number, self.settings)
            if self._watch is not None:
                self._watch.detector.clear()
            self._index.replace(number, name)
            spared.add(number)

    def _predict(self, hashed: Hashed, probabilities: Any = NOWHERE, k: int = 0) -> Predictions:
        """Do lines 3–5 of Algorithm 1 for a batch; write probabilities if there is room."""
        indptr = np.zeros(hashed.documents + 1, np.int64)
        ids = np.empty(self._room_for_ids(hashed, len(self._index)), np.int32)
        ranked = self._room_for_ranks(hashed, len(self._index), k)
        work, done = memory.work_for(self._state, hashed), 0
        predict = predict_documents.variant(self._constants)
        while done < hashed.documents:
            done = predict(
                done, *hashed.arrays, self._state, self._setting, work, indptr, ids, probabilities,
                ranked,
            )  # fmt: skip
            ids = np.resize(ids, 2 * len(ids)) if done < hashed.documents else ids
        return self._named(ids, indptr, ranked)

    def _decide(self, hashed: Hashed) -> tuple[LabelSets, npt.NDArray[np.float32]]:
        probabilities = np.empty((hashed.documents, len(self._index)), np.float32)
        return self._predict(hashed, probabilities).labels, probabilities

    def _names(self) -> list[str]:
        """Return the names of labels, shared between batches unless eviction may change them."""
        names = self._index.names
        return list(names) if self.settings.on_full == "evict" else names

    def _in_parallel(self, work: Any, texts: Any) -> list[Any]:
        source = texts if isinstance(texts, Hashed | Buffers) else as_buffers(texts)
        batches = self._hasher.batches(source, BATCH)
        if source.documents <= BATCH:  # threads would cost more than they save
            return [work(batch) for batch in batches]
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return list(threads.map(work, batches))

    def _learn_in_threads(
        self, source: Hashed | Buffers, sets: LabelSets, keys: Keys, threads: int
    ) -> None:
        """Learn each part of the documents into its own model, then merge these.

        Each part starts with the document frequencies of the parts before it, so that every
        document is weighted as in a single pass.
        """
        bounds = merge.bounds(source.documents, threads)
        parts = [slice(*bound) for bound in bounds]
        models = [self, *(self._fresh() for _ in bounds[1:])]
        with ThreadPoolExecutor(len(bounds)) as pool:
            sources = [source.part(*bound) for bound in bounds]
            hashed = list(pool.map(lambda s: next(self._hasher.batches(s, s.documents)), sources))
            counted = list(pool.map(self._count, hashed[:-1]))
            starts = list(accumulate([Sketch.of(self._state), *counted], Sketch.plus))
            for model, start in zip(models[1:], starts[1:], strict=True):
                start.put_into(model.state)
            list(pool.map(Clasher._step, models, hashed, [sets[part] for part in parts]))
        for model, start in zip(models[1:], starts[1:], strict=True):
            start.take_out_of(model.state)
            self.merge(model)
        for part, documents in zip(parts, hashed, strict=True):
            late_labels.remember(self._state, keys and keys[part], documents)

    def _fresh(self) -> Self:
        return self.from_state(self.settings, (), memory.allocate(self.settings))

    def _count(self, hashed: Hashed) -> Sketch:
        model = self._fresh()
        model._step(hashed, LabelSets.unlabelled(hashed.documents))
        return Sketch.of(model.state)
