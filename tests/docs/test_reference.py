"""Every public name, command and option is documented, and generated pages are up to date."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import click
import pytest

import clasher
import clasher.adapters
from tools import settings
from tools.commands import PAGE, page, walk

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOREIGN = {"annif"}  # passes options on
OTHERS = {"--archives", "--cached", "--help", "--packages"}  # of Spark, Annif and click
PACKAGES = (
    "clasher",
    "clasher.theory",
    "clasher.datasets",
    "clasher.flow",
    "clasher.frames",
    "clasher.io",
    "clasher.testing",
)


ADAPTERS = sorted(Path(clasher.adapters.__path__[0]).glob("*/__init__.py"))


@pytest.fixture(scope="module")
def reference() -> set[str]:
    """Return the names in the Python reference, in directives or in code."""
    text = "".join(path.read_text() for path in sorted(REFERENCE.glob("api*.md")))
    return set(re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE)) | set(
        re.findall(r"`(clasher[\w.]+)`", text)
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_documented(package: str, reference: set[str]) -> None:
    missing = {f"{package}.{name}" for name in importlib.import_module(package).__all__} - reference
    assert not missing, f"{REFERENCE}/api*.md has no line “::: NAME” for {sorted(missing)}"


@pytest.mark.parametrize("package", ADAPTERS, ids=lambda package: package.parent.name)
def test_every_adapter_is_documented(package: Path, reference: set[str]) -> None:
    found = re.search(r"^__all__ = (\[.*?\])", package.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    names = ast.literal_eval(found[1])  # without importing the libraries they adapt
    missing = {f"clasher.adapters.{package.parent.name}.{name}" for name in names} - reference
    assert not missing, f"api-adapters.md has no line “::: NAME” for {sorted(missing)}"


def test_the_documented_tree_of_errors_is_complete() -> None:
    from clasher import errors

    tree = (errors.__doc__ or "").split("\n\n")[1].replace("``", "`").splitlines()
    shown = (REFERENCE / "api.md").read_text()
    for line in tree:
        assert line.rstrip() in shown, line


def test_commands_are_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run python -m tools.commands"


def test_the_reference_of_settings_is_up_to_date() -> None:
    assert settings.PAGE.read_text() == settings.page(), "write it again: python -m tools.settings"


def test_every_command_and_option_is_documented() -> None:
    sections = dict(re.findall(r"^## `([^`]+)`\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))
    for context in walk():
        section = sections[context.command_path]
        for parameter in context.command.params:
            if isinstance(parameter, click.Option):
                for name in (*parameter.opts, *parameter.secondary_opts):
                    assert name in section, f"{context.command_path} {name}"


def shown_commands(text: str) -> list[str]:
    """Return the arguments of ``clasher`` in code blocks and code spans, continued lines joined."""
    text = text.replace("\\\n", " ")
    lines = [*re.findall(r"^(?:    |\$ )(.*)", text, re.M), *re.findall(r"`([^`\n]+)`", text)]
    start = r"(?:^|\| |\()clasher (?=[a-z])"
    return [found for line in lines for found in re.findall(rf"{start}([^|#;)>]*)", line)]


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.stem)
def test_shown_commands_and_options_exist(document: Path) -> None:
    contexts = {context.command_path.removeprefix("clasher "): context for context in walk()}
    for line in shown_commands(document.read_text()):
        words = line.split()
        names = [" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in contexts]
        assert names, f"clasher {line}"
        command = contexts[names[0]].command
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        for word in words:
            option = word.partition("=")[0]
            if option.startswith("--") and names[0] not in FOREIGN:
                assert option in known, f"clasher {line}: {option}"


def test_options_that_pages_name_exist() -> None:
    params = [one for context in walk() for one in context.command.params]
    known = {name for one in params for name in (*one.opts, *one.secondary_opts)} | OTHERS
    for document in PAGES:
        for option in re.findall(r"`(--[a-z][a-z-]*)", document.read_text()):
            assert option in known, f"{document.name}: {option}"
