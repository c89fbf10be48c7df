from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.environment import optional
from tests.browser import chromium
from tests.server.dashboard.servers import Server, teach_many, teach_subjects
from tests.server.dashboard.visits import Visit


@pytest.fixture(scope="module")  # an open browser holds this thread's event loop
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a service with a few subjects, shared by tests that do not depend on its state."""
    yield from served(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Server]:
    """Run the same for the tests of one module."""
    yield from served(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="package")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a service with 5,000 labels."""
    options = ("--dimensions", "1024", "--max-labels", "6000")
    yield from served(tmp_path_factory.mktemp("many"), teach_many, *options)


def served(
    folder: Path, teach: Callable[[Server], None] = teach_subjects, *options: str
) -> Iterator[Server]:
    optional("starlette", "server")
    server = Server(folder, *options)
    try:
        teach(server)
        yield server
    finally:
        server.stop()


@pytest.fixture
def visit(browser: Any, server: Server) -> Iterator[Any]:
    """Open pages; afterwards check for errors and requests to other hosts."""
    visits: list[Visit] = []

    def open_page(page: str = "now", url: str = server.url, **options: Any) -> Visit:
        visits.append(Visit(browser, url, page, **options))
        return visits[-1]

    yield open_page
    for opened in visits:
        opened.context.close()
        assert opened.errors == []
        assert [url for url in opened.requests if not url.startswith(opened.url)] == []
