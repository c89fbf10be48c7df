"""Links work on a forge, promises name existing tests, and pages name existing files."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from clasher import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "clasher"
DOCS = ROOT / "docs"
ARCHITECTURE = DOCS / "explanation" / "architecture.md"
THINGS = (
    "a word is split",
    "labels are learnt",
    "a model is saved",
    "a request is checked",
    "a Kafka offset is committed",
)
PAGES = [
    *sorted(ROOT.glob("*.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted(DOCS.rglob("*.md")),
    *sorted(ROOT.glob("experiments/*.md")),
]


def without_code(text: str) -> str:
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", lambda code: code[0].strip("`"), text)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as forges name them."""
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


def test_every_page_has_one_of_four_purposes() -> None:
    folders = {page.relative_to(DOCS).parts[0] for page in DOCS.rglob("*.md")}
    assert folders == {"tutorial", "how-to", "reference", "explanation"}


def test_promises_name_existing_tests() -> None:
    text = (DOCS / "reference" / "promises.md").read_text()
    named = re.findall(r"`(tests/[\w/.]+)::(\w+)`", text)
    assert named
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text())
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in functions, f"{path}::{name}"


def test_architecture_lists_the_layers_of_the_import_contract_in_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(one["layers"] for one in contracts["contracts"] if one["type"] == "layers")
    table = re.search(r"^\| layer \|.*?\n\n", ARCHITECTURE.read_text(), re.MULTILINE | re.DOTALL)
    assert table is not None
    cells = re.findall(r"^\| (`.*?`) \|", table[0], re.MULTILINE)
    listed = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert listed == [name for layer in layers for name in re.findall(r"\w+", layer)]
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages <= set(listed)


def test_architecture_describes_four_journeys_and_answers_where() -> None:
    text = ARCHITECTURE.read_text()
    journeys = re.findall(r"^### (.+)\n\n((?:1\. .*\n)(?:.+\n)*)", text, re.MULTILINE)
    assert len(journeys) == 4
    files = [set(re.findall(r"`[\w/]+\.py`", steps)) for _, steps in journeys]
    counted = re.search(r"there are (\d+), (\d+), (\d+) and (\d+) of them", text)
    assert counted is not None
    assert [int(number) for number in counted.groups()] == [len(found) for found in files]
    for thing in THINGS:
        row = re.search(rf"^\| where {thing}\? \| (.*) \|$", text, re.MULTILINE)
        assert row is not None, thing
        assert re.search(r"`[\w/]+\.py`", row[1]), thing


@pytest.mark.parametrize(
    "page", [ARCHITECTURE, DOCS / "explanation" / "paper.md"], ids=lambda page: page.stem
)
def test_named_files_exist(page: Path) -> None:
    named = re.findall(r"`([\w/]+(?:\.py|/))`", page.read_text())
    assert named
    for path in named:
        assert (SOURCE / path).exists() or (ROOT / path).exists(), path


def test_changelog_and_citation_name_the_version() -> None:
    dated = rf"^## \[{re.escape(__version__)}\] - (\d{{4}}-\d\d-\d\d)$"
    entry = re.search(dated, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert entry is not None
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {__version__}\ndate-released: {entry[1]}\n" in citation
