"""Screenshots for ``docs/``: ``python -m tests.server.dashboard.screenshots``."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clasher.cli.demo_corpus import collect
from tests.browser import chromium
from tests.server.dashboard.servers import Server
from tests.server.dashboard.visits import Visit

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
WATCHED = 240  # seconds of a stream before a screenshot
SIZE = {"width": 1200, "height": 1060}
TEXT = """Compute the singular value decomposition of a matrix, and return the singular values in
descending order. Raises LinAlgError if the computation does not converge."""
Scene = Callable[[Any], None]


def now(page: Any) -> None:
    """Point at a chart."""
    page.locator("svg").first.hover()


def labels(page: Any) -> None:
    """Wait for the table."""
    page.locator("tbody tr").nth(5).wait_for()


def try_(page: Any) -> None:
    """Enter a text and wait for its words."""
    page.locator("textarea").fill(TEXT)
    page.locator(".highlighted mark").first.wait_for()


def teach(page: Any) -> None:
    """Give two answers and wait for the third document."""
    for answers in (1, 2):
        page.locator(".answers li").first.wait_for()
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        page.locator(".receipt.taught").nth(answers - 1).wait_for()
    page.locator(".answers li").first.wait_for()


def drift(page: Any) -> None:
    """Wait for alarms."""
    page.locator(".alarm .next li").first.wait_for()


def memory(page: Any) -> None:
    """Wait for the labels unseen for longest."""
    page.locator(".fades li").first.wait_for()


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """Run a service in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder, "data"), *options)
        try:
            yield server
        finally:
            server.stop()


def teach_packages(server: Server) -> None:
    """Teach the docstrings of this Python by package, so that labels drift."""
    found = sorted(collect(8000).documents, key=lambda document: document.name)
    for start in range(0, len(found), 100):
        some = [{"text": one.text, "labels": one.labels} for one in found[start : start + 100]]
        server.post("v1/learn", {"documents": some})
    server.post("v1/predict", {"documents": [{"text": one.text} for one in found[-200:]]})


def take(browser: Any, server: Server, scenes: list[Scene]) -> None:
    """Take a screenshot of each scene."""
    for scene in scenes:
        name = scene.__name__.strip("_")
        visit = Visit(browser, server.url, name, viewport=SIZE)
        scene(visit.page)
        time.sleep(1.0)  # until animations end
        visit.page.screenshot(path=PICTURES / f"dashboard-{name}.png")
        visit.context.close()
        print(f"wrote docs/pictures/dashboard-{name}.png")


def main(wanted: list[str]) -> int:
    """Take all screenshots, or the named ones."""

    def scenes(*all_of_them: Scene) -> list[Scene]:
        return [scene for scene in all_of_them if not wanted or scene.__name__ in wanted]

    with chromium() as browser:
        if live := scenes(now, labels, try_, teach):
            with serving("--demo") as server:
                time.sleep(WATCHED)
                take(browser, server, live)
        if changed := scenes(drift, memory):
            with serving("--half-life", "2000", "--on-full", "evict") as server:
                teach_packages(server)
                take(browser, server, changed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
