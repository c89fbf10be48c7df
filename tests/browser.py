"""A real browser for tests: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def missing(what: str) -> None:
    """Skip where there is no browser; where every change is checked, there must be one."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing: nothing was looked at in a browser")
    pytest.skip(f"{what} is missing")


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium, closed at the end.

    While it is open nothing else in this thread may run an event loop: open it for a module, or for
    a package that is about nothing else.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        missing("chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()
