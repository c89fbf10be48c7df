"""The words behind buckets: which word stands for a bucket, and what a label is about.

A hash cannot be undone, so a model that is to speak in words keeps one for each bucket (see
``kernels/words.py``). A word that makes up more than half of a bucket's occurrences is the one that
is kept; memory is constant.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clasher.errors import SettingError
from clasher.explain import WordWeight
from clasher.kernels.fading import gain
from clasher.kernels.margin import COSINE
from clasher.kernels.state import MARGIN, PERCEPTRON, Setting, State
from clasher.kernels.words import merge_votes, write_signs
from clasher.labels import LabelIndex


def word_of(state: State, bucket: int) -> str | None:
    """The word that stands for a bucket; None where none does yet."""
    _check_words(state)
    dimensions = len(state.word_keys)
    if not 0 <= bucket < dimensions:
        raise SettingError.of("bucket", f"from 0 to {dimensions - 1}", bucket, "word_of")
    text = state.words[bucket].tobytes().rstrip(b"\0").decode("utf-8", "replace")
    return " ".join(text.lower().split()) or None


def top_words(
    label: str, most: int, index: LabelIndex, state: State, setting: Setting
) -> list[WordWeight]:
    """The words that speak for a label, the weightiest first.

    A word weighs the evidence it adds for the label in a document of unit length without others:
    to the log-odds with the linear rules, to the cosine of its prototype with the paper's.
    """
    _check_words(state)
    if type(most) is not int or most < 1:
        raise SettingError.of("n", "an integer from 1", most, "top_words")
    j = index.number(label)
    buckets = np.flatnonzero(state.word_votes > 0)
    signs = np.empty(len(buckets))
    write_signs(state.word_keys[buckets], signs)
    weights = _weights(j, buckets, state, setting) * signs
    best = [at for at in np.argsort(-weights, kind="stable")[:most] if weights[at] > 0]
    named = ((word_of(state, int(buckets[at])), float(weights[at])) for at in best)
    return [WordWeight(word, weight) for word, weight in named if word is not None]


def merge_words(mine: State, other: State) -> None:
    """Add the words of another model's state, of the same settings, to one's own.

    The word kept for a bucket is still the one of more than half of its occurrences in both.
    """
    if len(mine.word_keys) != len(other.word_keys):
        raise SettingError("one of the models keeps words and the other does not, or fewer buckets")
    merge_votes(mine, other)


def _check_words(state: State) -> None:
    if not len(state.word_keys):
        raise SettingError(
            "the model keeps no words; make it with Clasher(words=True), or clasher learn --words"
        )


def _weights(
    j: int, buckets: npt.NDArray[np.int64], state: State, setting: Setting
) -> npt.NDArray[np.float64]:
    """What a bucket adds to the evidence for label ``j`` for each 1 of it."""
    first: npt.NDArray[np.float64] = state.rows[buckets, 0, j].astype(np.float64)
    if setting.rule == PERCEPTRON:
        return np.asarray(first / gain(state, j))
    cosines: npt.NDArray[np.float64] = first * state.scales[j]
    if setting.rule != MARGIN:
        return cosines
    weights = state.rows[buckets, 1, j] + state.shared[0, COSINE] * cosines
    return np.asarray(state.odds[1] * weights)
