"""Explanations: which words and which region spoke for a label, and which words a label is about.

A hash cannot be undone, so a model that names words keeps one for each bucket: the word that makes
up more than half of the bucket's occurrences. Memory is constant.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clasher import frames
from clasher.errors import LabelError, SettingError, is_integer, require
from clasher.kernels.clash import examine
from clasher.kernels.decay import gain
from clasher.kernels.margin import COSINE, log_odds
from clasher.kernels.regions import ratio
from clasher.kernels.scan import write_signs
from clasher.kernels.state import LABELS, MARGIN, PERCEPTRON, Setting, State
from clasher.labels import LabelIndex
from clasher.learning import memory
from clasher.text.hashing import Hasher, Word

Floats = npt.NDArray[np.float64]
CANCELLED = 0.01  # words whose cosines cancel to less than this share do not explain c_j


class WordWeight(NamedTuple):
    """A word and its weight."""

    word: str
    weight: float


class WordEvidence(NamedTuple):
    """A word of the document and its evidence for the label; negative speaks against it."""

    word: str
    evidence: float


class Span(NamedTuple):
    """A range of characters of the document and its evidence for the label."""

    start: int
    stop: int
    evidence: float


@dataclass(frozen=True)
class Explanation:
    """Why a label was predicted for a document, or was not.

    Attributes
    ----------
    label : str
        The explained label.
    predicted : bool
        Whether the model predicts it.
    probability : float
        As from ``Clasher.probabilities``: for the paper's rules, the fraction F̂ of the region's
        documents that carry the label (Eq. 15).
    evidence : float
        The sum of ``words`` and ``other``: for the linear rules the log-odds of the label, for the
        paper's rules the cosine of the region, since their words only choose the region.
    region : str | None
        The region that the document fell into: the label with the nearest prototype.
    similarity : float
        Its cosine to the document.
    words : list of (word, evidence)
        The evidence of each word, strongest first.
    other : dict
        Evidence that is not from words: the label's ``bias``, its share of the nearby regions
        (``region``), and how well it goes with the best of the ``other labels``.
    spans : list of (start, stop, evidence)
        Where these words stand in the text, in its order; their evidence has the same sum.

    Examples
    --------
    >>> from clasher import Clasher
    >>> model = Clasher(1024)
    >>> for _ in range(3):
    ...     model.learn("gold mine", {"gold"})
    ...     model.learn("oil rig", {"oil"})
    >>> explanation = model.explain("a mine of oil", "gold")
    >>> [word for word, evidence in explanation.words if evidence > 0]
    ['mine']
    """

    label: str
    predicted: bool
    probability: float
    evidence: float
    region: str | None
    similarity: float
    words: list[WordEvidence]
    other: dict[str, float] = field(default_factory=dict)
    spans: list[Span] = field(default_factory=list)

    def __str__(self) -> str:
        verdict = "predicted" if self.predicted else "not predicted"
        near = "no region"
        if self.region is not None:
            near = f"region {self.region} (cosine {self.similarity:.2f})"
        sums = f"probability {self.probability:.3f}, evidence {self.evidence:+.3f}"
        lines = [f"{self.label}: {verdict}, {sums}, {near}"]
        lines += [f"  {weight:+.3f}  {word}" for word, weight in self.words[:10]]
        lines += [f"  {weight:+.3f}  ({name})" for name, weight in self.other.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        given = "given" if self.predicted else "not given"
        nearest = "no region" if self.region is None else f"region {self.region}"
        return frames.card(
            f"{self.label}: {given}, {self.probability:.3f}; {nearest}, {self.similarity:.3f}",
            f"<p>{frames.weighted(self.words)}</p>",
            frames.rows(["beside words", ""], [(k, f"{v:+.3f}") for k, v in self.other.items()]),
        )


def explain(
    text: str, label: str | None, hasher: Hasher, index: LabelIndex, state: State, setting: Setting
) -> Explanation:
    """Explain ``label``, or the best label, of a document; changes nothing."""
    if not len(index):
        raise LabelError("there is nothing to explain yet: the model knows no label")
    asked = None if label is None else index.number(label)
    hashed = hasher.hash_one(text)
    buckets, counts = hashed.buckets, hashed.counts
    work, labels = memory.work_for(state, hashed), int(state.totals[LABELS])
    terms = np.empty((5, labels))
    region, similarity, length, predicted = examine.variant(setting.constants)(
        buckets, counts, hashed.words.places, hashed.words.keys, state, setting, work, terms
    )
    chosen = work.chosen[:predicted]
    scores, probabilities = terms[0], terms[1]
    j = asked
    if j is None:  # the label that would be predicted first
        j = int(np.argmax(np.where(state.counts[:labels] > 0, scores, -np.inf)))
    x = work.x[: len(buckets)].astype(np.float64)
    score = float(scores[j])
    evidence = score if setting.rule == PERCEPTRON else similarity
    if setting.rule == MARGIN:
        evidence = float(log_odds(state.odds, score))
    own = similarity, *terms[2:, j].tolist()
    by_bucket, other = _shares(j, region, own, buckets, x, length, state, setting)
    found = hasher.words(text)
    words = _by_word(found, buckets, counts, by_bucket)
    written = Counter(word.text for word in found)  # words share their evidence evenly
    spoken: dict[str, float] = defaultdict(float)
    for word, weight in words:
        spoken[word] += weight
    spans = sorted(Span(w.start, w.stop, spoken[w.text] / written[w.text]) for w in found)
    return Explanation(
        index.names[j], bool(np.any(chosen == j)), float(probabilities[j]), evidence,
        index.names[region] if region >= 0 else None, similarity, words, other, spans,
    )  # fmt: skip


def _shares(
    j: int, region: int, terms: tuple[float, ...], buckets: npt.NDArray[np.int32],
    x: npt.NDArray[np.float64], length: float, state: State, setting: Setting,
) -> tuple[npt.NDArray[np.float64], dict[str, float]]:  # fmt: skip
    """Return the evidence for label ``j`` of each bucket, and that from elsewhere.

    ``terms`` are the cosine of the nearest region, and c_j, F_j and l_j.
    """
    nearest, cosine, fraction, look = terms
    bias = {"bias": float(state.bias[0, j])}
    if setting.rule == PERCEPTRON:
        one = gain(state.clock, state.gains, j)
        sums, _ = memory.column(state, "rows", j, buckets)
        return x * sums / one, {"bias": bias["bias"] / one}
    if setting.rule != MARGIN:
        if region < 0:
            return np.zeros(len(x)), {}
        sums, _ = memory.column(state, "rows", region, buckets)
        return x * sums * (state.scales[region] / length), {}
    offset, slope = state.odds
    sums, weights = memory.column(state, "rows", j, buckets)
    shares = x * weights
    bias = {"bias": float(offset + slope * bias["bias"])}
    if region < 0:
        return slope * shares, bias
    per_cosine, per_ratio, per_fraction, per_look = state.shared[0]
    cosines = x * sums * (state.scales[j] / length)  # add up to c_j
    shares += per_cosine * cosines
    near = per_ratio * ratio(cosine, nearest)
    common = per_fraction * fraction
    if abs(cosines.sum()) > CANCELLED * np.abs(cosines).sum():
        shares += near * cosines / cosines.sum()  # words share in r_j as in c_j
    else:
        common += near
    other = {"region": slope * common, "other labels": slope * (per_look * look)}
    return slope * shares, bias | {name: float(value) for name, value in other.items()}


def _by_word(
    found: list[Word], buckets: npt.NDArray[np.int32], counts: npt.NDArray[np.float32],
    shares: npt.NDArray[np.float64],
) -> list[WordEvidence]:  # fmt: skip
    """Split the evidence of each bucket among its words, by their signed counts."""
    place = {int(bucket): at for at, bucket in enumerate(buckets)}
    signed: dict[tuple[str, int], float] = defaultdict(float)
    for word in found:
        signed[word.text, word.bucket] += word.sign
    weights = []
    for (text, bucket), count in signed.items():
        at = place[bucket]
        share = float(shares[at] * count / counts[at]) if counts[at] else 0.0
        weights.append(WordEvidence(text, share))
    return sorted(weights, key=lambda pair: -abs(pair.evidence))


def neighbours(label: str, most: int, index: LabelIndex, state: State) -> list[tuple[str, float]]:
    """Return the labels that occur most often with a label, each with its share (Eq. 15)."""
    j, labels = index.number(label), len(index)
    if not state.together.size or not state.counts[j] > 0:
        return []
    shares = memory.row(state, "together", j, labels) / state.counts[j]
    shares[j] = 0.0
    best = [i for i in np.argsort(-shares, kind="stable")[:most].tolist() if shares[i] > 0]
    return [(index.names[i], float(shares[i])) for i in best]


def word_of(state: State, bucket: int) -> str | None:
    """Return the word kept for a bucket, None if there is none yet."""
    _check_words(state)
    dimensions = len(state.word_keys)
    require(0 <= bucket < dimensions, "bucket", f"from 0 to {dimensions - 1}", bucket, "word_of")
    text = state.words[bucket].tobytes().rstrip(b"\0").decode("utf-8", "replace")
    return " ".join(text.lower().split()) or None


def top_words(j: int, most: int, state: State, setting: Setting) -> list[WordWeight]:
    """Return the words that speak most for label ``j``, with their evidence if they stand alone."""
    _check_words(state)
    require(is_integer(most, 1), "n", "an integer from 1", most, "top_words")
    buckets = np.flatnonzero(state.word_votes > 0)
    signs = np.empty(len(buckets))
    write_signs(state.word_keys[buckets], signs)
    weights = _weights(j, buckets, state, setting) * signs
    best = [at for at in np.argsort(-weights, kind="stable")[:most] if weights[at] > 0]
    named = ((word_of(state, int(buckets[at])), float(weights[at])) for at in best)
    return [WordWeight(word, weight) for word, weight in named if word is not None]


def _check_words(state: State) -> None:
    if not len(state.word_keys):
        raise SettingError(
            "the model keeps no words; make it with Clasher(words=True), or clasher learn --words"
        )


def _weights(j: int, buckets: npt.NDArray[np.int64], state: State, setting: Setting) -> Floats:
    sums, linear = memory.column(state, "rows", j, buckets)
    first: Floats = sums.astype(np.float64)
    if setting.rule == PERCEPTRON:
        return np.asarray(first / gain(state.clock, state.gains, j))
    cosines: Floats = first * state.scales[j]
    if setting.rule != MARGIN:
        return cosines
    weights = linear + state.shared[0, COSINE] * cosines
    return np.asarray(state.odds[1] * weights)
