"""What tests share with the examples of docstrings and pages."""

from collections.abc import Generator

import pytest

from clasher.errors import MissingExtraError
from tests.conftest import missing


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test, or an example, that ends for want of an extra is one that misses something."""
    try:
        yield
    except Exception as error:
        for one in getattr(error, "failures", [error]):  # those of an example in a docstring
            raised = getattr(one, "exc_info", (None, one))[1]
            if isinstance(raised, MissingExtraError):
                missing(str(raised))
        raise
