"""Every setting of a model and its default, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from clasher.errors import SettingError
from clasher.kernels.state import (
    CENTROID,
    CHI2,
    GINI,
    ICF,
    ICSDF,
    IG,
    MARGIN,
    MISTAKE,
    NO_MEASURE,
    ODDS,
    PERCEPTRON,
    Setting,
)
from clasher.text.analyzer import Analyzer, Tokenizer, analyzer_for

RULES = {"margin": MARGIN, "centroid": CENTROID, "mistake": MISTAKE, "perceptron": PERCEPTRON}
MEASURES = {"icf": ICF, "icsdf": ICSDF, "chi2": CHI2, "ig": IG, "or": ODDS, "gini": GINI}
"""The weightings that ask what labels tell of words (section 3.6)."""
WITH_IDF = ("tfidf", "icf", "icsdf")
GIVEN = "given"
"""The weighting of documents that come with their weights."""
CHOICES: dict[str, tuple[str, ...]] = {
    "rule": tuple(RULES),
    "weighting": ("tfidf", "tf", *MEASURES, GIVEN),
    "similarity": ("cosine", "euclidean"),
    "tf": ("log", "count"),
    "norm": ("l2", "none"),
    "on_full": ("error", "evict"),
    "detector": ("none", "window", "adwin"),
}
HALF_LIVES = (1.0, 1e12)
PAPER = {"tf": "count", "norm": "none", "threshold": 0.5, "at_least_one": False}
"""What the paper does: raw counts, no length normalisation, θ = 0.5."""


@dataclass(frozen=True)
class Settings:
    """The settings of a model; two models with equal settings speak the same language.

    Parameters
    ----------
    dimensions
        Number of buckets m that words are hashed to.
    rule
        ``margin`` (Mode 3, ours), ``centroid`` (Mode 1, Algorithm 5), ``mistake`` (Mode 2,
        Algorithm 6), or ``perceptron`` (the paper's baseline, one binary perceptron per label).
    weighting
        ``tfidf`` (Algorithm 3) or ``tf`` (Algorithm 2); or what labels tell of words (section
        3.6): ``icf`` and ``icsdf`` scale TF-IDF by how few labels a word comes with, ``chi2``,
        ``ig``, ``or`` and ``gini`` scale TF by how much labels depend on it. ``given`` takes the
        weights that documents come with (``Clasher.take_rows``) as they are, up to ``norm``.
    similarity
        How the nearest prototype is found: ``cosine`` or ``euclidean`` (Eq. 12).
    tf
        ``log`` (1 + ln of a bucket's count) or ``count`` (the count itself).
    norm
        ``l2`` scales every document to unit length, ``none`` does not.
    threshold
        Predict labels above this probability: for the paper's rules, the fraction θ of Eq. 13.
        None: learnt online for ``margin``, else 0.5.
    at_least_one
        Whether to predict the best label of a document if none passes the threshold: True always,
        False never. None: ``margin`` and ``perceptron`` learn from the stream how low the best
        label may score. They predict it where it is right at least as often as a document has no
        label, so always while every document has one. The paper's rules always do.
    max_labels
        The stream may have this many labels.
    on_full
        What happens past ``max_labels``: ``error``, or ``evict`` the longest unseen label.
    seed
        Seed of the hash functions.
    depth
        Rows of the sketch of document frequencies (the L of Theorem 2), 1 to 16: with more of
        them, words that share a bucket are told apart when they are counted. For weightings with
        an IDF.
    conservative
        Raise only those counters of a word that are no higher than its estimate (conservative
        update): smaller errors of a deeper sketch; with one row it is the same.
    pending
        Keep this many unlabelled documents, hashed, so that ``learn_later`` can still learn them.
    words
        Keep a word for each bucket, so that ``top_words`` can tell what a label is about; with a
        ``detector`` they are kept in any case, for alarms to name them.
    half_life
        What was learnt this many documents ago weighs half of what is learnt now, a number from 1
        to 1e12. None: nothing is forgotten.
    detector
        Whether to watch the errors of the predictions made before learning, and to give up most of
        the past where they rise: ``none``, ``window`` (built in) or ``adwin`` (River's; needs the
        extra ``drift``).
    analyzer
        How text is cut into words. None: ``Analyzer.rich()`` for ``margin``, else ``Analyzer()``.

    Examples
    --------
    >>> settings = Settings(dimensions=1024, half_life=10_000)
    >>> settings.differences(Settings())
    ['dimensions', 'half_life']
    """

    dimensions: int = 65536
    rule: str = "margin"
    weighting: str = "tfidf"
    similarity: str = "cosine"
    tf: str = "log"
    norm: str = "l2"
    threshold: float | None = None
    at_least_one: bool | None = None
    max_labels: int = 4096
    on_full: str = "error"
    seed: int = 0
    depth: int = 1
    conservative: bool = False
    pending: int = 0
    words: bool = False
    half_life: float | None = None
    detector: str = "none"
    analyzer: Analyzer = None  # type: ignore[assignment]  # never is, once the rule is known

    def __post_init__(self) -> None:
        _integer("dimensions", self.dimensions, 2, 2**30)
        _integer("max_labels", self.max_labels, 1, 2**24)
        _integer("seed", self.seed, 0, 2**63 - 1)
        _integer("depth", self.depth, 1, 16)
        _integer("pending", self.pending, 0, 2**22)
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                wanted = "one of " + ", ".join(map(repr, known))
                raise SettingError.of(name, wanted, getattr(self, name))
        theta = self.threshold
        if theta is not None and (
            isinstance(theta, bool) or not isinstance(theta, int | float) or not 0 < theta < 1
        ):
            raise SettingError.of("threshold", "None or a number between 0 and 1", theta)
        if self.half_life is not None and not is_number(self.half_life, *HALF_LIVES):
            wanted = "None or a number of documents from {:g} to {:g}".format(*HALF_LIVES)
            raise SettingError.of("half_life", wanted, self.half_life)
        if self.at_least_one is not None and not isinstance(self.at_least_one, bool):
            raise SettingError.of("at_least_one", "None, True or False", self.at_least_one)
        for name in ("conservative", "words"):
            if not isinstance(getattr(self, name), bool):
                raise SettingError.of(name, "True or False", getattr(self, name))
        if self.depth > 1 and self.weighting not in WITH_IDF:
            wanted = f"1 with weighting {self.weighting!r}, which asks for no document frequencies"
            raise SettingError.of("depth", wanted, self.depth)
        if self.words and self.weighting == GIVEN:
            wanted = "False with weighting 'given', whose documents come without words"
            raise SettingError.of("words", wanted, self.words)
        if self.analyzer is None:
            object.__setattr__(self, "analyzer", analyzer_for(self.rule))
        if not isinstance(self.analyzer, Analyzer):
            raise SettingError.of("analyzer", "an Analyzer or None", self.analyzer)

    @classmethod
    def of(cls, given: dict[str, Any], tokenizer: Tokenizer | None = None) -> Settings:
        """Settings from names and values, as they stand in a model file; see ``Clasher.load``."""
        known = {f.name for f in fields(cls)}
        for name in given:
            if name not in known:
                raise SettingError(f"Clasher has no parameter {name!r}; it has {sorted(known)}.")
        analyzer = given.get("analyzer")
        if not isinstance(analyzer, dict):
            raise SettingError.of("analyzer", "an object", analyzer)
        return cls(**{**given, "analyzer": Analyzer.of(analyzer, tokenizer)})

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**values, "analyzer": self.analyzer.to_dict()}

    @property
    def keeps_words(self) -> bool:
        """Whether words behind buckets are kept: where asked to, and for alarms to name them."""
        return (self.words or self.detector != "none") and self.weighting != GIVEN

    @property
    def _has_order(self) -> bool:
        """Whether the words of documents come one after another, as they do in text."""
        return self.weighting != GIVEN and not self.analyzer.features

    def differences(self, other: Settings) -> list[str]:
        """The names of the settings that differ."""
        return [f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]

    @property
    def forgets(self) -> bool:
        """Whether it matters when a document came."""
        return self.half_life is not None or self.detector != "none"

    def for_kernels(self) -> Setting:
        """What the kernels need to know."""
        theta = 0.5 if self.threshold is None else float(self.threshold)
        linear = self.rule in ("margin", "perceptron")
        return Setting(
            rule=RULES[self.rule],
            idf=self.weighting in WITH_IDF,
            measure=MEASURES.get(self.weighting, NO_MEASURE),
            log_tf=self.tf == "log" and self.weighting != GIVEN,
            unit=self.norm == "l2",
            lead=self.rule == "margin" and self._has_order,
            conservative=self.conservative and self.depth > 1,
            euclidean=self.similarity == "euclidean",
            learnt_cut=self.rule == "margin" and self.threshold is None,
            threshold=math.log(theta / (1.0 - theta)) if linear else theta,
            learnt_floor=linear and self.at_least_one is None,
            floor=math.inf if self.at_least_one is False else -math.inf,
            growth=1.0 if self.half_life is None else 2.0 ** (1.0 / self.half_life),
            watching=self.detector != "none",
        )


def is_number(value: object, least: float, most: float) -> bool:
    """Whether ``value`` is a number within these bounds."""
    return isinstance(value, int | float) and type(value) is not bool and least <= value <= most


def _integer(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingError.of(name, f"an integer from {least} to {most}", value)
