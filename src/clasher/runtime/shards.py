"""A model split by its labels, for more labels than one machine holds (section 3.5).

Each shard holds the prototypes, weights and statistics of some labels, and all word statistics.
Every shard sees every document. What depends on all labels, such as the nearest region, is found in
rounds: the shards answer, and the best answer goes to all of them for the next round. Predictions
are exactly those of the whole model.

==================  =====================================================================
rule                rounds
==================  =====================================================================
centroid, mistake   the nearest region; its label set, from the shard that holds it
perceptron          the labels that pass
margin              the nearest regions; the two best labels; the labels that pass
==================  =====================================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError, require_positive
from clasher.kernels import Kernel
from clasher.kernels.margin import score_at
from clasher.kernels.shards import ask_linear, ask_look, ask_nearest, ask_regions, ask_scores
from clasher.kernels.state import State
from clasher.labels import LabelSets
from clasher.learning import memory
from clasher.model import Clasher
from clasher.settings import Settings
from clasher.text.hashing import Hashed, Hasher

Labels = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]


class Best(NamedTuple):
    """The best labels of each document by number, −1 for none, and their values."""

    labels: Labels
    values: Values


class Passed(NamedTuple):
    """The labels of each document above the threshold, and the one to predict if none is, or −1."""

    indptr: npt.NDArray[np.int64]
    ids: Labels
    best: Labels
    value: Values


@dataclass(eq=False)
class Shard:
    """Some labels of a model, from number ``first``: the model's state cut to them.

    Its co-occurrences are those of its labels: with ``margin`` in all regions, else in theirs.
    ``counts`` and ``gains`` are those of all labels.
    """

    settings: Settings
    first: int
    labels: int
    state: State
    counts: Values
    gains: Values

    def __post_init__(self) -> None:
        own = self.settings
        self._setting = own.for_kernels()
        self._hasher = Hasher(own.dimensions, own.seed, own.analyzer, keep_words=own.depth > 1)

    @property
    def nbytes(self) -> int:
        return memory.used_bytes(self.state) + self.counts.nbytes + self.gains.nbytes

    def hash_many(self, texts: Any) -> Hashed:
        return self._hasher.hash_many(texts)

    def nearest(self, hashed: Hashed) -> Best:
        """Return the nearest region here, and the three with the highest cosines.

        Values: its nearness, its cosine, and the three cosines.
        """
        return self._best(ask_nearest, hashed, 4, 5)

    def regions(self, regions: Labels) -> tuple[npt.NDArray[np.int64], Labels]:
        """Return the label sets of documents whose nearest region is in this shard, or −1."""
        total = len(self.counts)
        indptr = np.zeros(len(regions) + 1, np.int64)
        ids = np.empty(len(regions) * total, np.int32)
        by_label = {name: np.empty(total, np.int32) for name in ("ids", "likely", "chosen")}
        work = memory.work_for(self.state)._replace(scores=np.empty(total), **by_label)
        here = np.where(regions >= 0, regions - self.first, -1).astype(np.int64)
        ask_regions(here, self.state, self.counts, self._setting, work, indptr, ids)
        return indptr, ids[: indptr[-1]]

    def linear(self, hashed: Hashed) -> Passed:
        return self._passed(ask_linear, hashed)

    def scores(self, hashed: Hashed, near: Best) -> Best:
        """Return the two best labels here before the second look, and their z."""
        return self._best(ask_scores, hashed, 2, 2, self.counts, *near)

    def look(self, hashed: Hashed, near: Best, two: Best) -> Passed:
        """Return the labels here that pass after the second look."""
        cut = float(self.state.cut[0])
        if not self._setting.learnt_cut:
            cut = float(score_at(self.state.odds, self._setting.threshold))
        own = (self.counts, *near, self.first, self.gains, cut, *two)
        return self._passed(ask_look, hashed, *own)

    def _ask(self, kernel: Kernel, hashed: Hashed, *more: Any) -> None:
        words = hashed.words
        work = memory.work_for(self.state, hashed)
        kernel.variant(self._setting.constants)(
            hashed.indptr, hashed.buckets, hashed.counts, words.indptr, words.places, words.keys,
            self.state, self._setting, work, self.labels, *more,
        )  # fmt: skip

    def _best(self, kernel: Kernel, hashed: Hashed, labels: int, values: int, *more: Any) -> Best:
        n = hashed.documents
        found = Best(np.empty((n, labels), np.int32), np.empty((n, values)))
        self._ask(kernel, hashed, *more, *found)
        return Best(self._everywhere(found.labels), found.values)

    def _passed(self, kernel: Kernel, hashed: Hashed, *more: Any) -> Passed:
        n = hashed.documents
        indptr, value = np.zeros(n + 1, np.int64), np.zeros(n)
        ids, best = np.empty(n * self.labels, np.int32), np.empty(n, np.int32)
        self._ask(kernel, hashed, *more, indptr, ids, best, value)
        ids = self._everywhere(ids[: indptr[-1]])
        return Passed(indptr, ids, self._everywhere(best), value)

    def _everywhere(self, labels: Labels) -> Labels:
        """Return label numbers of the whole model."""
        return np.where(labels >= 0, labels + self.first, -1).astype(np.int32)


def split(model: Clasher, shards: int) -> list[Shard]:
    """Split a model by its labels.

    >>> model = Clasher(1024)
    >>> model.learn_many(["wheat", "gold", "oil"] * 5, [{"grain"}, {"metal"}, {"energy"}] * 5)
    >>> shards = split(model, 2)
    >>> predict(shards, model.labels, ["gold and oil"])[0] == model.predict("gold and oil")
    True
    """
    require_positive("split", "shards", shards)
    total = len(model.labels)
    if shards > total:
        most = f"at most {total}, the labels of the model"
        raise SettingError.of("shards", most, shards, "split")
    bounds = [total * shard // shards for shard in range(shards + 1)]
    state, every = model.state, slice(0, total)
    parts = []
    for first, stop in pairwise(bounds):
        cut = memory.cut_labels(state, first, stop, regions=model.settings.rule == "margin")
        counts, gains = state.counts[every].copy(), state.gains[every].copy()
        parts.append(Shard(model.settings, first, stop - first, cut, counts, gains))
    return parts


def nearest_of(answers: Sequence[Best]) -> Best:
    """Combine ``Shard.nearest``; the nearest region fills up if there are fewer than three."""
    labels = np.stack([answer.labels for answer in answers], axis=1)  # [n, shards, 4]
    values = np.stack([answer.values for answer in answers], axis=1)  # [n, shards, 5]
    region, _ = highest(labels[:, :, 0], values[:, :, 0], 1)
    owner = np.argmax(labels[:, :, 0] == region, axis=1)
    cosine = values[np.arange(len(region)), owner, 1]
    all_labels = np.hstack([answer.labels[:, 1:] for answer in answers])
    all_cosines = np.hstack([answer.values[:, 2:] for answer in answers])
    three, cosines = highest(all_labels, all_cosines, 3)
    missing = three < 0
    return Best(
        np.hstack([region, np.where(missing, region, three)]).astype(np.int32),
        np.hstack([cosine[:, None], np.where(missing, 0.0, cosines)]),
    )


def best_of(answers: Sequence[Best]) -> Best:
    """Return the two best labels of all shards."""
    labels = np.hstack([answer.labels for answer in answers])
    values = np.hstack([answer.values for answer in answers])
    return Best(*highest(labels, values, 2))


def passed_of(answers: Sequence[Passed]) -> tuple[Any, Labels]:
    """Return the labels of all shards that pass; if none does, the best that a shard offers."""
    documents = len(answers[0].best)
    bests = np.stack([answer.best for answer in answers], axis=1)
    best, _ = highest(bests, np.stack([answer.value for answer in answers], axis=1), 1)
    owners = [np.repeat(np.arange(documents), np.diff(answer.indptr)) for answer in answers]
    owner, ids = np.concatenate(owners), np.concatenate([answer.ids for answer in answers])
    lonely = np.setdiff1d(np.flatnonzero(best[:, 0] >= 0), owner)
    owner, ids = np.concatenate([owner, lonely]), np.concatenate([ids, best[lonely, 0]])
    order = np.lexsort((ids, owner))
    indptr = np.searchsorted(owner[order], np.arange(documents + 1))
    return indptr.astype(np.int64), ids[order].astype(np.int32)


def highest(labels: Labels, values: Values, most: int) -> tuple[Labels, Values]:
    """Return the labels with the highest values in each row, the lower number first if equal."""
    least = np.where(labels >= 0, values, -np.inf)
    order = np.lexsort((labels, -least), axis=1)[:, :most]
    found = np.take_along_axis(labels, order, axis=1)
    return found, np.take_along_axis(values, order, axis=1)


def predict(shards: Sequence[Shard], names: list[str], texts: Any) -> LabelSets:
    """Predict with all shards of a model in this process; ``names`` are its labels."""
    hashed = shards[0].hash_many(texts)
    rule = shards[0].settings.rule
    if rule == "perceptron":
        indptr, ids = passed_of([shard.linear(hashed) for shard in shards])
        return LabelSets(names, ids, indptr)
    near = nearest_of([shard.nearest(hashed) for shard in shards])
    if rule == "margin":
        two = best_of([shard.scores(hashed, near) for shard in shards])
        indptr, ids = passed_of([shard.look(hashed, near, two) for shard in shards])
        return LabelSets(names, ids, indptr)
    regions = near.labels[:, :1]
    owners = owner_of([shard.first for shard in shards], regions[:, 0])
    sets = [shards[owner].regions(region) for owner, region in zip(owners, regions, strict=True)]
    none = LabelSets(names, np.zeros(0, np.int32), np.zeros(1, np.int64))
    return LabelSets.join([none, *(LabelSets(names, ids, indptr) for indptr, ids in sets)])


def owner_of(firsts: Sequence[int], labels: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Return the shard of each label, given the first label of each shard; the first for −1."""
    places = np.searchsorted(np.asarray(firsts), labels, side="right") - 1
    return np.maximum(places, 0).astype(np.int32)
