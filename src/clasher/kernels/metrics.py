"""Counting hits and errors of predicted label sets."""

from clasher.kernels import kernel

UNLABELLED, COMPLETE = 0, 1  # the codes of clasher.labels, which stands above the kernels

TP, FP, FN, STATED = 0, 1, 2, 3
"""Rows of ``counts``: the last counts the partial documents that state a label, as yes or no."""

JUDGED, WHOLE, EXACT = 0, 1, 2
"""Places in ``totals``: documents judged, those with complete labels, those without an error."""

_NOTHING, _YES, _NO, _DONE = 0, 1, 2, 3


@kernel
def count(
    truth_ids,  # int64[entries]
    truth_indptr,  # int64[documents + 1]
    truth_yes,  # bool[entries]
    known,  # uint8[documents]
    predicted_ids,  # int64[entries]
    predicted_indptr,  # int64[documents + 1]
    predicted_yes,  # bool[entries]
    mark,  # uint8[labels], zeros: scratch
    first,  # int64[labels], -1: becomes the first document that judges the label
    counts,  # int64[4, labels]
    totals,  # int64[3]
):
    """Add the hits and errors of every labelled document to ``counts`` and ``totals``.

    Labels named twice in a document count once. A label that a partial document does not state is
    not judged there.
    """
    for d in range(len(known)):
        if known[d] == UNLABELLED:
            continue
        whole = known[d] == COMPLETE
        errors = 0
        for k in range(truth_indptr[d], truth_indptr[d + 1]):
            label = truth_ids[k]
            if mark[label] != _NOTHING:
                continue
            mark[label] = _YES if truth_yes[k] else _NO
            first[label] = d if first[label] < 0 else first[label]
            counts[STATED, label] += not whole
            if truth_yes[k]:
                counts[FN, label] += 1  # until a prediction redeems it
                errors += 1
        for k in range(predicted_indptr[d], predicted_indptr[d + 1]):
            label = predicted_ids[k]
            if not predicted_yes[k] or mark[label] == _DONE:
                continue
            if mark[label] == _YES:
                counts[FN, label] -= 1
                counts[TP, label] += 1
                errors -= 1
            elif whole or mark[label] == _NO:
                first[label] = d if first[label] < 0 else first[label]
                counts[FP, label] += 1
                errors += 1
            mark[label] = _DONE
        for k in range(truth_indptr[d], truth_indptr[d + 1]):
            mark[truth_ids[k]] = _NOTHING
        for k in range(predicted_indptr[d], predicted_indptr[d + 1]):
            mark[predicted_ids[k]] = _NOTHING
        totals[JUDGED] += 1
        totals[WHOLE] += whole
        totals[EXACT] += whole and errors == 0
