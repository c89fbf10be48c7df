"""The margin rule with switches for its parts.

It supports only complete labels, cosines and TF-IDF. ``Rule()`` is the rule of ``Clasher()``,
``BEFORE`` that of its first version. A test compares ``Rule()`` with the product.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clasher.kernels import kernel
from clasher.kernels.margin import (
    BIAS_FLOOR,
    BIAS_START,
    BIAS_STEP,
    BIN,
    EARLY,
    EVERY,
    FADE,
    FLOOR,
    LOWEST,
    LOWEST_FLOOR,
    ODDS_START,
    RARE,
    SHARED_FLOOR,
    SHARED_START,
    SHARED_STEP,
    SLACK,
    STEP,
    TINY,
    association,
    best_cut,
    best_floor,
    bin_of,
    calibrate,
    sigmoid,
    worth,
)
from clasher.kernels.regions import ratio
from clasher.kernels.sketch import LEAD
from clasher.kernels.state import BINS
from clasher.text.hashing import Hashed

ALWAYS, NEVER, LEARNT, BY_F1, BY_EMPTY_F1 = 0, 1, 2, 3, 4  # when to predict the best label
VECTOR = 16
SHADES = 20  # bins of probabilities


class Rule(NamedTuple):
    """The switches of the rule."""

    step: float = float(STEP)
    slack: float = SLACK
    rare: float = RARE
    growing: bool = True  # larger weights take larger steps
    by_weight: bool = False  # one AdaGrad sum per weight
    regions: bool = True  # label fractions of three regions instead of one
    look: bool = True  # the second look
    lead: bool = True  # first words weigh more
    early: bool = True  # choose the first threshold after 100 documents
    telling: bool = False  # words of few labels weigh more
    own_cuts: bool = False  # one threshold per label
    replay: bool = False  # learn an earlier document again with each one
    root: bool = False  # keep prototype sums as signed square roots
    guess: int = LEARNT  # when to predict the best label below the threshold


BEFORE = Rule(
    step=0.9, rare=0.0, growing=False, by_weight=True, regions=False, look=False, lead=False,
    early=False, guess=ALWAYS,
)  # fmt: skip


class Arrays(NamedTuple):
    """Learnt arrays and scratch space."""

    frequencies: Any  # float64[m]
    rows: Any  # float32[m, 2, L]
    squares: Any  # float32[m]
    matrix: Any  # float32[m, L], or no rows
    telling: Any  # float64[m, 2]
    counts: Any  # float64[L]
    norms: Any  # float64[L]
    scales: Any  # float64[L]
    together: Any  # float32[L, L]
    bias: Any  # float64[2, L]
    shared: Any  # float64[2, 4]
    margins: Any  # float64[2, BINS]
    bests: Any  # float64[3, BINS]: best z of empty documents, of hits, of other misses
    floor: Any  # float64[1]
    odds: Any  # float64[2]
    offsets: Any  # float64[L]: of the thresholds of labels
    x: Any  # float32[m]
    products: Any  # float32[L]
    linear: Any  # float32[L]
    cosines: Any  # float64[L]
    fractions: Any  # float64[L]
    looks: Any  # float64[L]
    scores: Any  # float64[L]
    truth: Any  # int8[L]
    chosen: Any  # int32[L]
    hits: Any  # int64[points, 3, L]: hits, false alarms, true labels
    shades: Any  # float64[2, 3, SHADES]: before and after calibration: Σp, true labels, labels


def walk(
    hashed: Hashed,
    truth: npt.NDArray[np.int64],
    indptr: npt.NDArray[np.int64],
    labels: int,
    dimensions: int,
    rule: Rule,
    points: tuple[int, ...] = (),
) -> Arrays:
    """Test, then train; ``hits`` has a row per point and one for the end."""
    width = -(-labels // VECTOR) * VECTOR
    matrix = dimensions if rule.by_weight else 0
    arrays = Arrays(
        frequencies=np.zeros(dimensions),
        rows=np.zeros((dimensions, 2, width), np.float32),
        squares=np.zeros(dimensions, np.float32),
        matrix=np.zeros((matrix, width), np.float32),
        telling=np.zeros((dimensions, 2)),
        counts=np.zeros(width),
        norms=np.zeros(width),
        scales=np.zeros(width),
        together=np.zeros((width, width), np.float32),
        bias=np.array([[BIAS_START] * width, [0.0] * width]),
        shared=np.array([SHARED_START, np.zeros(4)]),
        margins=np.zeros((2, BINS)),
        bests=np.zeros((3, BINS)),
        floor=np.array([math.inf if rule.guess == NEVER else -math.inf]),
        odds=np.array(ODDS_START),
        offsets=np.zeros(width),
        x=np.empty(dimensions, np.float32),
        products=np.empty(width, np.float32),
        linear=np.empty(width, np.float32),
        cosines=np.zeros(width),
        fractions=np.zeros(width),
        looks=np.zeros(width),
        scores=np.zeros(width),
        truth=np.zeros(width, np.int8),
        chosen=np.empty(width, np.int32),
        hits=np.zeros((len(points) + 1, 3, width), np.int64),
        shades=np.zeros((2, 3, SHADES)),
    )
    ends = np.array([*points, hashed.documents], np.int64)
    draws = np.random.default_rng(0).random(hashed.documents)
    stream(hashed.indptr, hashed.buckets, hashed.counts, indptr, truth, rule, arrays, ends, draws)
    return arrays


@kernel
def stream(indptr, buckets, counts, label_indptr, ids, rule, a, ends, draws):
    """Predict and learn one document after the other."""
    labels, cut, point = 0, 0.0, 0
    for d in range(indptr.shape[0] - 1):
        own = buckets[indptr[d] : indptr[d + 1]]
        mine = ids[label_indptr[d] : label_indptr[d + 1]]
        if mine.shape[0] > 0:
            labels = max(labels, mine[-1] + 1)
        length = weigh(own, counts[indptr[d] : indptr[d + 1]], d, rule, a)
        region = clash(own, length, d, labels, rule, a)
        for j in range(labels):
            a.truth[j] = 0
        for j in mine:
            a.truth[j] = 1
        judge(length, labels, cut, rule, a, a.hits[point])
        for bucket in own:
            a.frequencies[bucket] += 1.0
        cut = choose(length, labels, d + 1, cut, rule, a)
        learn(own, region, labels, rule, a)
        feed(own, mine, rule, a)
        if rule.replay and d > 0:
            earlier = int(draws[d] * d)
            again = buckets[indptr[earlier] : indptr[earlier + 1]]
            inside = slice(indptr[earlier], indptr[earlier + 1])
            length = weigh(again, counts[inside], d, rule, a)
            region = clash(again, length, d, labels, rule, a)
            for j in range(labels):
                a.truth[j] = 0
            for j in ids[label_indptr[earlier] : label_indptr[earlier + 1]]:
                a.truth[j] = 1
            learn(again, region, labels, rule, a)
        if d + 1 == ends[point] and point + 1 < ends.shape[0]:
            point += 1
            for kind in range(3):
                for j in range(labels):
                    a.hits[point, kind, j] = a.hits[point - 1, kind, j]


@kernel
def weigh(buckets, counts, documents, rule, a):
    """Compute unit TF-IDF weights with the extras of the rule; return the length, 0 or 1."""
    total, squared = math.log(documents + 1.0), 0.0
    for at in range(buckets.shape[0]):
        weight = np.float64(counts[at])
        if abs(weight) > 1.0:
            weight = math.copysign(1.0 + math.log(abs(weight)), weight)
        weight *= total - math.log(a.frequencies[buckets[at]] + 1.0)
        if rule.telling:
            fed, sums = a.telling[buckets[at], 0], max(a.telling[buckets[at], 1], 0.0)
            weight *= ((sums + 0.01) / (fed * fed + 0.01)) ** 0.125
        if rule.lead and at < LEAD.shape[0]:
            weight *= LEAD[at]
        a.x[at] = weight
        squared += weight * weight
    if squared == 0.0:
        return 0.0
    scale = 1.0 / math.sqrt(squared)
    for at in range(buckets.shape[0]):
        a.x[at] *= scale
    return 1.0


@kernel(fastmath={"contract"})
def add_rows(rows, layer, width, buckets, x, out):
    """``out[j] = Σ_k x_k · rows[k, layer, j]`` for ``width`` labels."""
    out[:width] = np.float32(0.0)
    for at in range(buckets.shape[0]):
        row = rows[buckets[at], layer]
        for j in range(width):
            out[j] += x[at] * row[j]


@kernel
def nearest_three(cosines, counts, region, labels):
    """Find the regions with the highest cosines, and what each of their documents counts."""
    i0, i1, i2 = region, region, region
    c0, c1, c2 = 0.0, 0.0, 0.0
    for i in range(labels):
        c = cosines[i]
        if c > c2:
            if c > c0:
                i0, i1, i2, c0, c1, c2 = i, i0, i1, c, c0, c1
            elif c > c1:
                i1, i2, c1, c2 = i, i1, c, c1
            else:
                i2, c2 = i, c
    return (i0, i1, i2), worth((c0, c1, c2), counts[i0], counts[i1], counts[i2])


@kernel
def above(scores, labels, counts, threshold, floor, out):
    """Write the labels above the threshold, or the best above the floor; return how many."""
    found, best = 0, -1
    for j in range(labels):
        if counts[j] > 0.0:
            if scores[j] > threshold:
                out[found] = j
                found += 1
            if best < 0 or scores[j] > scores[best]:
                best = j
    if found == 0 and best >= 0 and scores[best] > floor:
        out[0] = best
        found = 1
    return found


@kernel
def clash(buckets, length, documents, labels, rule, a):
    """Score every label; return the nearest region."""
    width = (labels + VECTOR - 1) // VECTOR * VECTOR
    add_rows(a.rows, 0, width, buckets, a.x, a.products)
    add_rows(a.rows, 1, width, buckets, a.x, a.linear)
    region = -1
    for j in range(labels):
        a.cosines[j] = a.products[j] * a.scales[j]
        if length > 0.0 and a.counts[j] > 0.0 and (region < 0 or a.cosines[j] > a.cosines[region]):
            region = j
    for j in range(labels):
        a.scores[j] = a.bias[0, j] + a.linear[j]
        a.looks[j] = 0.0
    if region < 0:
        return region
    near, weights = (region, region, region), (1.0 / a.counts[region], 0.0, 0.0)
    if rule.regions:
        near, weights = nearest_three(a.cosines, a.counts, region, labels)
    for j in range(labels):
        a.fractions[j] = (
            weights[0] * a.together[near[0], j]
            + weights[1] * a.together[near[1], j]
            + weights[2] * a.together[near[2], j]
        )
        a.scores[j] += (
            a.shared[0, 0] * a.cosines[j]
            + a.shared[0, 1] * ratio(a.cosines[j], a.cosines[region])
            + a.shared[0, 2] * a.fractions[j]
        )
    if rule.look:
        look_twice(documents + 1.0, labels, a)
    return region


@kernel
def look_twice(documents, labels, a):
    """Adjust each score by how often the label occurs with the best of the others."""
    best, second = -1, -1
    for j in range(labels):
        if a.counts[j] > 0.0:
            if best < 0 or a.scores[j] > a.scores[best]:
                best, second = j, best
            elif second < 0 or a.scores[j] > a.scores[second]:
                second = j
    if second < 0:
        return
    for j in range(labels):
        if a.scores[j] > LOWEST and a.counts[j] > 0.0:
            other = second if j == best else best
            share = a.counts[other] / documents
            link = association(a.together[other, j], share, a.counts[j], 1.0, 1.0)
            a.looks[j] = sigmoid(a.scores[other]) * link
    for j in range(labels):
        a.scores[j] += a.shared[0, 3] * a.looks[j]


@kernel
def judge(length, labels, cut, rule, a, hits):
    """Count hits and errors of the prediction, and bin the probabilities."""
    for j in range(labels):
        hits[2, j] += a.truth[j]
        if rule.own_cuts:
            a.scores[j] -= a.offsets[j]
    chosen = 0
    if length > 0.0:
        chosen = above(a.scores, labels, a.counts, cut, a.floor[0], a.chosen)
    for at in range(chosen):
        hits[0 if a.truth[a.chosen[at]] else 1, a.chosen[at]] += 1
    for j in range(labels):
        if rule.own_cuts:
            a.scores[j] += a.offsets[j]
        if length > 0.0 and a.counts[j] > 0.0:
            for calibrated in range(2):
                z = a.odds[0] + a.odds[1] * a.scores[j] if calibrated else a.scores[j]
                p = sigmoid(z)
                shade = min(int(p * SHADES), SHADES - 1)
                a.shades[calibrated, 0, shade] += p
                a.shades[calibrated, 1, shade] += a.truth[j]
                a.shades[calibrated, 2, shade] += 1.0


@kernel
def choose(length, labels, documents, cut, rule, a):
    """Record the scores; return the threshold, chosen periodically."""
    for j in range(labels):
        z = a.scores[j]
        if length > 0.0 and a.counts[j] > 0.0 and (z > LOWEST or a.truth[j]):
            a.margins[a.truth[j], bin_of(z, LOWEST)] += 1.0
            if rule.own_cuts:  # up after a false alarm, down after a miss
                predicted = z - a.offsets[j] > cut
                if predicted and not a.truth[j]:
                    a.offsets[j] += 0.01
                elif a.truth[j] and not predicted:
                    a.offsets[j] -= 0.01
    if documents % EVERY == 0 or (rule.early and documents < EVERY and documents % EARLY == 0):
        cut = best_cut(a.margins, cut)
        calibrate(a.margins, a.odds)
    if rule.guess >= LEARNT:
        choose_floor(length, labels, documents, cut, rule, a)
    if documents % EVERY == 0:
        for place in range(BINS):
            for side in range(2):
                a.margins[side, place] *= FADE
            for side in range(3):
                a.bests[side, place] *= FADE
    return cut


@kernel
def choose_floor(length, labels, documents, cut, rule, a):
    """Record the best score; choose the floor periodically."""
    best, empty = -1, True
    for j in range(labels):
        empty &= not a.truth[j]
        if a.counts[j] > 0.0 and (best < 0 or a.scores[j] > a.scores[best]):
            best = j
    if length > 0.0 and best >= 0:
        side = 0 if empty else 1 if a.truth[best] else 2
        a.bests[side, bin_of(a.scores[best], LOWEST_FLOOR)] += 1.0
    if documents < EARLY or documents % EARLY == 0:
        if rule.guess == LEARNT:
            a.floor[0] = best_floor(a.bests)
        else:
            a.floor[0] = micro_floor(a.margins, a.bests, cut, rule.guess == BY_F1)


@kernel
def micro_floor(margins, bests, cut, strict):
    """Return the edge below ``cut`` with the best micro F1 of all labels, the lowest on ties.

    Unless ``strict``, a wrong best label counts only if the document has no label.
    """
    positives, hits, alarms = 0.0, 0.0, 0.0
    for place in range(BINS):
        positives += margins[1, place]
        if place > 0 and LOWEST + BIN * (place - 0.5) > cut:
            hits, alarms = hits + margins[1, place], alarms + margins[0, place]
    best, floor, wrong = 2.0 * hits / max(positives + hits + alarms, 1.0), cut, 0.0
    for place in range(BINS - 1, -1, -1):
        edge = LOWEST_FLOOR + BIN * (place - 1) if place > 0 else -math.inf
        if edge < cut:
            missed = bests[0, place] + (bests[2, place] if strict else 0.0)
            hits, alarms, wrong = hits + bests[1, place], alarms + missed, wrong + missed
            value = 2.0 * hits / max(positives + hits + alarms, 1.0)
            if value >= best and (hits > 0.0 or wrong == 0.0):
                best, floor = value, edge
    return floor


@kernel
def learn(buckets, region, labels, rule, a):
    """Take a gradient step for every label whose score is not clear enough."""
    quiet = math.log(rule.slack / (1.0 - rule.slack))
    total, moved = TINY, 0.0
    for j in range(labels):
        total += a.bias[1, j]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(labels):
        z, true = a.scores[j], a.truth[j] == 1
        if (not true and z <= quiet) or (true and z >= -quiet):
            continue
        slope = sigmoid(z)
        if true:
            slope = (slope - 1.0) * (1.0 + rule.rare / math.sqrt(1.0 + a.counts[j]))
        follow(j, buckets, np.float32(slope), np.float32(a.bias[1, j] / total), rule, a)
        moved += slope * slope
        a.bias[1, j] += slope * slope
        a.bias[0, j] -= BIAS_STEP * slope / math.sqrt(BIAS_FLOOR + a.bias[1, j])
        if region >= 0:
            s0 += slope * a.cosines[j]
            s1 += slope * ratio(a.cosines[j], a.cosines[region])
            s2 += slope * a.fractions[j]
            s3 += slope * a.looks[j]
    for at in range(buckets.shape[0]):
        a.squares[buckets[at]] += np.float32(moved) * a.x[at] * a.x[at]
    for which, slope in enumerate((s0, s1, s2, s3)):
        a.shared[1, which] += slope * slope
        a.shared[0, which] -= SHARED_STEP * slope / math.sqrt(SHARED_FLOOR + a.shared[1, which])


@kernel
def follow(label, buckets, slope, part, rule, a):
    """Update the weights of one label by AdaGrad."""
    floor = FLOOR / np.float32(max(buckets.shape[0], 1))
    step, one = np.float32(rule.step), np.float32(1.0)
    for at in range(buckets.shape[0]):
        bucket = buckets[at]
        move, weight = slope * a.x[at], a.rows[bucket, 1, label]
        squared = move * move
        if rule.by_weight:
            squared += a.matrix[bucket, label]
            a.matrix[bucket, label] = squared
        else:
            squared += part * a.squares[bucket]
        size = one + weight * weight if rule.growing else one
        a.rows[bucket, 1, label] = weight - step * move * np.sqrt(size / (floor + squared))


@kernel
def feed(buckets, ids, rule, a):
    """Add the document to the prototypes of its labels (Algorithm 5)."""
    for label in ids:
        change = 0.0
        for at in range(buckets.shape[0]):
            bucket = buckets[at]
            before = np.float64(a.rows[bucket, 0, label])
            if rule.root:
                fed = before * abs(before) + a.x[at]
                a.rows[bucket, 0, label] = math.copysign(math.sqrt(abs(fed)), fed)
            else:
                a.rows[bucket, 0, label] += a.x[at]
            after = np.float64(a.rows[bucket, 0, label])
            change += (after - before) * (after + before)
            a.telling[bucket, 0] += abs(a.x[at])
            a.telling[bucket, 1] += (after - before) * (after + before)
        a.counts[label] += 1.0
        a.norms[label] += change
        a.scales[label] = 1.0 / math.sqrt(a.norms[label]) if a.norms[label] > 0.0 else 0.0
        for other in ids:
            a.together[label, other] += np.float32(1.0)
