"""The Labels page, the page of a label, and the Try page."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.dashboard.servers import SUBJECTS, Server

pytestmark = pytest.mark.compiled


def column(page: Any, number: int) -> list[str]:
    found: list[str] = page.locator(f"tbody tr :nth-child({number}):is(th, td)").all_inner_texts()
    return [text.strip() for text in found]


def test_search_and_sort(visit: Any) -> None:
    page = visit("labels").page
    page.wait_for_selector("tbody a")
    support = [int(text.replace(",", "")) for text in column(page, 6)]
    assert support == sorted(support, reverse=True)
    page.get_by_role("button", name="Support").click()
    page.wait_for_selector("th[aria-sort=ascending]")
    assert [int(text.replace(",", "")) for text in column(page, 6)] == support[::-1]
    page.get_by_role("button", name="Label").click()
    page.wait_for_selector("th.text[aria-sort=ascending]")
    assert column(page, 1) == sorted(column(page, 1))
    page.get_by_label("Find a label").fill("GRA")
    page.get_by_role("status").get_by_text("1–1 of 1 label").wait_for()
    assert column(page, 1) == ["grain"]
    assert page.locator(".spark").count() == 1
    assert "wheat" in column(page, 7)[0]


def test_a_labels_page(visit: Any) -> None:
    page = visit("labels").page
    page.get_by_role("link", name="oil").click()
    page.get_by_role("heading", level=1, name="oil").wait_for()
    words = page.locator(".bars").first.inner_text()
    assert "crude" in words
    assert page.locator(".documents li").count() > 3
    page.get_by_role("link", name="All labels").click()
    page.get_by_role("heading", level=1, name="Labels").wait_for()


def test_rename_merge_pin_and_retire(visit: Any, own: Server) -> None:
    page = visit("labels", url=own.url).page
    page.get_by_role("link", name="ships").click()
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("<b>vessels</b>")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="<b>vessels</b>").wait_for()
    page.get_by_role("button", name="Pin", exact=True).click()
    page.get_by_role("button", name="Unpin").wait_for()
    page.goto(f"{own.url}#/memory")
    page.get_by_role("button", name="Unpin <b>vessels</b>").click()
    page.locator(".pins", has_text="None.").wait_for()
    page.get_by_role("combobox", name="Pin a label").fill("gol")
    page.get_by_role("option", name="gold").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Unpin gold").wait_for()
    page.locator(".pins").get_by_role("link", name="gold").click()
    page.get_by_role("button", name="Merge").click()
    page.get_by_label("Name of the other label").fill("oil")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Labels").wait_for()
    page.get_by_role("link", name="grain").click()
    page.get_by_role("button", name="Retire").click()
    page.get_by_role("button", name="Retire label").click()
    page.get_by_role("heading", level=1, name="Labels").wait_for()
    names = {name for _, name, *_ in own.get("v1/names")["names"]}
    assert names & {*SUBJECTS, "<b>vessels</b>"} == {"oil", "<b>vessels</b>"}


def test_thousands_of_labels(visit: Any, many: Server) -> None:
    page = visit("labels", url=many.url).page
    page.get_by_role("status").get_by_text("1–50 of 5,000 labels").wait_for()
    page.get_by_role("button", name="Next").click()
    page.get_by_role("status").get_by_text("51–100 of 5,000 labels").wait_for()
    assert page.locator("tbody tr").count() == 50
    page.get_by_label("Find a label").fill("number 4999")
    page.get_by_role("status").get_by_text("1–1 of 1 label").wait_for()
    page.goto(f"{many.url}#/teach")
    page.wait_for_selector(".answers li")
    page.keyboard.type("number")
    page.get_by_role("option").first.wait_for()
    for _ in range(2):
        page.keyboard.press("ArrowUp")  # wraps around: the new label, then the last one
    assert page.get_by_role("option").count() == 5001
    page.keyboard.press("Enter")
    assert page.locator(".answers [data-state=yes]").count() == 2


def test_labels_appear_while_typing(visit: Any) -> None:
    page = visit("try").page
    page.get_by_label("Text", exact=True).press_sequentially(
        "crude barrel and a wheat harvest 😀 opec"
    )
    page.locator(".choice.predicted").first.wait_for()
    page.locator(".highlighted", has_text="opec").wait_for()
    page.get_by_role("radio", name="oil").check()
    page.get_by_role("heading", name="oil").wait_for()
    marked = page.locator(".highlighted mark.for").all_inner_texts()
    assert {"crude", "barrel", "opec"} <= set(marked)
    assert page.locator(".highlighted").inner_text() == "crude barrel and a wheat harvest 😀 opec"
    assert "crude" in page.locator(".sides > div").first.inner_text()


def test_tried_texts_are_not_kept(visit: Any, own: Server) -> None:
    before = own.get("v1/metrics")
    page = visit("try", url=own.url).page
    page.get_by_label("Text", exact=True).fill("crude barrel")
    page.locator(".choice").first.wait_for()
    after = own.get("v1/metrics")
    assert (after["awaiting"], after["version"]) == (before["awaiting"], before["version"])
