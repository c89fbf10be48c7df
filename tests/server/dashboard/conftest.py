from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.environment import optional
from tests.browser import chromium
from tests.server.dashboard.servers import Server, teach_many, teach_subjects
from tests.server.dashboard.visits import Visit


@pytest.fixture(scope="module")  # what comes between two modules may run an event loop
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that knows a few subjects, for all who do not mind what others teach it."""
    yield from served(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Server]:
    """The same for the tests of one module, one after the other."""
    yield from served(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="package")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with five thousand labels."""
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
    """Opens pages; whatever was done there, nothing may have gone wrong or come from elsewhere."""
    visits: list[Visit] = []

    def open_page(page: str = "now", url: str = server.url, **options: Any) -> Visit:
        visits.append(Visit(browser, url, page, **options))
        return visits[-1]

    yield open_page
    for opened in visits:
        opened.context.close()
        assert opened.errors == []
        assert [url for url in opened.requests if not url.startswith(opened.url)] == []
