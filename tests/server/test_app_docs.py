"""The page of the API in a real browser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clasher.server.routes import OPERATIONS
from tests.browser import chromium
from tests.server.servers import serve

pytestmark = pytest.mark.compiled


def test_operations_can_be_tried_below_a_path(folder: Path) -> None:
    with serve(folder, root_path="/clasher") as served, chromium() as browser:
        page = browser.new_page()
        requests: list[str] = []
        errors: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{served.url}/docs")
        page.wait_for_selector("#healthz")
        operations = page.locator(".operation:not([id^=schema-])")
        assert operations.count() == len(OPERATIONS)
        healthz = page.locator("#healthz")
        healthz.locator("summary").click()
        healthz.get_by_role("button", name="Send").click()
        healthz.get_by_text('"status": "ok"').wait_for()
        predict = page.locator("#predict")
        predict.locator("summary").click()
        predict.get_by_role("button", name="Send").click()  # the example of the document
        predict.get_by_text('"id": "news-1"').wait_for()
        assert f"{served.url}/healthz" in requests
        assert {urlsplit(url).netloc for url in requests} == {f"127.0.0.1:{served.port}"}
        assert not [text for text in errors if "Security Policy" in text or "Error" in text]
