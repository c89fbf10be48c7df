"""Fixtures and hooks that all tests share, those of docstrings and pages too."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import settings

from clasher.errors import MissingExtraError
from clasher.kernels import compile_notice
from support.environment import INTERPRETED, missing, optional

# Annif is tested in an environment of its own: make test-annif
ANNIF = ["src/clasher/adapters/annif.py", "tests/adapters/test_annif.py"]
collect_ignore = [] if find_spec("annif") else ANNIF

ROOT = Path(__file__).parent

# Tests compare what commands print: the first one must not report that it compiles.
compile_notice.PATIENCE = 3600.0

settings.register_profile("clasher", deadline=None, print_blob=True)
settings.load_profile("clasher")

# Sessions of Spark, in tests and in doctests, live for seconds: the quick compiler is enough.
os.environ.setdefault(
    "PYSPARK_SUBMIT_ARGS",
    "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' --driver-memory 1g "
    "--conf spark.sql.shuffle.partitions=2 pyspark-shell",
)

if INTERPRETED:
    np.seterr(over="ignore")  # hashes wrap around, which interpreted NumPy scalars warn about


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


@pytest.fixture(scope="session")
def stemmers() -> ModuleType:
    """The library of stemmers."""
    return optional("Stemmer", "text")


@pytest.fixture(scope="session")
def stop_lists() -> ModuleType:
    """The library of stop words."""
    return optional("stop_words", "text")


@pytest.fixture(scope="session")
def spark() -> object:
    """A Spark session of two threads; it ends with the process, as those of doctests do."""
    optional("pyspark", "spark")
    if shutil.which("java") is None:
        missing("java is missing: apt-get install openjdk-17-jre-headless")
    from clasher.adapters.spark import session

    return session("local[2]")


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark runs of benchmarks and experiments as trials; skip compiled tests if interpreted."""
    for item in items:
        if item.path.is_relative_to(ROOT / "benchmarks") or item.path.is_relative_to(
            ROOT / "experiments"
        ):
            item.add_marker(pytest.mark.trial)
    if INTERPRETED:
        for item in items:
            if item.get_closest_marker("compiled"):
                item.add_marker(pytest.mark.skip(reason="needs the compiled kernels"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Skip a test or an example that lacks an extra; in CI, fail it."""
    try:
        yield
    except Exception as error:
        for one in getattr(error, "failures", [error]):  # those of an example in a docstring
            raised = getattr(one, "exc_info", (None, one))[1]
            if isinstance(raised, MissingExtraError):
                missing(str(raised))
        raise
