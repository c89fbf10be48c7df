"""What all tests share."""

import numba
import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("clasher", deadline=None, print_blob=True)
settings.load_profile("clasher")

INTERPRETED = bool(numba.config.DISABLE_JIT)

if INTERPRETED:
    np.seterr(over="ignore")  # hashes wrap around, which interpreted NumPy scalars warn about


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests that need the compiler out of an interpreted run."""
    if INTERPRETED:
        for item in items:
            if item.get_closest_marker("compiled"):
                item.add_marker(pytest.mark.skip(reason="needs the compiled kernels"))
