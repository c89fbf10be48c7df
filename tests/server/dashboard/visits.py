"""A visit of the dashboard."""

from __future__ import annotations

from typing import Any

PATIENCE = 20_000  # milliseconds


class Visit:
    """A browser context with its requests and errors."""

    def __init__(self, browser: Any, url: str, page: str = "now", **options: Any) -> None:
        options.setdefault("viewport", {"width": 1280, "height": 900})
        self.url = url
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page = self.open(page)

    def open(self, page: str) -> Any:
        """Open another tab."""
        tab = self.context.new_page()
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.on("console", lambda message: self.errors.append(message.text))
        tab.goto(f"{self.url}#/{page}")
        tab.wait_for_selector("#connection[data-status=live]")
        return tab

    def go(self, page: str) -> None:
        """Follow a link of the navigation."""
        self.page.get_by_role("navigation", name="Pages").get_by_text(page).click()
        self.page.get_by_role("heading", level=1, name=page).wait_for()

    def wait_for_figures(self, times: int = 1) -> None:
        """Wait until the page has drawn new metrics so many times."""
        count = """({ listen }, times) => new Promise((resolve) => {
          let heard = 0;
          const stop = listen("metrics", () => {
            heard += 1;
            if (heard === times) setTimeout(() => { stop(); resolve(); });
          });
        })"""
        self.module("events.js", count, times)

    def module(self, name: str, script: str, value: object = None) -> Any:
        """Run a script over a module of the page."""
        return self.page.evaluate(
            f"async (value) => ({script})(await import('{self.url}pages/{name}'), value)", value
        )


def formatted(page: Any, how: str, value: float) -> str:
    """Format a number as the page does."""
    script = "async ([how, value]) => (await import('./pages/format.js'))[how](value)"
    text: str = page.evaluate(script, [how, value])
    return text
