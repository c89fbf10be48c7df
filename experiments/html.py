"""Build one self-contained HTML page with all tables and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt

HERE = Path(__file__).parent
PICTURE = re.compile(r'<img src="([^"]+\.svg)" alt="([^"]*)"[^>]*>')


def index(pages: Iterable[Path]) -> str:
    """Join pages and add a table of contents."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((HERE / "index.html.j2").read_text(encoding="utf-8"))
    sections = [(page.stem, title(page), render(page)) for page in pages]
    return template.render(sections=sections)


def title(page: Path) -> str:
    """Return the first heading of a page."""
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def render(page: Path) -> str:
    """Render a page with its pictures embedded."""
    parser = MarkdownIt("commonmark").enable("table")
    html: str = parser.render(page.read_text(encoding="utf-8"))
    html = re.sub(r"<!--.*?-->\n?", "", html)
    html = re.sub(r'href="([\w-]+)\.md"', r'href="#\1"', html)
    return PICTURE.sub(lambda found: embed(page.parent / found[1], found[2]), html)


def embed(path: Path, description: str) -> str:
    """Embed a picture, with a description for screen readers."""
    svg = path.read_text(encoding="utf-8")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return f'<figure role="img" aria-label="{description}">{svg}</figure>'
