"""The Memory page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.server.dashboard.conftest import served
from tests.server.dashboard.servers import SUBJECTS, Server
from tests.server.dashboard.visits import formatted

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def fading(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Server]:
    """Run a service that forgets, taught one subject after the other."""
    options = ("--dimensions", "1024", "--half-life", "60", "--on-full", "evict")
    yield from served(tmp_path_factory.mktemp("fading"), teach_in_turn, *options)


def teach_in_turn(server: Server) -> None:
    for name, words in SUBJECTS.items():
        server.post("v1/learn", {"documents": [{"text": words, "labels": [name]}] * 40})


def test_labels_unseen_for_longest(visit: Any, fading: Server) -> None:
    page = visit("memory", url=fading.url).page
    rows = page.locator(".fades li")
    rows.first.wait_for()
    told = rows.all_inner_texts()
    assert rows.get_by_role("link").all_inner_texts() == list(SUBJECTS)
    for place, text in enumerate(told):
        assert f"{120 - 40 * place} documents ago" in text
        assert ("replaced next" in text) == (place == 0)
    left = fading.get("v1/labels?sort=unseen&most=1")["labels"][0]["weight"]
    assert f"{formatted(page, 'percent', left)} remembered" in told[0]


def test_a_pinned_label_is_not_replaced(visit: Any, fading: Server) -> None:
    page = visit("memory", url=fading.url).page
    page.get_by_role("combobox", name="Pin a label").fill("grain")
    page.get_by_role("option", name="grain").first.wait_for()
    page.keyboard.press("Enter")
    page.locator(".fades li", has_text="oil").get_by_text("replaced next").wait_for()
    page.locator(".fades li", has_text="grain").get_by_text("pinned").wait_for()
    page.get_by_role("button", name="Unpin grain").click()
    page.locator(".fades li", has_text="grain").get_by_text("replaced next").wait_for()
