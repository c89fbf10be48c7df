"""The connection: shared by tabs, broken, below another path, with a token."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.servers import Server, teach_subjects

pytestmark = pytest.mark.compiled

LIVE = "#connection[data-status=live]"


def wait_for_watchers(server: Server, page: Any, wanted: int) -> None:
    """Wait until the service has this many connections."""
    for _ in range(100):
        if (found := server.get("v1/metrics")["subscribers"]) == wanted:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{found} connections")


def test_one_connection_for_all_tabs(visit: Any, server: Server) -> None:
    seen = visit("now")
    wait_for_watchers(server, seen.page, 1)
    tabs = [seen.open(page) for page in ("now", "labels", "memory")]
    wait_for_watchers(server, seen.page, 1)
    version = "document.querySelector('.facts div:last-child')?.textContent"
    tabs[0].wait_for_function(f"() => {version}")
    seen.page.close()  # the first tab closes first
    told = tabs[0].evaluate(version)
    server.post("v1/learn", {"documents": [{"text": "crude barrel", "labels": ["oil"]}]})
    tabs[0].wait_for_function(f"before => {version} !== before", arg=told)


def test_the_connection_ends_with_the_last_tab(visit: Any, server: Server) -> None:
    seen = visit("now")
    wait_for_watchers(server, seen.page, 1)
    seen.page.goto("about:blank")
    wait_for_watchers(server, seen.page, 0)


def test_without_shared_workers(browser: Any, server: Server) -> None:
    context = browser.new_context()
    context.add_init_script("delete window.SharedWorker")
    page = context.new_page()
    page.goto(server.url)
    page.wait_for_selector(LIVE)
    page.locator(".facts dd").first.wait_for()
    context.close()


def test_the_page_reconnects_after_a_restart(visit: Any, tmp_path: Path) -> None:
    first = Server(tmp_path / "service")
    try:
        teach_subjects(first)
        seen = visit("now", url=first.url)
        port = int(first.url.rstrip("/").rpartition(":")[2])
    finally:
        first.stop()
    seen.page.wait_for_selector("#connection[data-status=connecting]")
    second = Server(tmp_path / "service", port=port)
    try:
        seen.page.wait_for_selector(LIVE, timeout=40_000)
        seen.page.locator(".facts", has_text="647 documents in total").wait_for()
    finally:
        second.stop()
    seen.errors.clear()  # the browser logs failed requests


def test_below_another_path(visit: Any, tmp_path: Path) -> None:
    server = Server(tmp_path / "service", "--root-path", "/some/where")
    try:
        assert server.url.endswith("/some/where/")
        teach_subjects(server)
        seen = visit("labels", url=server.url)
        seen.page.get_by_role("link", name="oil").click()
        seen.page.get_by_role("heading", level=1, name="oil").wait_for()
    finally:
        server.stop()


def test_the_page_asks_for_a_token(browser: Any, tmp_path: Path) -> None:
    tokens = str(tmp_path / "tokens")
    command = [sys.executable, "-m", "clasher", "token", "ann", "--token-file", tokens]
    command += ["--scope", "admin"]  # the log is read, too
    made = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    token = made.stdout.split()[-1]
    server = Server(tmp_path / "service", "--token-file", tokens, token=token)
    try:
        teach_subjects(server)
        page = browser.new_page()
        page.goto(f"{server.url}#/teach")
        page.get_by_role("textbox", name="Token").fill(token)
        page.keyboard.press("Enter")
        page.wait_for_selector(LIVE)
        page.locator(".title", has_text="as ann").wait_for()
        page.get_by_role("button", name="Accept").click()
        page.locator(".receipt.taught").wait_for()
        assert server.lessons()[-1]["who"] == "ann"
        page.close()
    finally:
        server.stop()
