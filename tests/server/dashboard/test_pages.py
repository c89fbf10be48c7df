"""All pages: readable, usable by keyboard and on phones, and texts never become markup."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.evaluations import HOSTILE
from tests.server.dashboard.servers import Server

pytestmark = pytest.mark.compiled

PAGES = {
    "now": ".figure", "labels": "tbody a", "labels/1": ".documents li", "try": "textarea",
    "teach": ".answers li", "drift": ".alarms > *", "memory": "[role=meter]",
}  # fmt: skip

SCRIPTS = Path(__file__).parent
FAINT = (SCRIPTS / "faint.js").read_text()
NAMELESS = (SCRIPTS / "nameless.js").read_text()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_readable_named_and_fits_a_phone(visit: Any, page: str) -> None:
    seen = visit(page, has_touch=True)
    seen.page.wait_for_selector(PAGES[page])
    assert seen.page.locator("h1").count() == 1
    assert seen.page.evaluate(NAMELESS) == []
    for scheme in ("light", "dark"):
        seen.page.emulate_media(color_scheme=scheme)
        assert seen.page.evaluate(FAINT, 4.5) == []
    assert len(seen.page.evaluate(FAINT, 21.1)) > 5  # it does look at text
    for width in (390, 320):
        seen.page.set_viewport_size({"width": width, "height": 700})
        seen.page.wait_for_function("width => innerWidth === width", arg=width)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_is_dark_and_light_is_light(visit: Any) -> None:
    page = visit("now").page

    def brightness(scheme: str) -> int:
        page.emulate_media(color_scheme=scheme)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")))

    assert brightness("dark") < 150 < 600 < brightness("light")


def test_hostile_labels_and_texts_are_only_text(visit: Any, server: Server) -> None:
    seen = visit("labels")
    names = seen.page.locator("tbody th a")
    seen.page.wait_for_selector(PAGES["labels"])
    assert set(HOSTILE) <= set(names.all_inner_texts())
    numbers = {name: number for number, name, *_ in server.get("v1/names")["names"]}
    for name in HOSTILE:
        seen.page.goto(f"{seen.url}#/labels/{numbers[name]}")
        seen.page.get_by_role("heading", level=1, name=name, exact=True).wait_for()
    seen.go("Try")
    for text in HOSTILE:
        seen.page.get_by_label("Text", exact=True).fill(f"{text} hostile words")
        seen.page.locator(".highlighted", has_text=text).wait_for()
    seen.go("Teach")
    seen.page.wait_for_selector(PAGES["teach"])
    for text in HOSTILE[:3]:
        seen.page.keyboard.type("/")
        seen.page.keyboard.insert_text(text)
        seen.page.get_by_role("option").first.wait_for()
        seen.page.keyboard.press("Enter")
        seen.page.locator(".answers .name").get_by_text(text, exact=True).wait_for()
    assert seen.page.title() == "Teach – clasher"
    assert seen.page.locator("main :is(img, script)").count() == 0


def test_the_skip_link_leads_to_the_content(visit: Any) -> None:
    seen = visit("labels")
    seen.page.wait_for_selector(PAGES["labels"])
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.textContent") == "Skip to content"
    seen.page.keyboard.press("Enter")
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.id") == "search"


def test_an_unknown_label_has_a_page(visit: Any) -> None:
    seen = visit("labels/999999")
    seen.page.get_by_role("heading", level=1, name="No such label").wait_for()
    seen.errors.clear()  # the browser logs the 404
