"""The Now page: numbers and live charts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.dashboard.servers import Server, text_of

pytestmark = pytest.mark.compiled

POINTS = "document.querySelectorAll('.chart .line')[0].getAttribute('d').split(/[ML]/).length - 1"


def chart(page: Any, title: str) -> Any:
    return page.locator("figure.chart", has=page.get_by_role("heading", name=title))


def wait_for_points(page: Any, more_than: int) -> None:
    page.wait_for_function(
        f"least => document.querySelector('.chart .line')?.getAttribute('d') && {POINTS} > least",
        arg=more_than,
    )


def test_quality_with_intervals(visit: Any) -> None:
    page = visit("now").page
    card = page.locator(".card", has=page.get_by_role("heading", name="Micro F1"))
    page.wait_for_function(
        "() => document.querySelector('.card.micro .figure').textContent !== '–'"
    )
    value = float(card.locator(".figure").inner_text())
    low, high = map(float, card.locator("p").nth(1).inner_text().split()[0].split("–"))
    assert low <= value <= high


def test_estimates_need_enough_documents(visit: Any, own: Server) -> None:
    page = visit("labels", url=own.url).page
    own.post("v1/learn", {"documents": [{"text": "one of a kind", "labels": ["rare one"]}]})
    page.get_by_label("Find a label").fill("rare one")
    row = page.get_by_role("row", name="rare one")
    row.wait_for()
    assert row.get_by_text("not enough data yet").count() == 3


def test_charts_update(visit: Any) -> None:
    page = visit("now").page
    wait_for_points(page, 2)
    points = page.evaluate(POINTS)
    wait_for_points(page, points + 1)
    for title in ("F1", "Documents per second", "Prediction time", "Memory"):
        assert chart(page, title).count() == 1


def test_pause_and_resume(visit: Any) -> None:
    seen = visit("now")
    page, path = seen.page, "document.querySelectorAll('.chart .line')[0].getAttribute('d')"
    wait_for_points(page, 2)
    page.get_by_role("button", name="Pause").click()
    before = page.evaluate(path)
    seen.wait_for_figures(2)
    assert page.evaluate(path) == before
    page.get_by_role("button", name="Resume").click()
    page.wait_for_function(f"before => {path} !== before", arg=before)


def test_zoom_and_tooltip_stay_through_updates(visit: Any) -> None:
    seen = visit("now")
    page = seen.page
    wait_for_points(page, 4)
    plot = chart(page, "Memory").locator(".plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.3, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, middle, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Zoom out").wait_for()
    times = "[...document.querySelectorAll('.chart:last-child .x')].map(t => t.textContent).join()"
    zoomed, told = page.evaluate(times), chart(page, "Memory").locator(".tip")
    assert told.is_visible()
    moment = told.locator(".when").inner_text()
    seen.wait_for_figures(3)
    assert page.evaluate(times) == zoomed
    assert told.is_visible()
    assert told.locator(".when").inner_text() == moment
    page.get_by_role("button", name="Zoom out").click()
    page.wait_for_function(f"before => {times} !== before", arg=zoomed)


def test_charts_by_keyboard(visit: Any) -> None:
    page = visit("now").page
    wait_for_points(page, 4)
    plot = chart(page, "Documents per second").locator(".plot")
    plot.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert chart(page, "Documents per second").locator(".tip").is_visible()
    page.keyboard.press("+")
    page.get_by_role("button", name="Zoom out").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Zoom out").wait_for(state="hidden")
    assert "predicted" in plot.get_attribute("aria-label")


def test_buffers_have_a_fixed_size(visit: Any) -> None:
    seen = visit("now")
    fill = """({ History, MOST }) => {
      const past = new History(["a", "b"]);
      let most = 0;
      for (let at = 1; at <= 20 * MOST; at += 1) {
        past.add(at, { a: at, b: null });
        most = Math.max(most, past.at.length, past.columns.a.length, past.columns.b.length);
      }
      past.add(1, { a: 0, b: 0 });  // from before: not taken
      return [most <= MOST, past.at[0], past.columns.a.slice(-3), past.at.at(-1) / MOST];
    }"""
    assert seen.module("history.js", fill) == [True, 1, [23998, 23999, 24000], 20]


@pytest.mark.parametrize("rounds", [2, pytest.param(15, marks=pytest.mark.trial)])
def test_the_heap_stays_flat(visit: Any, own: Server, rounds: int) -> None:
    seen = visit("now", url=own.url)
    page = seen.page
    wait_for_points(page, 2)

    def grown() -> float:
        """Visit all pages and return the megabytes in use."""
        for number in range(rounds):
            text = text_of("oil", number)
            own.post("v1/learn", {"documents": [{"text": text, "labels": ["oil"]}]})
            for name in ("Labels", "Drift", "Memory", "Teach", "Now"):
                seen.go(name)
        seen.wait_for_figures(2)
        session = seen.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        used: float = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
        session.detach()
        return used

    grown()
    first, second = grown(), grown()
    assert second - first < 1.0
