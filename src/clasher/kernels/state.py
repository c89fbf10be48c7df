"""Structures that the kernels share: a model's state, its settings, scratch space of a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the command line reads RULES without waiting for NumPy
    import numpy as np

CENTROID, MISTAKE, MARGIN, PERCEPTRON = 0, 1, 2, 3
RULES = {"margin": MARGIN, "centroid": CENTROID, "mistake": MISTAKE, "perceptron": PERCEPTRON}
"""The learning rules: ``rules.learn`` has a branch for each."""

RULE = MARGIN  # the rule that loops are compiled for, unless ``Setting.constants`` says otherwise
EXTRAS = 1  # 0: without weightings by class, detectors, deep sketches and fading

DOCUMENTS, LABELLED, LABELS = 0, 1, 2  # places in State.totals
FADED, NOW = 0, 1  # places in State.clock
BINS = 62  # below −3, sixty bins of 0.1, above 3
BLOCKS = 32  # blocks of documents whose errors are remembered
RECENT = (2048, 64, 8)  # documents kept for comparison, buckets and labels of each
START, SIZE, ROOM, DENSE = 0, 1, 2, 3  # places in a row of heads; START is in units of cells
UNIT = 2
TOP, USED, LIMIT, TIGHT, FREE = 0, 1, 2, 3, 4  # places in Pool.free: see there
SIZES = 64
FULL = 0.9  # the part of the limit at which cells are dropped


class Pool(NamedTuple):
    """The cells of all rows; see ``cells``."""

    labels: np.ndarray  # int32[cells]
    values: np.ndarray  # float32[cells · layers]: a sum or a count, then a linear weight if any
    free: np.ndarray  # int64[SIZES]: end of the blocks, cells in them, limit, whether the limit was
    # reached; then the free blocks by size
    layers: int  # values of a cell


class State(NamedTuple):
    """Everything that a model has learnt: m buckets, room for L labels."""

    pool: Pool  # the cells of ``rows``, ``together`` and ``classes``, which are heads: int32[…, 4]
    totals: np.ndarray  # int64[3]: documents counted, documents with labels, labels in use
    frequencies: np.ndarray  # float64[depth, m]: C of Algorithm 3; rows past 0 hash words again
    dropped: np.ndarray  # int64[1]: cells dropped for want of room
    rows: np.ndarray  # [m]: per label the sum of fed documents and a linear weight
    counts: np.ndarray  # float64[L]: n_i, documents fed (or seen, for the linear rules)
    norms: np.ndarray  # float64[L]: ‖S_i‖²
    scales: np.ndarray  # float64[L]: 1 / ‖S_i‖, 0 for a zero prototype
    together: np.ndarray  # [L]: n_ij
    seen: np.ndarray  # int64[L]: the last document that named the label
    squares: np.ndarray  # float32[m]: AdaGrad sums of the weights of all labels
    bias: np.ndarray  # float64[2, L]: b_j and its AdaGrad sum
    spent: np.ndarray  # float64[1]: the AdaGrad sums of all biases, added up
    shared: np.ndarray  # float64[2, 4]: a1..a4 and their AdaGrad sums
    margins: np.ndarray  # float64[2, BINS]: fading histograms of z for false and true labels
    cut: np.ndarray  # float64[1]: the threshold that was learnt
    bests: np.ndarray  # float64[2, BINS]: the same of the best z: no label true, best true
    floor: np.ndarray  # float64[1]: predict the best label above this z, even below the threshold
    odds: np.ndarray  # float64[2]: offset and slope from z to log-odds
    classes: np.ndarray  # [m]: A_k of section 3.6; none if the weighting needs none
    members: np.ndarray  # float64[2, L]: N_k in the units of classes, and in documents
    terms: np.ndarray  # float64[2, m]: labelled documents with the bucket, its cached term
    late_keys: np.ndarray  # int64[p, 2]: digests of the ids of documents waiting for labels
    late_spans: np.ndarray  # int64[p, 2]: where their buckets start, and how many
    late_buckets: np.ndarray  # int32[b]: a ring
    late_counts: np.ndarray  # float32[b]
    late_marks: np.ndarray  # int64[5]: see clasher.learning.late_labels
    word_keys: np.ndarray  # uint64[m]: the hash of the word that stands for each bucket
    word_votes: np.ndarray  # int64[m]: the votes it has left
    words: np.ndarray  # uint8[m, LONGEST]: its text in UTF-8, filled up with zeros
    clock: np.ndarray  # float64[2]: faded number of documents; what the next one counts
    gains: np.ndarray  # float64[L]: how much more it counts for a label that forgot more
    blocks: np.ndarray  # float32[L, blocks + 1, 2]: trials and errors, now and in past blocks
    all_blocks: np.ndarray  # float32[1, blocks + 1, 2]: the same of all labels together
    recent_buckets: np.ndarray  # int32[documents, buckets]: of the latest documents, then −1
    recent_x: np.ndarray  # float32[documents, buckets]: their weights
    recent_labels: np.ndarray  # int32[documents, labels]: their labels, then −1


class Setting(NamedTuple):
    """The settings that kernels read."""

    rule: int
    idf: bool
    measure: int
    log_tf: bool
    unit: bool
    lead: bool  # first words weigh more
    conservative: bool
    euclidean: bool
    learnt_cut: bool
    threshold: float  # on the score of the rule: a fraction, or log-odds
    learnt_floor: bool
    floor: float  # predict the best label above this score: −∞ always, ∞ never
    growth: float  # how much more a document counts than the one before it
    watching: bool  # record errors for a change detector
    deep: bool  # the sketch has several rows

    @property
    def constants(self) -> dict[str, int]:
        """The constants that choose the variant of a loop; see ``Kernel.variant``."""
        extras = self.measure or self.watching or self.deep or self.growth != 1.0
        return {"RULE": self.rule, "EXTRAS": int(bool(extras))}


class Work(NamedTuple):
    """Scratch space of one thread: first per bucket of a document, then per label or candidate.

    The candidates of a document are the labels that it touches; see ``cells``. Their entries are
    left over from other documents.
    """

    x: np.ndarray  # float32: weights of the document's buckets
    frequencies: np.ndarray  # float64: their document frequencies, and the number of documents;
    # then the logarithms of these
    powers: np.ndarray  # float64: the powers of two in them
    estimates: np.ndarray  # float64[words of a document]: document frequencies of its words
    squares: np.ndarray  # float32: their AdaGrad sums
    weights: np.ndarray  # float32: one label's weights for them
    places: np.ndarray  # int64[TOGETHER, …]: the cells of some labels
    slopes: np.ndarray  # float64[4]: gradients of a1..a4
    every: np.ndarray  # int32: 0, 1, 2 and so on: the candidates if every label is one
    ids: np.ndarray  # int32: the candidates else
    slots: np.ndarray  # int32 by label: its place among these, else −1
    scales: np.ndarray  # float64 by candidate, as ``State.scales``
    bias: np.ndarray  # float64 by candidate, as ``State.bias[0]``
    both: np.ndarray  # float32 by candidate: ⟨S_j, x⟩, then ⟨w_j, x⟩ if there are weights
    cosines: np.ndarray  # float64 by candidate: c_j
    fractions: np.ndarray  # float64 by candidate: F_j
    pairs: np.ndarray  # float32 by candidate: its documents with another label
    looks: np.ndarray  # float64 by candidate: l_j
    scores: np.ndarray  # float64 by candidate: F̂ or z; −∞ of a label that is not touched
    likely: np.ndarray  # int32: places of the candidates that may be predicted or moved
    truth: np.ndarray  # int8 by label: YES or DENIED if the document says so; zeros
    chosen: np.ndarray  # int32: the predicted labels
    moved: np.ndarray  # int32: the labels that a document changes
    moved_at: np.ndarray  # int32: their places among the candidates, with the margin rule
    own_at: np.ndarray  # int32: the places of the document's labels, with the margin rule


TOGETHER = 8  # labels that are moved together
