"""The Teach page loses nothing: held keys, stopped services, expired leases, reloads."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.dashboard.conftest import served
from tests.server.dashboard.servers import Server, teach_subjects
from tests.server.dashboard.test_teach import OTHER, SHOWN, names, receipt, text

pytestmark = pytest.mark.compiled

LEFT = ".why .left"
RELEASE = """ids => fetch("v1/teach/release", {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ids }),
})"""


@pytest.fixture
def desk(visit: Any, own: Server) -> Any:
    """Open the Teach page with a document."""
    return opened(visit("teach", url=own.url))


def opened(seen: Any) -> Any:
    seen.page.wait_for_selector(".answers li")
    return seen


def shorten(page: Any, seconds: float) -> None:
    """Shorten the leases that the page gets."""

    def answer(route: Any) -> None:
        real = route.fetch()
        told = real.json()
        for item in told["items"]:
            item["leased_until"] = time.time() + seconds
        route.fulfill(response=real, body=json.dumps(told))

    page.route("**/v1/teach", answer)


def edited(page: Any) -> list[str]:
    """Change the answer and return its labels."""
    page.keyboard.press("2")
    page.keyboard.type("zebra")
    page.get_by_role("option", name="zebra").wait_for()
    page.keyboard.press("Enter")
    return names(page, "yes")


def id_of(server: Server, wanted: str) -> str:
    documents = server.get("v1/recent?most=1000")["documents"]
    return next(one["id"] for one in documents if one["text"] == wanted)


def test_a_held_enter_key_teaches_one_document(desk: Any, own: Server) -> None:
    page, before, first = desk.page, len(own.lessons()), text(desk.page)
    for _ in range(12):
        page.keyboard.down("Enter")
    receipt(page)
    page.wait_for_function(OTHER, arg=first)
    for _ in range(12):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    assert page.locator(".receipts > li").count() == 1
    assert len(own.lessons()) == before + 1
    page.keyboard.press("Enter")  # a new press counts
    page.locator(".receipts > li").nth(1).wait_for()


def test_a_held_key_neither_skips_nor_presses_buttons(desk: Any, own: Server) -> None:
    page, before, first = desk.page, len(own.lessons()), text(desk.page)
    page.get_by_role("button", name="Accept").focus()
    for _ in range(6):
        page.keyboard.down("Enter")
    receipt(page)
    page.wait_for_function(OTHER, arg=first)
    page.keyboard.up("Enter")
    second = text(page)
    for _ in range(6):
        page.keyboard.down("ArrowRight")
    page.wait_for_function(OTHER, arg=second)
    third = text(page)
    for _ in range(6):
        page.keyboard.down("ArrowRight")
    page.keyboard.up("ArrowRight")
    assert text(page) == third
    assert len(own.lessons()) == before + 1


@pytest.fixture
def fragile(tmp_path: Path, browser: Any) -> Iterator[list[Server]]:
    """Run a service that tests may stop and restart; the last one of the list runs."""
    servers = [Server(tmp_path)]
    teach_subjects(servers[0])
    yield servers
    servers[-1].stop()


def test_an_unsent_answer_is_kept(visit: Any, fragile: list[Server], tmp_path: Path) -> None:
    seen = opened(visit("teach", url=fragile[0].url))
    page, first = seen.page, text(seen.page)
    wanted = edited(page)
    fragile[0].stop()
    for _ in range(2):
        page.keyboard.press("Enter")
        page.locator(".note", has_text="Cannot reach the service").last.wait_for()
        page.locator(".receipts > li.failed").wait_for()
        assert text(page) == first
        assert names(page, "yes") == wanted
    port = int(fragile[0].url.rsplit(":", 1)[1].strip("/"))
    fragile.append(Server(tmp_path, port=port))
    page.keyboard.press("Enter")
    receipt(page)
    page.wait_for_function(OTHER, arg=first)
    (lesson,) = fragile[-1].lessons()
    assert (lesson["text"], lesson["after"]) == (first, wanted)
    seen.errors.clear()  # the browser logs every failed request


def test_a_lease_is_renewed_while_the_user_works(visit: Any, own: Server) -> None:
    seen = visit("now", url=own.url)
    shorten(seen.page, 20)
    seen.go("Teach")
    opened(seen)
    before = text(seen.page)
    assert "Yours for 0:" in seen.page.locator(LEFT).inner_text()
    seen.page.keyboard.press("2")
    seen.page.locator(LEFT, has_text="Yours for 9:").wait_for()
    assert text(seen.page) == before


def test_leases_move_to_a_new_name(visit: Any, own: Server) -> None:
    seen = visit("now", url=own.url)
    seen.go("Teach")
    opened(seen)
    seen.page.get_by_role("button", name="anonymous").click()
    seen.page.get_by_label("Your name").fill("Zoë")
    seen.page.keyboard.press("Enter")
    seen.page.get_by_role("button", name="Zoë").wait_for()
    name = id_of(own, text(seen.page))
    renewed = seen.module("api.js", "({ post }, ids) => post('teach/renew', { ids })", [name])
    assert renewed["lost"] == []


def test_an_answer_survives_its_lease(visit: Any, own: Server) -> None:
    seen = visit("now", url=own.url)
    page = seen.page
    page.route("**/v1/teach/renew", lambda route: route.abort())  # no renewals
    shorten(page, 8)
    seen.go("Teach")
    opened(seen)
    first, wanted, lessons = text(page), edited(page), len(own.lessons())
    page.locator(LEFT, has_text="Your time is up").wait_for()
    page.unroute("**/v1/teach")
    name = id_of(own, first)
    page.evaluate(RELEASE, [name])
    assert own.post("v1/teach", {"ids": [name]})["items"]  # somebody else has it now
    page.unroute("**/v1/teach/renew")
    page.keyboard.press("ArrowDown")  # the user is active again
    page.locator(LEFT, has_text="Somebody else has this document").wait_for()
    page.keyboard.press("Escape")
    page.locator(SHOWN).click()
    page.keyboard.press("Enter")
    page.locator(".note.error", has_text="was not sent").wait_for()
    assert (text(page), names(page, "yes")) == (first, wanted)
    assert len(own.lessons()) == lessons
    own.post("v1/teach/release", {"ids": [name]})
    page.keyboard.press("Enter")
    receipt(page)
    assert own.lessons()[-1]["after"] == wanted
    seen.errors.clear()  # the browser logs every failed request


def test_an_answer_survives_a_reload(desk: Any, own: Server) -> None:
    page, first = desk.page, text(desk.page)
    page.keyboard.press("Shift+Digit3")
    wanted = edited(page)
    unknown = names(page, "unknown")
    page.reload()
    page.locator(SHOWN, has_text=first).wait_for()
    assert (names(page, "yes"), names(page, "unknown")) == (wanted, unknown)
    page.keyboard.press("Enter")
    receipt(page)
    page.reload()  # a sent answer is no draft
    page.wait_for_selector(SHOWN)
    assert text(page) != first
    assert own.lessons()[-1]["text"] == first


def test_an_answer_is_learnt_on_the_text_that_was_shown(desk: Any, own: Server) -> None:
    page, first = desk.page, text(desk.page)
    name = id_of(own, first)
    own.post("v1/predict", {"documents": [{"id": name, "text": "quite another text"}]})
    page.keyboard.press("Enter")
    receipt(page)
    assert own.lessons()[-1]["text"] == first


NUMBERS = ["2024", "7", "310", "42"]


def teach_numbers(server: Server) -> None:
    """Teach labels that look like numbers, the most frequent first."""
    for place, name in enumerate(NUMBERS):
        documents = [{"text": f"topic{name} word", "labels": [name]}] * (40 - 9 * place)
        server.post("v1/learn", {"documents": documents})
    server.post("v1/predict", {"documents": [{"id": "a", "text": "topic310 word topic2024"}]})


@pytest.fixture
def numbered(tmp_path: Path, browser: Any) -> Iterator[Server]:
    yield from served(tmp_path, teach_numbers)


def test_labels_that_look_like_numbers_keep_their_order(visit: Any, numbered: Server) -> None:
    scores = numbered.get("v1/documents/a")["probabilities"]
    best = [name for name, _ in scores]
    assert best != sorted(best, key=int)
    page = opened(visit("teach", url=numbered.url)).page
    assert names(page) == best
    said = set(names(page, "yes"))
    for digit in ("1", "3"):
        page.keyboard.press(digit)
    assert set(names(page, "yes")) == said ^ {best[0], best[2]}
    shown = visit("try", url=numbered.url).page
    shown.get_by_label("Text", exact=True).fill("topic310 word topic2024")
    shown.locator(".choice").nth(3).wait_for()
    tried = shown.locator(".choice .name bdi").all_inner_texts()
    assert tried == best
