"""Measure how often hashing keeps the nearest prototype of a document (section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, diags_array

from benchmarks.peers.terms import Terms
from benchmarks.tables import NONE, distinct, markdown, power_of_two
from clasher import Analyzer
from clasher.text.hashing import Hasher
from clasher.theory import Decision
from experiments import plots
from experiments.claims import NO, UNKNOWN, YES
from support.corpora import Corpus

DOCUMENTS = 4_000  # half make the prototypes, half are decided on
POWERS = range(6, 21)
SEEDS = 3
CONFIDENCE = 0.95

Floats = npt.NDArray[np.float64]


def decisions(stream: Corpus) -> Iterator[dict[str, Any]]:
    """Compare the nearest label means before and after hashing (unit length, TF, Euclidean)."""
    stream = stream.head(DOCUMENTS)
    half = len(stream) // 2
    members = memberships(stream.labels[:half].to_pylist())
    terms = Terms(Analyzer())
    counted = terms.count(stream.texts)
    exact = distances(counted.to_sparse(len(terms)), members, half)
    margins = relative_margins(exact)
    for power in POWERS:
        bound = Decision(2**power, labels=members.shape[0], confidence=CONFIDENCE)
        same = np.empty((SEEDS, len(exact)), bool)
        for seed in range(SEEDS):
            hashed = Hasher(2**power, seed).hash_many(stream.texts)
            rows = csr_array(
                (hashed.counts, hashed.buckets, hashed.indptr), shape=(len(stream), 2**power)
            )
            found = distances(rows, members, half)
            same[seed] = found.argmin(axis=1) == exact.argmin(axis=1)
        yield {
            "corpus": stream.name,
            "labels": members.shape[0],
            "documents": len(exact),
            "dimensions": 2**power,
            "agreement": round(float(same.mean()), 4),
            "lemma_2": safe(same, margins, bound.margin),
            "second_moments": safe(same, margins, bound.by_second_moments),
        }


def memberships(sets: list[list[str]]) -> Any:
    """Return a matrix that turns documents into the mean of each label."""
    names = sorted({label for labels in sets for label in labels})
    numbers = {name: number for number, name in enumerate(names)}
    rows = [numbers[label] for labels in sets for label in labels]
    columns = [document for document, labels in enumerate(sets) for _ in labels]
    weights = 1.0 / np.bincount(rows)[rows]
    return csr_array((weights, (rows, columns)), shape=(len(names), len(sets)))


def distances(counts: Any, members: Any, half: int) -> Floats:
    """Return ‖x − p‖² of each document of the second half and each prototype of the first."""
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    x = (diags_array(1.0 / np.maximum(lengths, 1e-12)) @ counts).tocsr()
    prototypes = members @ x[:half]
    own = np.asarray(x[half:].multiply(x[half:]).sum(axis=1)).ravel()
    theirs = np.asarray(prototypes.multiply(prototypes).sum(axis=1)).ravel()
    products = (x[half:] @ prototypes.T).toarray()
    found: Floats = own[:, None] - 2.0 * products + theirs
    return found


def relative_margins(found: Floats) -> Floats:
    """Return η̄: how much farther the second prototype is, as a share of the farthest."""
    nearest = np.partition(found, 1, axis=1)
    margins: Floats = (nearest[:, 1] - nearest[:, 0]) / found.max(axis=1)
    return margins


def safe(same: npt.NDArray[np.bool_], margins: Floats, margin: float | None) -> dict[str, Any]:
    """Return the share of documents with a safe margin, and the share of those that stayed."""
    chosen = margins >= (np.inf if margin is None else margin)
    kept = round(float(same[:, chosen].mean()), 4) if chosen.any() else None
    return {"margin": margin, "documents": round(float(chosen.mean()), 4), "agreement": kept}


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def table(rows: list[dict[str, Any]]) -> str:
    """Show the agreement of all documents, and of those that second moments call safe."""
    corpora = distinct(row["corpus"] for row in rows)
    at = {(row["corpus"], row["dimensions"]): row for row in rows}
    lines = []
    for m in distinct(row["dimensions"] for row in rows):
        cells = [_cell(at[corpus, m]) for corpus in corpora]
        lines.append([power_of_two(m), *cells])
    return markdown(["m", *corpora], lines)


def _cell(row: dict[str, Any]) -> str:
    bound = row["second_moments"]
    if bound["agreement"] is None:
        return f"{row['agreement']:.1%} ({NONE})"
    return f"{row['agreement']:.1%} ({bound['agreement']:.1%} of {bound['documents']:.1%})"


def picture(rows: list[dict[str, Any]]) -> Any:
    """Draw agreement against dimensions."""
    drawn, grid = plots.canvas(1, 1, width=5.2, height=3.2)
    for corpus in distinct(row["corpus"] for row in rows):
        mine = [row for row in rows if row["corpus"] == corpus]
        x, y = [row["dimensions"] for row in mine], [row["agreement"] for row in mine]
        grid[0, 0].plot(x, y, marker="o", markersize=3, label=corpus)
    plots.label_axes(grid[0, 0], "dimensions", "agreement")
    return plots.add_legend(drawn, grid)


def verdicts(rows: list[dict[str, Any]]) -> list[list[str]]:
    """Test whether safe decisions stay as often as Lemma 2 and second moments promise."""
    lines = []
    for corpus in distinct(row["corpus"] for row in rows):
        for bound, title in (
            ("lemma_2", "Lemma 2 (ignoring Eq. 6)"),
            ("second_moments", "second moments"),
        ):
            kept = [
                row[bound]["agreement"]
                for row in rows
                if row["corpus"] == corpus and row[bound]["agreement"] is not None
            ]
            says = f"Decisions with a safe margin by {title} stay with probability 0.95"
            found = f"at least {min(kept):.1%} stayed" if kept else "no margin is large enough"
            holds = UNKNOWN if not kept else YES if min(kept) >= CONFIDENCE else NO
            lines.append([says, corpus, found, holds])
    return lines
