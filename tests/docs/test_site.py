"""The site builds strictly, loads nothing from other hosts, and fits a phone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.environment import optional
from tests.browser import chromium

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r'(?:<script[^>]*src|<link[^>]*href|<img[^>]*src)="(?:https?:)?//')
PAGES = (
    "", "docs/tutorial/start/", "docs/how-to/streams/", "docs/reference/commands/",
    "docs/reference/api/", "docs/explanation/architecture/", "benchmarks/",
)  # fmt: skip
TABS = ["Home", "Tutorial", "How-to guides", "Reference", "Explanation"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    optional("material", "docs")
    optional("mkdocstrings", "docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_is_loaded_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        assert not FETCHED.search(page.read_text()), page
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\((?:['\"])?https?:", style.read_text()), style


def test_tabs_are_the_four_purposes(site: Path) -> None:
    tabs = re.findall(
        r'<a href="[^"]*" class="md-tabs__link">\s*(.*?)\s*</a>', (site / "index.html").read_text()
    )
    assert tabs == TABS


def test_methods_are_in_the_reference(site: Path) -> None:
    text = (site / "docs" / "reference" / "api" / "index.html").read_text()
    assert 'id="clasher.Clasher.learn_many"' in text
    assert 'id="clasher.Clasher.merge"' in text


def test_roles_in_docstrings_are_links(site: Path) -> None:
    for page in sorted(site.glob("docs/reference/api*/index.html")):
        assert not re.search(r":\w+:\s*<code>", page.read_text()), page


def test_pages_fit_a_phone_and_load_nothing_from_other_hosts(site: Path) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for path in PAGES:
            page.goto((site / path / "index.html").as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 390, f"{path} is {wide} pixels wide"
        assert not [url for url in asked if not url.startswith(("file:", "data:"))]
