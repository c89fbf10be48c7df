"""The report in a real browser: Chromium, driven by Playwright, without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clasher.cli.report import PRINTED_ROWS, write_report
from tests.browser import chromium
from tests.cli.evaluations import HOSTILE, learnt, learnt_news, made, news, renamed, rows


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


class Visit:
    """A page as it was opened, what it asked for and what went wrong."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.goto(path.as_uri())

    def column(self, number: int) -> list[str]:
        cells: list[str] = self.page.locator(
            f"#labels tbody tr:visible td:nth-child({number})"
        ).all_inner_texts()
        return cells


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    visits: list[Visit] = []

    def open_page(path: Path, **options: Any) -> Visit:
        visits.append(Visit(browser, path, **options))
        return visits[-1]

    yield open_page
    for opened in visits:
        opened.context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with examples, a comparison and a hundred labels."""
    _, model, sample = learnt_news()
    result = made(rows(100), points=50)
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(
        path, result, model=model, sample=sample, comparison={"one": result, "two": result}
    )
    return path


def test_charts_are_drawn_and_nothing_is_loaded(report: Path, visit: Any) -> None:
    seen = visit(report)
    plots = seen.page.locator("svg.plot")
    assert plots.count() == 7
    for i in range(plots.count()):
        box = plots.nth(i).bounding_box()
        assert box["width"] > 200
        assert box["height"] > 150
    curve = seen.page.locator("[data-chart=macro] path").first.bounding_box()
    assert curve["width"] > 200
    assert curve["height"] > 50
    assert seen.requests == [report.as_uri()]
    assert seen.errors == []


def test_values_under_the_pointer(report: Path, visit: Any) -> None:
    seen = visit(report)
    plot = seen.page.locator("[data-chart=micro] svg.plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    assert seen.page.locator("#tip").inner_text().split() == [
        "documents", "2,500", "cumulative", ".500", "window", ".500",
    ]  # fmt: skip
    seen.page.mouse.move(0, 0)
    assert not seen.page.locator("#tip").is_visible()
    dots = seen.page.locator("[data-chart=labels] svg.plot")
    dots.scroll_into_view_if_needed()
    dots.hover()
    assert "label number" in seen.page.locator("#tip").inner_text()


def test_sorting_and_searching_the_labels(report: Path, visit: Any) -> None:
    seen = visit(report)
    by_support = seen.column(1)
    seen.page.get_by_role("button", name="F1").click()
    assert seen.column(6) == sorted(seen.column(6), key=float, reverse=True)
    seen.page.get_by_role("button", name="F1").click()
    assert seen.column(6) == sorted(seen.column(6), key=float)
    assert seen.column(1) == by_support[::-1]
    seen.page.get_by_role("button", name="Label").click()
    assert seen.column(1)[:3] == ["label number 0", "label number 1", "label number 2"]
    seen.page.get_by_label("Find a label").fill("NUMBER 9")
    assert len(seen.column(1)) == 11
    assert seen.page.locator("#found").inner_text() == "11 of 100 labels"


def test_choosing_a_label_shows_its_words(tmp_path: Path, visit: Any) -> None:
    parts = news()
    result, model, sample = learnt(parts)
    model.learn_many(parts[0].texts, [["all"]] * 60)  # a second label, in no document's truth
    write_report(tmp_path / "report.html", result, model=model, sample=sample)
    seen = visit(tmp_path / "report.html")
    article = seen.page.locator("article", has=seen.page.locator("label:nth-of-type(2)")).first
    views = article.locator(".view")
    assert [view.is_visible() for view in views.all()][:2] == [True, False]
    article.locator("label").nth(1).click()
    assert [view.is_visible() for view in views.all()][:2] == [False, True]


def test_hostile_labels_do_not_run(tmp_path: Path, visit: Any) -> None:
    _, model, sample = learnt_news(tuple(HOSTILE[:3]))
    result = renamed(made(rows(len(HOSTILE))), HOSTILE)
    path = tmp_path / "report.html"
    write_report(path, result, title=HOSTILE[1], model=model, sample=sample)
    seen = visit(path)
    assert seen.page.title() == f"{HOSTILE[1]} – clasher"
    assert seen.column(1) == HOSTILE
    plot = seen.page.locator("[data-chart=labels] svg.plot")
    plot.scroll_into_view_if_needed()
    plot.hover()
    assert seen.page.locator("#tip").is_visible()
    assert seen.page.locator("img").count() == 0
    assert seen.requests == [path.as_uri()]
    assert seen.errors == []


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_fits_the_screen(report: Path, visit: Any, width: int) -> None:
    seen = visit(report, viewport={"width": width, "height": 800})
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_dark_and_light(report: Path, visit: Any) -> None:
    def brightness(scheme: str) -> int:
        page = visit(report, color_scheme=scheme).page
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")))

    assert brightness("dark") < 150 < 600 < brightness("light")


def test_print(report: Path, visit: Any) -> None:
    seen = visit(report, color_scheme="dark")
    seen.page.emulate_media(media="print")
    assert len(seen.column(1)) == PRINTED_ROWS
    assert seen.page.get_by_text(f"Printed: the first {PRINTED_ROWS} of 100 rows").is_visible()
    assert (
        seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == "rgb(255, 255, 255)"
    )


def test_without_scripts_the_page_still_shows_everything(report: Path, visit: Any) -> None:
    seen = visit(report, java_script_enabled=False)
    assert len(seen.column(1)) == 100
    assert seen.page.locator("[data-chart=macro] path").first.is_visible()
    assert not seen.page.get_by_label("Find a label").is_visible()
