"""Near ties, which single precision may decide either way.

``gap(reference, document)`` is the distance of the closest decision on the document, in predicting
or in learning, from a tie. A tie that is exact in any arithmetic does not count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from support.reference.margin import MarginClasher
from support.reference.paper import (
    Document,
    LinearClasher,
    PaperClasher,
    PerceptronClasher,
    Reference,
    Regions,
    Vector,
    cosine,
    inner,
    is_zero,
    length,
    log_odds,
)


def gap(reference: Reference, document: Document) -> float:
    """Return the distance of the closest decision on ``document`` from a tie."""
    return min(near_ties(reference, reference.doc_hash(document)), default=math.inf)


def near_ties(reference: Reference, x: Vector) -> Iterator[float]:
    if isinstance(reference, PaperClasher | MarginClasher) and not is_zero(x):
        yield from _of_regions(reference.regions, x)
    if isinstance(reference, MarginClasher) and not is_zero(x):
        yield from _of_ratios(reference.regions, x)
        yield from _of_views(reference, x)
    if isinstance(reference, PaperClasher):
        yield from _of_fractions(reference, x)
    if isinstance(reference, LinearClasher):
        yield from _of_log_odds(reference, x)
        yield from _of_the_best(reference, x)


def _of_regions(regions: Regions, x: Vector) -> Iterator[float]:
    """Return how much nearer the winner is than each other region."""
    winner = regions.map(x)
    if winner is None:
        return
    euclidean = regions.similarity == "euclidean"
    scale = max(inner(v, v) for v in [x, *regions.p.values()]) if euclidean else 1.0
    if not euclidean:
        yield from _of_cancelled(regions)
    for i in regions.inhabited:
        if i != winner and not _tie_for_sure(regions, x, winner, i):
            yield (regions.s(x, winner) - regions.s(x, i)) / scale


def _of_cancelled(regions: Regions) -> Iterator[float]:
    """Return 0 for each prototype whose documents cancel: rounding decides its direction."""
    for i in regions.inhabited:
        if length(regions.p[i]) < 1e-2 * max(length(v) for v, _ in regions.history[i]):
            yield 0.0


def _of_ratios(regions: Regions, x: Vector) -> Iterator[float]:
    """Return how far the winner's cosine is from 0, where r_j jumps."""
    yield from _of_cancelled(regions)
    winner = regions.map(x)
    if winner is not None and not _apart(regions, x, winner):
        yield abs(cosine(x, regions.p[winner]))


def _of_views(reference: MarginClasher, x: Vector) -> Iterator[float]:
    """Return the gaps between the nearest regions, and between the best labels, and the others."""
    regions = reference.regions
    c = {i: cosine(x, regions.p[i]) for i in regions.inhabited}
    shown = [abs(c[i]) for i in c if not _apart(regions, x, i)]
    if shown:
        yield max(shown)
    near = reference.near(c)
    if len(near) == reference.tuning.regions:
        yield from (
            c[near[-1]] - c[i] for i in c if i not in near and not _fed_alike(regions, i, near[-1])
        )
    views = {j: view._replace(look=0.0) for j, view in reference.clash(x).items()}
    z = reference.sums(x, views)
    yield from (abs(z[j] - reference.tuning.lowest) for j in regions.inhabited)
    ranked = sorted(regions.inhabited, key=lambda j: -z[j])
    for one, other in pairwise(ranked[:3]):
        if not _alike(reference, one, other):
            yield z[one] - z[other]


def _alike(reference: LinearClasher, i: str, j: str) -> bool:
    """Tell whether two labels have always learnt the same."""
    same = reference.w[i] == reference.w[j] and reference.b[i] == reference.b[j]
    return same and _fed_alike(reference.regions, i, j)


def _tie_for_sure(regions: Regions, x: Vector, i: str, j: str) -> bool:
    """Tell whether two regions had the same documents, or share no bucket with x."""
    if _fed_alike(regions, i, j):
        return True
    return regions.similarity == "cosine" and _apart(regions, x, i) and _apart(regions, x, j)


def _fed_alike(regions: Regions, i: str, j: str) -> bool:
    """Tell whether two regions had the same documents at the same time."""
    same = [v for v, _ in regions.history[i]] == [v for v, _ in regions.history[j]]
    return same and regions.n[i] == regions.n[j]


def _apart(regions: Regions, x: Vector, i: str) -> bool:
    """Tell whether no document of region i shares a bucket with x."""
    return not any(x[k] and v.get(k) for v, _ in regions.history[i] for k in x)


def _of_fractions(reference: PaperClasher, x: Vector) -> Iterator[float]:
    """Return how far F̂ is from θ, unless they are compared exactly."""
    winner = reference.regions.map(x)
    if winner is None:
        return
    history = reference.regions.history[winner]
    for j, F in reference.evidence(x).items():
        whole = all(truth.complete or j in truth.known for _, truth in history)
        if reference.threshold != F or not whole:
            yield abs(float(F) - reference.threshold)


def _of_log_odds(reference: LinearClasher, x: Vector) -> Iterator[float]:
    """Return how far z is from its cuts, relative to the size of its terms."""
    for j, terms in reference.terms(x).items():
        cuts = _learning_cuts(reference, j)
        if reference.documents_of(j) > 0 and not is_zero(x):
            cuts.append(reference.cut)
        size = max(1.0, math.fsum(map(abs, terms)))
        yield from (abs(math.fsum(terms) - cut) / size for cut in cuts)


def _learning_cuts(reference: LinearClasher, label: str) -> list[float]:
    """Return the z at which learning starts or stops."""
    if isinstance(reference, MarginClasher):
        edge = log_odds(1 - reference.tuning.cut)
        return [-edge, edge]
    return [] if _never_moved(reference, label) else [0.0]


def _of_the_best(reference: LinearClasher, x: Vector) -> Iterator[float]:
    """Return how much better the best label is than others, if it matters which one is best.

    It does if no label passes. It also does if the floor is learnt, and then the distance of its z
    from the edges of the histogram matters too.
    """
    z = reference.evidence(x)
    able = [j for j in reference.labels if reference.documents_of(j) > 0]
    learnt_floor = reference.at_least_one is None
    if is_zero(x) or not able or (not learnt_floor and any(z[j] > reference.cut for j in able)):
        return
    best = max(able, key=lambda j: z[j])
    for j in able:
        if j != best and not _alike(reference, j, best):
            yield z[best] - z[j]
    if learnt_floor and not _never_moved(reference, best):
        edges = map(reference.best.edge, range(1, reference.best.bins))
        yield min(abs(z[best] - edge) for edge in edges)


def _never_moved(reference: LinearClasher, label: str) -> bool:
    """Tell whether a label is a perceptron that is still exactly 0."""
    return isinstance(reference, PerceptronClasher) and not reference.mistakes[label]
