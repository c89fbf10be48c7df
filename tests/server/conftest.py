"""Servers that tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.environment import optional

for library in ("apsw", "starlette", "uvicorn", "prometheus_client", "httpx"):
    optional(library, "test")

from tests.server.servers import Served, serve, short_limits  # noqa: E402


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has learnt a little; its limits are the usual ones."""
    with serve(tmp_path_factory.mktemp("data")) as running:
        running.teach()
        yield running


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with little patience."""
    with serve(tmp_path_factory.mktemp("strict"), limits=short_limits()) as running:
        running.teach()
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a server of one test keeps its data."""
    return tmp_path / "data"
