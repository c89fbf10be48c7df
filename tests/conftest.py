"""What all tests share."""

import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import numba
import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("clasher", deadline=None, print_blob=True)
settings.load_profile("clasher")

# Sessions of Spark, in tests and in doctests, live for seconds: the quick compiler is enough.
os.environ.setdefault(
    "PYSPARK_SUBMIT_ARGS",
    "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' --driver-memory 1g "
    "--conf spark.sql.shuffle.partitions=2 pyspark-shell",
)

INTERPRETED = bool(numba.config.DISABLE_JIT)

if INTERPRETED:
    np.seterr(over="ignore")  # hashes wrap around, which interpreted NumPy scalars warn about


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Give up the rights of the superuser, who may read and write everything, for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder that everyone may read and, but for the superuser, nobody may write to."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # which everyone may enter
        folder = Path(name)
        (folder / "file").write_text("kept")
        (folder / "file").chmod(0)
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o700)


def missing(what: str) -> NoReturn:
    """Skip for want of something, but fail where every change is checked: it has everything."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what, allow_module_level=True)


def optional(library: str, extra: str) -> ModuleType:
    """An optional library; see ``missing``."""
    try:
        return importlib.import_module(library)
    except ImportError:
        missing(f"{library} is missing: pip install 'clasher[{extra}]'")


@pytest.fixture(scope="session")
def stemmers() -> ModuleType:
    """The library of stemmers."""
    return optional("Stemmer", "text")


@pytest.fixture(scope="session")
def stop_lists() -> ModuleType:
    """The library of stop words."""
    return optional("stop_words", "text")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests that need the compiler out of an interpreted run."""
    if INTERPRETED:
        for item in items:
            if item.get_closest_marker("compiled"):
                item.add_marker(pytest.mark.skip(reason="needs the compiled kernels"))
