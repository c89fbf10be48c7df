"""One connection for all tabs; what comes through it, and what happens when it breaks."""

from __future__ import annotations

from typing import Any

from tests.dashboard.serving import Server

WATCHERS = "async () => (await (await fetch('v1/metrics')).json()).subscribers"


def test_one_connection_for_all_tabs(visit: Any, fresh: Server) -> None:
    seen = visit("now", url=fresh.url)
    tabs = [seen.open(page) for page in ("labels", "drift", "memory")]
    for tab in (seen.page, *tabs):
        tab.wait_for_selector("#connection[data-status=live]")
    assert sum("v1/events" in url for url in seen.requests) == 1
