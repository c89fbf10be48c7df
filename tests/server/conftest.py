"""Servers shared by tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.environment import optional

for library in ("apsw", "starlette", "uvicorn", "prometheus_client", "httpx"):
    optional(library, "test")

from tests.server.servers import Served, serve, short_limits  # noqa: E402


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a server with a small model and the default limits."""
    with serve(tmp_path_factory.mktemp("data")) as running:
        running.teach()
        yield running


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run a server with short time limits."""
    with serve(tmp_path_factory.mktemp("strict"), limits=short_limits()) as running:
        running.teach()
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the data folder of a test's own server."""
    return tmp_path / "data"
