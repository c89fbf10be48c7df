"""The compiled loops: arrays in, arrays out, no Python object inside.

Every kernel is a plain function over arrays: it never raises, allocates nothing per document and
releases the GIL. ``NUMBA_DISABLE_JIT=1`` runs the same code interpreted.
"""

from functools import partial

from numba import njit

kernel = partial(njit, cache=True, nogil=True, error_model="numpy")
"""The decorator of every kernel."""

