"""The paper's theorems as calculators, in both directions.

Each result is a small class: it takes dimensions and returns the guaranteed error; ``for_error``
finds the fewest dimensions for an error. None means "no guarantee at this size".

=====================  =============================  ==========================================
preserved              the paper                      without its conditions
=====================  =============================  ==========================================
lengths                Theorem 1: `Norms`             second moments: `Spread`
inner products         Eq. 8: `Products`              second moments: `Spread`
document frequencies   Theorem 2: `CountMin`
IDF                    Lemma 1: `Idf` (``stated``)    `Idf` (``error``)
TF-IDF geometry        Proposition 1: `TfIdf`         `TfIdfSpread`
the decision           Lemma 2: `Decision`            `Decision` (``by_second_moments``)
the error              Proposition 2: `TestError`
=====================  =============================  ==========================================

All probabilities are over the choice of the hash functions, that is over seeds, for one fixed
document or word. ``dimensions`` are m of the paper, ``depth`` L, ``labels`` n_t, ``frequency`` f
(documents with a word), ``total`` ‖f‖ (the sum of all f), ``confidence`` 1 − δ of the result.
"""

from clasher.theory.bounds import (
    LEAST_CONFIDENCE,
    CountMin,
    Decision,
    Idf,
    Norms,
    Products,
    Spread,
    TestError,
    TfIdf,
    TfIdfSpread,
)

__all__ = [
    "LEAST_CONFIDENCE", "CountMin", "Decision", "Idf", "Norms", "Products", "Spread", "TestError",
    "TfIdf", "TfIdfSpread",
]  # fmt: skip
