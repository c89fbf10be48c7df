from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.environment import missing, optional
from support.servers.redis import RedisServer, needs


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server for all tests."""
    optional("redis", "redis")
    if lacking := needs():
        missing(f"no Redis without {', '.join(lacking)}")
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def server(redis_server: RedisServer) -> RedisServer:
    """The server, empty."""
    redis_server.client.flushall()
    return redis_server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a flow keeps its model."""
    return tmp_path / "model"


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Path]:
    """Where something may be copied to."""
    yield tmp_path / "copy"
    shutil.rmtree(tmp_path / "copy", ignore_errors=True)
