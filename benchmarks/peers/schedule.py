"""When to retrain a model that cannot learn online."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, count


def trainings(
    first: int = 4_000, every: int = 2_000, until: int = 20_000, then: int = 20_000
) -> Iterator[int]:
    """Yield the numbers of documents after which to train; the defaults are section 6.5's.

    >>> from itertools import islice
    >>> list(islice(trainings(), 11))
    [4000, 6000, 8000, 10000, 12000, 14000, 16000, 18000, 20000, 40000, 60000]
    """
    return chain(range(first, until, every), count(max(first, until), then))
