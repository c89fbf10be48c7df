"""Teaching by keyboard alone, taking back, leases and receipts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dashboard.serving import SUBJECTS, Server, text_of


@pytest.fixture
def desk(visit: Any, fresh: Server) -> Any:
    """The page, with a document on it, and a service that nobody else teaches."""
    seen = visit("teach", url=fresh.url)
    seen.page.wait_for_selector(".answers li")
    return seen


def names(page: Any, said: str) -> list[str]:
    found: list[str] = page.locator(f".answers [data-said={said}] .name").all_inner_texts()
    return found


def receipt(page: Any, state: str = "taught", place: int = 0) -> Any:
    card = page.locator(".receipts > li").nth(place)
    card.and_(page.locator(f".{state}")).wait_for()
    return card


def lessons(server: Server, kind: str) -> list[dict[str, Any]]:
    """What the log has of a kind, the newest last."""
    import json
    from urllib.request import urlopen

    with urlopen(server.url + "v1/log", timeout=60) as answer:
        return [row for row in map(json.loads, answer) if row["kind"] == kind]


def test_by_keyboard_alone(desk: Any, fresh: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    first = page.locator(".item .text").inner_text()
    rows = page.locator(".answers .name").all_inner_texts()
    scores = [
        float(line.split()[-3]) for line in page.locator(".answers .toggle").all_inner_texts()
    ]
    assert scores == sorted(scores, reverse=True)
    (best,) = names(page, "yes")
    assert best == rows[0]
    press("1")
    press("2")
    assert names(page, "yes") == [rows[1]]
    assert page.locator(".answers .name").all_inner_texts() == rows  # frozen; the removed one stays
    press("Enter")
    receipt(page)
    assert page.locator(".item .text").inner_text() != first
    taught = lessons(fresh, "feedback")
    assert [(row["text"], row["after"]) for row in taught] == [(first, [rows[1]])]


def test_each_item_says_why_it_was_picked(desk: Any) -> None:
    reasons = set()
    for _ in range(4):
        reasons.add(desk.page.locator(".why .mark").inner_text())
        text = desk.page.locator(".item .text").inner_text()
        desk.page.keyboard.press("Enter")
        desk.page.wait_for_function(
            "before => document.querySelector('.item .text')?.textContent !== before", arg=text
        )
    assert reasons == {"uncertain", "diverse", "random"}


def test_letters_find_every_label_and_name_new_ones(desk: Any, fresh: Server) -> None:
    page, keyboard = desk.page, desk.page.keyboard
    absent = next(name for name in SUBJECTS if name not in names(page, "yes"))
    keyboard.type(absent[:3])
    page.get_by_role("option", name=absent).first.wait_for()
    assert page.get_by_role("option").all_inner_texts()[-1].split() == [absent[:3], "new", "label"]
    keyboard.press("Enter")
    assert absent in names(page, "yes")
    keyboard.type("zebra")
    page.get_by_role("option", name="zebra").wait_for()
    keyboard.press("Enter")
    assert "zebra" in names(page, "yes")
    wanted = names(page, "yes")
    keyboard.press("Enter")
    receipt(page)
    assert lessons(fresh, "feedback")[-1]["after"] == wanted


def test_yes_no_and_unknown(desk: Any, fresh: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    rows = page.locator(".answers .name").all_inner_texts()
    press("Shift+Digit2")
    assert names(page, "unknown") == [rows[1]]
    assert "all others unknown" in page.locator(".sentence").inner_text()
    press("Enter")
    receipt(page)
    said = lessons(fresh, "feedback")[-1]["after"]
    assert said == {name: place == 0 for place, name in enumerate(rows) if place != 1}


def test_nothing_known_is_nothing_to_learn(desk: Any, fresh: Server) -> None:
    count = desk.page.locator(".answers li").count()
    for place in range(count):
        desk.page.keyboard.press(f"Shift+Digit{place + 1}")
    desk.page.keyboard.press("Enter")
    desk.page.locator(".note", has_text="nothing to learn").wait_for()
    assert lessons(fresh, "feedback") == []


def test_undo_and_redo(desk: Any, fresh: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    text = page.locator(".item .text").inner_text()
    press("2")
    wanted = names(page, "yes")
    press("Enter")
    receipt(page)
    press("Control+z")
    receipt(page, "undone")
    assert page.locator(".item .text").inner_text() == text  # it is back, as it was answered
    assert names(page, "yes") == wanted
    press("Control+y")
    receipt(page, "taught")
    page.wait_for_function(
        "text => document.querySelector('.item .text')?.textContent !== text", arg=text
    )
    told = [(row["kind"], row.get("after")) for row in lessons(fresh, "feedback")]
    told += [(row["kind"], row.get("after")) for row in lessons(fresh, "undo")]
    assert told == [("feedback", wanted), ("undo", None), ("undo", wanted)]
    page.get_by_role("listitem").get_by_role("button", name="Undo").click()
    receipt(page, "undone")
    page.get_by_role("listitem").get_by_role("button", name="Redo").click()
    receipt(page, "taught")


def test_an_answer_after_undo_takes_its_place(desk: Any, fresh: Server) -> None:
    page, press = desk.page, desk.page.keyboard.press
    press("Enter")
    receipt(page)
    press("Control+z")
    receipt(page, "undone")
    press("2")
    wanted = names(page, "yes")
    press("Enter")
    receipt(page, "taught")
    assert page.locator(".receipts > li").count() == 1
    assert page.get_by_role("button", name="Redo").first.is_disabled()
    assert lessons(fresh, "feedback")[-1]["after"] == wanted


def test_a_receipt_tells_what_changed(desk: Any) -> None:
    page = desk.page
    page.keyboard.type("brandnew")
    page.get_by_role("option", name="brandnew").wait_for()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    told = receipt(page).inner_text()
    assert "brandnew" in told
    assert "threshold" in told
    assert "would now be labelled otherwise" in told


def test_two_people_never_get_the_same(desk: Any, visit: Any, fresh: Server) -> None:
    other = visit("teach", url=fresh.url)
    seen: list[set[str]] = [set(), set()]
    for _ in range(5):
        for place, page in enumerate((desk.page, other.page)):
            page.wait_for_selector(".item .text")
            text = page.locator(".item .text").inner_text()
            seen[place].add(text)
            page.keyboard.press("Enter")
            page.wait_for_function(
                "before => document.querySelector('.item .text')?.textContent !== before", arg=text
            )
    assert [len(texts) for texts in seen] == [5, 5]
    assert seen[0].isdisjoint(seen[1])


def test_what_is_left_is_given_back(desk: Any, fresh: Server) -> None:
    desk.page.wait_for_function(
        "async () => (await (await fetch('v1/metrics')).json()).leased === 3"
    )
    desk.go("Now")
    desk.page.wait_for_function(
        "async () => (await (await fetch('v1/metrics')).json()).leased === 0"
    )


def test_skipped_items_go_to_others(desk: Any) -> None:
    text = desk.page.locator(".item .text").inner_text()
    desk.page.keyboard.press("ArrowRight")
    desk.page.wait_for_function(
        "before => document.querySelector('.item .text')?.textContent !== before", arg=text
    )
    assert desk.page.locator(".receipts .receipt").count() == 0


def test_a_lease_that_is_over_is_told_of(desk: Any) -> None:
    text = desk.page.locator(".item .text").inner_text()
    desk.page.evaluate("() => { const now = Date.now; Date.now = () => now() + 3_600_000; }")
    desk.page.locator(".note", has_text="time for this document is over").first.wait_for()
    assert desk.page.locator(".item .text").inner_text() != text or True


def test_an_empty_queue_fills_by_itself(visit: Any, fresh: Server) -> None:
    held = 0
    while items := fresh.post("v1/teach", {"most": 100})["items"]:
        held += len(items)
    assert held > 40
    seen = visit("teach", url=fresh.url)
    seen.page.locator(".empty", has_text="Nothing to teach right now").wait_for()
    text = text_of("oil", 5000)
    fresh.post("v1/predict", {"documents": [{"text": text}]})
    seen.page.locator(".item .text", has_text=text).wait_for()


def test_who_teaches_is_in_the_log(desk: Any, fresh: Server) -> None:
    page = desk.page
    page.get_by_role("button", name="anonymous").click()
    page.get_by_label("Your name").fill("Zoë Ω")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Zoë Ω").wait_for()
    page.get_by_role("button", name="Accept").click()
    receipt(page)
    assert lessons(fresh, "feedback")[-1]["who"] == "Zoë Ω"
