"""What tests need to know of the machine: compiler, optional libraries, superuser rights."""

import contextlib
import importlib
import os
from collections.abc import Iterator
from types import ModuleType
from typing import NoReturn

import numba
import pytest

INTERPRETED = bool(numba.config.DISABLE_JIT)


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Run as an ordinary user: the superuser may read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def missing(what: str) -> NoReturn:
    """Skip a test that needs something missing; fail in CI, which has everything."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what, allow_module_level=True)


def optional(library: str, extra: str) -> ModuleType:
    """Import an optional library; see ``missing``."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        if (error.name or "").startswith("clasher"):
            raise  # a module of ours is no optional library
        missing(f"{library} is missing: pip install 'clasher[{extra}]'")
