"""Links work on a forge, promises have their tests, the page on architecture knows every module."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tools.pictures.architecture import layers

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "benchmarks" / "README.md",
    *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("experiments/*.md")),
]


def without_code(text: str) -> str:
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].strip("`"), text)


def anchors(page: Path) -> set[str]:
    """The headings of a page as forges name them."""
    headings = re.findall(r"^#+ (.+)$", without_code(page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if not re.match(r"https?:", target):
            path, _, anchor = target.partition("#")
            found = (page.parent / path).resolve() if path else page
            assert found.exists(), target
            assert not anchor or anchor in anchors(found), target


def test_the_tests_behind_promises_exist() -> None:
    named = re.findall(r"`(tests/[\w/.]+)::(\w+)`", (ROOT / "docs" / "promises.md").read_text())
    assert named
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_page_on_architecture_names_every_module() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for layer in layers():
        for module in layer:
            assert f"`{module}" in text, module


def test_every_file_that_a_page_names_is_there() -> None:
    for name in ("architecture", "contributing", "paper"):
        text = (ROOT / "docs" / f"{name}.md").read_text()
        for path in re.findall(r"`((?:kernels|app|io|src|tests)/[\w/]+\.py)`", text):
            if "countdown" not in path:  # the one that a recipe makes
                assert (ROOT / path).exists() or (ROOT / "src" / "clasher" / path).exists(), path
