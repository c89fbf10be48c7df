"""A real browser for tests: Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.environment import missing

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium, closed at the end.

    While it is open nothing else in this thread may run an event loop: open it for a module that is
    about nothing else.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is missing: nothing was looked at in a browser")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        missing("chromium is missing: nothing was looked at in a browser")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()
