"""Compare inner products of documents before and after hashing (section 6.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.terms import Terms
from benchmarks.tables import distinct, markdown, power_of_two
from clasher import Analyzer
from clasher.kernels import kernel
from clasher.text.hashing import Hasher
from experiments import plots
from experiments.claims import NO, UNKNOWN, YES
from support.corpora import SEED, Corpus

PAIRS = 2_000_000
POWERS = range(4, 19)
ANALYZER = Analyzer(stop_words="english", stemmer="english")
CURVES = {
    "tf": ("TF and hashed TF", "#d62728"),
    "mixed": ("TF-IDF and hashed TF", "#2ca02c"),
    "tfidf": ("TF-IDF and hashed TF-IDF", "#ff7f0e"),
}

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def correlations(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Compute Pearson's ρ between exact and hashed inner products of random pairs, for each m."""
    drawn = min(PAIRS, len(stream) ** 2)
    pairs = np.random.default_rng(SEED).integers(0, len(stream), (drawn, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    exact = [products(*rows, pairs) for rows in weigh(*Terms(ANALYZER).count(stream.texts))]
    for power in POWERS:
        hashed = Hasher(2**power, analyzer=ANALYZER).hash_many(stream.texts)
        found = weigh(hashed.indptr, hashed.buckets, hashed.counts)
        tf, tfidf = (products(*rows, pairs) for rows in found)
        yield {
            "corpus": stream.name,
            "documents": len(stream),
            "pairs": len(pairs),
            "dimensions": 2**power,
            "tf": correlation(exact[0], tf),
            "mixed": correlation(exact[1], tf),
            "tfidf": correlation(exact[1], tfidf),
        }


def weigh(indptr: Integers, columns: Any, counts: Any) -> list[tuple[Integers, Integers, Floats]]:
    """Return rows of counts, and of counts times log(n / n_k), with ascending columns."""
    documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((columns, documents))
    columns, tf = columns[order].astype(np.int64), counts[order].astype(np.float64)
    idf = np.log((len(indptr) - 1) / np.maximum(np.bincount(columns), 1))
    return [(indptr, columns, tf), (indptr, columns, tf * idf[columns])]


@kernel
def fill_products(indptr, columns, values, pairs, out):
    """Compute ⟨x, y⟩ of pairs of rows whose columns ascend."""
    for at in range(pairs.shape[0]):
        i, stop_i = indptr[pairs[at, 0]], indptr[pairs[at, 0] + 1]
        j, stop_j = indptr[pairs[at, 1]], indptr[pairs[at, 1] + 1]
        total = 0.0
        while i < stop_i and j < stop_j:
            if columns[i] == columns[j]:
                total += values[i] * values[j]
                i += 1
                j += 1
            elif columns[i] < columns[j]:
                i += 1
            else:
                j += 1
        out[at] = total


def products(indptr: Integers, columns: Integers, values: Floats, pairs: Integers) -> Floats:
    """Compute ⟨x, y⟩ of pairs of rows.

    >>> rows = np.array([0, 2, 3]), np.array([0, 4, 4]), np.array([1.0, 2.0, 3.0])
    >>> products(*rows, np.array([[0, 1], [0, 0]])).tolist()
    [6.0, 5.0]
    """
    found = np.empty(len(pairs))
    fill_products(indptr, columns, values, pairs, found)
    return found


def correlation(one: Floats, other: Floats) -> float:
    return round(float(np.corrcoef(one, other)[0, 1]), 4)


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def blocks(found: dict[str, Any]) -> dict[str, str]:
    """Make a row per size, three columns per stream."""
    rows = found["correlations"]
    corpora = distinct(row["corpus"] for row in rows)
    at = {(row["corpus"], row["dimensions"]): row for row in rows}
    heads = ["m", *(f"{corpus}: {title}" for corpus in corpora for title, _ in CURVES.values())]
    lines = [
        [
            power_of_two(m),
            *(f"{at[c, m][curve]:.3f}" for c in corpora for curve in CURVES),
        ]
        for m in distinct(row["dimensions"] for row in rows)
    ]
    return {"correlations": markdown(heads, lines)}


def pictures(found: dict[str, Any]) -> dict[str, Any]:
    """Draw Figure 1, a panel per stream."""
    rows = found["correlations"]
    corpora = distinct(row["corpus"] for row in rows)
    picture, grid = plots.canvas(1, len(corpora), width=4.6, height=3.4)
    for corpus, axes in zip(corpora, grid[0], strict=True):
        mine = [row for row in rows if row["corpus"] == corpus]
        for curve, (title, colour) in CURVES.items():
            x = [row["dimensions"] for row in mine]
            y = [row[curve] for row in mine]
            axes.plot(x, y, marker="o", markersize=3, color=colour, label=title)
        plots.label_axes(axes, "dimensions", "correlation")
        axes.set_title(corpus, loc="left")
    return {"figure-1": plots.add_legend(picture, grid)}


def verdicts(found: dict[str, Any]) -> list[list[str]]:
    """Test the values that the paper names."""
    rows = found["correlations"]
    at = {(row["corpus"], row["dimensions"]): row for row in rows}
    largest = rows[-1]["dimensions"]
    lines = []
    for corpus in distinct(row["corpus"] for row in rows):
        end = at[corpus, largest]
        for says, value, holds in (
            ("TF: ρ is about 0.924 at m = 2^12", at[corpus, 2**12]["tf"], lambda v: v > 0.9),
            ("TF: ρ is practically 1 above m = 2^14", at[corpus, 2**15]["tf"], lambda v: v > 0.985),
            ("hashed TF against TF-IDF: ρ nears 0.95", end["mixed"], lambda v: 0.9 <= v <= 0.98),
        ):
            lines.append([says, corpus, f"ρ = {value:.3f}", YES if holds(value) else NO])
        measured = f"ρ = {end['tfidf']:.3f}, but with the final IDF of the stream, not online"
        lines.append(["online IDF brings ρ back to 1", corpus, measured, UNKNOWN])
    return lines
