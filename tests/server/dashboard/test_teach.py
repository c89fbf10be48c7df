"""The Teach page: keyboard, undo, leases, receipts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.conftest import served
from tests.server.dashboard.servers import SUBJECTS, Server, text_of

pytestmark = pytest.mark.compiled

SHOWN = ".item .text"
OTHER = f"before => ![undefined, before].includes(document.querySelector('{SHOWN}')?.textContent)"
LEASED = "wanted => fetch('v1/metrics').then(a => a.json()).then(m => m.leased === wanted)"


@pytest.fixture
def desk(visit: Any, own: Server) -> Any:
    """Open the Teach page with a document."""
    seen = visit("teach", url=own.url)
    seen.page.wait_for_selector(".answers li")
    return seen


def names(page: Any, said: str = "") -> list[str]:
    """Return the listed labels, or those in a state."""
    which = f"[data-state={said}]" if said else ""
    found: list[str] = page.locator(f".answers {which} .name").all_inner_texts()
    return found


def text(page: Any) -> str:
    shown: str = page.locator(SHOWN).inner_text()
    return shown


def receipt(page: Any, state: str = "taught") -> Any:
    """Wait for the newest receipt to reach a state."""
    page.locator(f".receipts > li:first-child.{state}").wait_for()
    return page.locator(".receipts > li").first


def test_by_keyboard_alone(desk: Any, own: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    first, rows = text(page), names(page)
    bars = page.locator(".answers li")
    scores = bars.evaluate_all(
        "rows => rows.map(row => Number(row.style.getPropertyValue('--share')))"
    )
    assert scores == sorted(scores, reverse=True)
    assert names(page, "yes")[0] == rows[0]
    press("1")
    press("2")
    assert rows[0] in names(page, "no")
    assert rows[1] in names(page, "yes")
    assert names(page) == rows  # rows keep their places, and removed labels stay visible
    wanted = names(page, "yes")
    press("Enter")
    receipt(page)
    page.wait_for_function(OTHER, arg=first)
    (*_, lesson) = own.lessons()
    assert (lesson["text"], lesson["after"]) == (first, wanted)


def test_each_item_shows_its_reason(desk: Any) -> None:
    reasons = set()
    for _ in range(4):
        reasons.add(desk.page.locator(".why .mark").inner_text())
        before = text(desk.page)
        desk.page.keyboard.press("Enter")
        desk.page.wait_for_function(OTHER, arg=before)
    assert reasons == {"uncertain", "diverse", "random"}


def test_typing_finds_labels_and_adds_new_ones(desk: Any, own: Server) -> None:
    page, keyboard = desk.page, desk.page.keyboard
    absent = next(name for name in SUBJECTS if len(name) > 3 and name not in names(page, "yes"))
    keyboard.type(absent[:3])
    page.get_by_role("option", name=f"{absent[:3]} new label").wait_for()
    assert absent in page.get_by_role("option").first.inner_text()
    assert page.get_by_role("option").all_inner_texts()[-1].split() == [absent[:3], "new", "label"]
    keyboard.press("Enter")
    assert absent in names(page, "yes")
    keyboard.type("zebra")
    page.get_by_role("option", name="zebra").wait_for()
    keyboard.press("Enter")
    assert names(page)[-1] == "zebra"
    wanted = names(page, "yes")
    keyboard.press("Enter")
    receipt(page)
    assert own.lessons()[-1]["after"] == wanted


def test_labels_are_found_by_touch(visit: Any, own: Server) -> None:
    seen = visit("teach", url=own.url, has_touch=True, viewport={"width": 390, "height": 700})
    page = seen.page
    page.wait_for_selector(".answers li")
    absent = next(name for name in SUBJECTS if name not in names(page, "yes"))
    page.get_by_role("combobox").fill(absent)
    page.get_by_role("option", name=absent).first.tap()
    page.locator(".answers [data-state=yes]", has_text=absent).wait_for()


def test_yes_no_and_unknown(desk: Any, own: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    press("Shift+Digit2")
    assert names(page, "unknown") == [names(page)[1]]
    assert "all others unknown" in page.locator(".sentence").inner_text()
    wanted = dict.fromkeys(names(page, "yes"), True) | dict.fromkeys(names(page, "no"), False)
    press("Enter")
    receipt(page)
    assert own.lessons()[-1]["after"] == wanted


def test_other_labels_may_be_unknown(desk: Any, own: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    press("0")
    assert "unknown" in page.locator(".others").inner_text()
    press("Enter")
    receipt(page)
    assert isinstance(own.lessons()[-1]["after"], dict)


def test_an_answer_of_unknowns_is_not_sent(desk: Any, own: Server) -> None:
    before = len(own.lessons())
    for place in range(len(names(desk.page))):
        desk.page.keyboard.press(f"Shift+Digit{place + 1}")
    desk.page.keyboard.press("Enter")
    desk.page.locator(".note", has_text="nothing to learn").wait_for()
    assert len(own.lessons()) == before


def test_undo_and_redo(desk: Any, own: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    first = text(page)
    press("2")
    wanted = names(page, "yes")
    press("Enter")
    receipt(page)
    press("Control+z")
    receipt(page, "undone")
    page.locator(SHOWN, has_text=first).wait_for()
    assert names(page, "yes") == wanted  # it is as answered before
    press("Control+y")
    receipt(page)
    page.wait_for_function(OTHER, arg=first)
    told = [(row["kind"], row.get("after")) for row in own.lessons()[-3:]]
    assert told == [("feedback", wanted), ("undo", None), ("undo", wanted)]


def test_one_click_undoes_an_answer(desk: Any, own: Server) -> None:
    page = desk.page
    page.get_by_role("button", name="Accept").click()
    receipt(page).get_by_role("button", name="Undo").click()
    receipt(page, "undone").get_by_role("button", name="Redo").click()
    receipt(page)
    assert [row["kind"] for row in own.lessons()[-3:]] == ["feedback", "undo", "undo"]


def test_an_answer_after_undo_replaces_the_first(desk: Any, own: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    press("Enter")
    receipt(page)
    press("Control+z")
    receipt(page, "undone")
    press("2")
    wanted = names(page, "yes")
    press("Enter")
    receipt(page)
    assert page.locator(".receipts > li").count() == 1
    assert page.locator(".side").get_by_role("button", name="Redo").is_disabled()
    assert own.lessons()[-1]["after"] == wanted


def test_a_receipt_shows_the_changes(desk: Any) -> None:
    page = desk.page
    page.keyboard.type("brandnew")
    page.get_by_role("option", name="brandnew").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    told = receipt(page).inner_text()
    assert "brandnew" in told
    assert "threshold" in told
    assert "would now get other labels" in told


def test_two_people_get_different_documents(desk: Any, visit: Any, own: Server) -> None:
    pages = [desk.page, visit("teach", url=own.url).page]
    given: list[list[str]] = [[], []]
    for _ in range(5):
        for page, texts in zip(pages, given, strict=True):
            page.wait_for_selector(SHOWN)
            texts.append(text(page))
            page.keyboard.press("Enter")
            page.wait_for_function(OTHER, arg=texts[-1])
    assert len({*given[0], *given[1]}) == 10


def test_leases_are_released_on_leaving(desk: Any) -> None:
    desk.page.wait_for_function(LEASED, arg=3)
    desk.go("Now")
    desk.page.wait_for_function(LEASED, arg=0)


def test_skipping_teaches_nothing(desk: Any, own: Server) -> None:
    before, lessons = text(desk.page), len(own.lessons())
    desk.page.keyboard.press("ArrowRight")
    desk.page.wait_for_function(OTHER, arg=before)
    assert len(own.lessons()) == lessons


def test_an_expired_lease_is_reported(visit: Any, own: Server) -> None:
    seen = visit("now", url=own.url)
    asked = []

    def shorten(route: Any) -> None:
        """Let the first lease end soon."""
        answer = route.fetch()
        told = answer.json()
        if not asked:
            for item in told["items"]:
                item["leased_until"] = time.time() + 8
        asked.append(route)
        route.fulfill(response=answer, body=json.dumps(told))

    seen.page.route("**/v1/teach", shorten)
    seen.go("Teach")
    seen.page.wait_for_selector(SHOWN)
    before = text(seen.page)
    seen.page.locator(".note", has_text="time for this document is up").wait_for()
    seen.page.wait_for_function(OTHER, arg=before)


def test_the_log_names_the_teacher(desk: Any, own: Server) -> None:
    page = desk.page
    page.get_by_role("button", name="anonymous").click()
    page.get_by_label("Your name").fill("Zoë Ω")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Zoë Ω").wait_for()
    page.get_by_role("button", name="Accept").click()
    receipt(page)
    assert own.lessons()[-1]["who"] == "Zoë Ω"


@pytest.fixture
def idle(tmp_path: Path, browser: Any) -> Iterator[Server]:
    """Run a service whose documents are all leased or answered."""
    yield from served(tmp_path)


def test_an_empty_queue_fills_automatically(visit: Any, idle: Server) -> None:
    while idle.post("v1/teach", {"most": 100})["items"]:
        pass
    seen = visit("teach", url=idle.url)
    seen.page.locator(".empty", has_text="Nothing to teach right now").wait_for()
    wanted = text_of("oil", 5000)
    idle.post("v1/predict", {"documents": [{"text": wanted}]})
    seen.page.locator(SHOWN, has_text=wanted).wait_for()
