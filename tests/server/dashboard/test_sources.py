"""The source files of the page."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from tests.server.dashboard.servers import Server

PAGES = files("clasher.server").joinpath("pages")
SCRIPTS = sorted(item.name for item in PAGES.iterdir() if item.name.endswith(".js"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_creates_markup(name: str) -> None:
    source = PAGES.joinpath(name).read_text("utf-8")
    markup = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b|new Function"
    )
    assert not re.search(markup, source)


@pytest.mark.parametrize("name", [*SCRIPTS, "index.html", "style.css"])
def test_no_file_refers_to_another_host_or_the_root(name: str) -> None:
    source = PAGES.joinpath(name).read_text("utf-8")
    assert set(re.findall(r"https?://[^\s\"']+", source)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"(?:href|src)=\"/|^import .* from \"[^.]|url\(", source, re.M)


@pytest.mark.parametrize("name", SCRIPTS)
def test_modules_are_small(name: str) -> None:
    assert PAGES.joinpath(name).read_text("utf-8").count("\n") < 300


@pytest.mark.compiled
def test_the_policy_allows_nothing_inline(server: Server) -> None:
    policy = server.headers_of("")["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
