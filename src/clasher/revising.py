"""Labels as they come in life: late, wrong, under another name."""

from __future__ import annotations

from collections.abc import Sequence

from clasher import memory, relabelling
from clasher.errors import LabelError, NotLearntError, SettingError
from clasher.hashing import Hashed
from clasher.kernels.classes import look_again
from clasher.kernels.sketch import uncount
from clasher.kernels.state import DOCUMENTS, LABELLED
from clasher.kernels.unlearning import unlearn_document
from clasher.label_columns import UNLABELLED
from clasher.labels import Labels, LabelSets
from clasher.parts import Parts
from clasher.pending import DROPPED, WAITING, Id, Key, Waiting, key_of, put, take


class Revising(Parts):
    """What a model can do about labels it has learnt, or has not learnt yet.

    The exact inverse of learning is known for all that is a sum: the sketch, the prototypes and
    the statistics of regions. Weights that were learnt step by step (``margin``, ``perceptron``)
    have none, and stay until new documents move them.
    """

    # ── labels that come late ────────────────────────────────────────────────────────────────

    @property
    def pending(self) -> int:
        """How many observed documents wait for their labels now."""
        return int(self._state.late_marks[WAITING]) if self.settings.pending else 0

    @property
    def dropped(self) -> int:
        """How many documents had to make room before their labels came."""
        return int(self._state.late_marks[DROPPED]) if self.settings.pending else 0

    def learn_later(self, id: Id, labels: Labels) -> None:  # noqa: A002
        """Learn the labels of a document that was observed under ``id``, which then waits no more.

        The document is learnt as if it had come now; its words are not counted again.

        >>> from clasher import Clasher
        >>> model = Clasher(1024, pending=100)
        >>> model.observe("wheat prices rise", id="d1")
        >>> model.learn_later("d1", {"grain"})
        >>> model.support, model.documents, model.pending
        ({'grain': 1}, 1, 0)
        """
        key = key_of(id)
        if labels is None:
            raise LabelError("learn_later needs labels: None says that they are still unknown")
        sets = self._that_find_room(labels)
        document = take(self._state, key)
        if document is None:
            raise NotLearntError(self._missing(id))
        hashed = self._hasher.one(document.buckets, document.counts)
        uncount(self._state, self._setting, hashed.buckets, hashed.words.keys)
        self._step(hashed, sets, predicting=False)

    def _keys(self, ids: Sequence[Id | None] | None, sets: LabelSets) -> list[Key | None]:
        """What unlabelled documents are to be remembered by, checked before anything is learnt."""
        if ids is None:
            return [None] * len(sets)
        if len(ids) != len(sets):
            raise SettingError.of("ids", f"one for each of {len(sets)} documents", ids)
        if not self.settings.pending:
            raise SettingError("the model has no room for documents to wait: Clasher(pending=N)")
        waits = (sets.known == UNLABELLED).tolist()
        return [
            key_of(name) if name is not None and wait else None
            for name, wait in zip(ids, waits, strict=True)
        ]

    def _remember(self, keys: list[Key | None], hashed: Hashed) -> None:
        """Let documents wait for their labels, those that have a key."""
        for number, key in enumerate(keys):
            if key is not None:
                part = hashed.part(number, number + 1)
                put(self._state, Waiting(key, part.buckets, part.counts))

    def _missing(self, id_: Id) -> str:
        room = self.settings.pending
        if not room:
            return "no document waits for labels; give the model room for some: Clasher(pending=N)"
        why = "it was not observed under this id, or has got its labels"
        if self.dropped:
            why += f", or was dropped: {self.dropped} were, there is room for {room}; raise pending"
        return f"no document {id_!r} waits for labels: {why}"

    # ── labels that were wrong ───────────────────────────────────────────────────────────────

    def unlearn(self, text: str, labels: Labels) -> None:
        """Take back ``learn(text, labels)``; with None, ``observe(text)``.

        Exact, to float rounding, for the sketch, and with ``weighting="tf"`` and complete labels
        for the prototypes and statistics of ``centroid`` and ``margin``. Approximate elsewhere:
        other weightings weigh the document as of today; ``mistake`` may not have fed it;
        partial labels and the weights of ``margin`` and ``perceptron`` keep a trace.

        >>> from clasher import Clasher
        >>> model = Clasher(1024, rule="centroid")
        >>> for text in ("oil prices rise", "wheat prices rise"):
        ...     model.learn(text, {"oil"})
        >>> model.unlearn("wheat prices rise", {"oil"})
        >>> model.documents, model.support
        (1, {'oil': 1})
        """
        hashed, sets = self._hasher.hash_one(text), LabelSets.of([labels])
        self._check_learnt(hashed, sets)
        truth = self._index.translate(sets)
        unlearn_document(
            hashed.buckets, hashed.counts, hashed.words.places, hashed.words.keys,
            truth.known[0], truth.ids, truth.yes,
            self._state, self._setting, memory.work_for(self._state, len(hashed.words.keys)),
        )  # fmt: skip

    def correct(self, text: str, wrong: Labels, right: Labels) -> None:
        """Learn ``right`` in place of ``wrong``, which was learnt for the same document.

        With ``margin`` and ``perceptron`` this is also a step towards the right labels, where the
        document is not yet told apart.
        """
        sets = self._that_find_room(right)
        self.unlearn(text, wrong)
        self._step(self._hasher.hash_one(text), sets, predicting=False)

    def _check_learnt(self, hashed: Hashed, sets: LabelSets) -> None:
        """Refuse to take back what cannot have been learnt."""
        state = self._state
        if not state.totals[DOCUMENTS] or not state.frequencies[0, hashed.buckets].all():
            raise NotLearntError("this document was never learnt: the model has not seen its words")
        if sets.known[0] and not state.totals[LABELLED]:
            raise NotLearntError("no labelled document is left to unlearn")
        for number, yes in zip(sets.ids, sets.yes, strict=True):
            name = sets.names[number]
            if not state.counts[self._index.number(name)] > 0.0 and yes:
                raise NotLearntError(f"label {name!r} has no document left to unlearn")

    # ── labels that change ───────────────────────────────────────────────────────────────────

    def rename_label(self, old: str, new: str) -> None:
        """Call a label by another name from now on.

        >>> from clasher import Clasher
        >>> model = Clasher(1024)
        >>> model.learn("wheat prices rise", {"grian"})
        >>> model.rename_label("grian", "grain")
        >>> model.labels
        ['grain']
        """
        self._index.rename(old, new)

    def merge_labels(self, source: str, target: str) -> None:
        """Make one label of two, under the name of the second.

        Documents that carried both count once. Exact for prototypes and statistics where there are
        none such; where there are, they weigh twice in the prototype. Linear weights become the
        mean by documents.
        """
        numbers = self._index.number(source), self._index.number(target)
        if numbers[0] == numbers[1]:
            raise LabelError(f"label {source!r} cannot be merged with itself")
        relabelling.join(self._state, *numbers)
        self.retire_label(source)

    def retire_label(self, label: str) -> None:
        """Forget a label and all that was learnt of it; should it come again, it is a new one."""
        number = self._index.number(label)
        relabelling.retire(self._state, self._index, number, self.settings)
        if self._watch is not None:
            self._watch.renumber()
        if self._state.terms.size:
            look_again(self._state, self._setting.measure)

    def _that_find_room(self, labels: Labels) -> LabelSets:
        """The labels of one document; too many are refused before anything is changed."""
        sets = LabelSets.of([labels])
        evicting = self.settings.on_full == "evict"
        (self._index.check_documents if evicting else self._index.check)(sets)
        return sets
