"""Random small streams with few buckets, so that words collide and cancel, and few labels."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from clasher.kernels.weightings import WEIGHTINGS
from clasher.settings import RULES, WITH_IDF

BUCKETS = 16
WORDS = 40
NAMES = ("ale", "bee", "cod", "doe")


def bucket_and_sign(word: int) -> tuple[int, int]:
    """Replace the hash: words of a bucket have either sign."""
    return word % BUCKETS, 1 if (word * 2654435761 >> 16) & 1 else -1


def hashed(words: list[int]) -> list[tuple[int, int]]:
    """Return a document of word numbers as the reference reads it."""
    return [bucket_and_sign(word) for word in words]


def text(words: list[int]) -> str:
    """Return a document of word numbers as text."""
    return " ".join(f"w{word}" for word in words)


words = st.lists(st.integers(0, WORDS - 1), max_size=8)
"""A document as word numbers, maybe none."""

complete_labels = st.frozensets(st.sampled_from(NAMES), max_size=3)
partial_labels = st.dictionaries(st.sampled_from(NAMES), st.booleans(), max_size=3)
any_labels = st.one_of(complete_labels, complete_labels, partial_labels, st.none())


def streams(
    labels: st.SearchStrategy[Any] = any_labels, max_size: int = 25
) -> st.SearchStrategy[list[tuple[list[int], Any]]]:
    """Draw streams of (word numbers, labels)."""
    return st.lists(st.tuples(words, labels), min_size=1, max_size=max_size)


weightings = st.sampled_from(list(WEIGHTINGS))
label_free_weightings = st.sampled_from(["tfidf", "tf"])
similarities = st.sampled_from(["cosine", "euclidean"])
tfs = st.sampled_from(["log", "count"])
norms = st.sampled_from(["l2", "none"])
rules = st.sampled_from(list(RULES))


def settings(
    weighting: st.SearchStrategy[str] = weightings,
) -> st.SearchStrategy[dict[str, str]]:
    """Draw settings that any rule takes."""
    return st.fixed_dictionaries(
        {"weighting": weighting, "similarity": similarities, "tf": tfs, "norm": norms}
    )


def label_free_settings() -> st.SearchStrategy[dict[str, str]]:
    """Draw the same, with weightings that use no labels."""
    return settings(label_free_weightings)


def deep_settings() -> st.SearchStrategy[dict[str, Any]]:
    """Draw sketches of several rows, for weightings with an IDF."""
    return st.fixed_dictionaries(
        {
            "weighting": st.sampled_from(WITH_IDF),
            "depth": st.sampled_from([2, 3, 16]),
            "conservative": st.booleans(),
        }
    )


@st.composite
def cuts(draw: st.DrawFn, length: int) -> list[slice]:
    """Draw a way to cut a stream of ``length`` documents into batches."""
    places = sorted(draw(st.sets(st.integers(1, max(1, length - 1)))))
    bounds = [0, *(place for place in places if place < length), length]
    return [slice(a, b) for a, b in pairwise(bounds)]
