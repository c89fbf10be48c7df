"""The recipes of CONTRIBUTING.md work: applied to a copy of the project, they pass its checks.

A ``diff`` block of a recipe names a file and has hunks divided by ``@@``. The lines of a hunk that
start with a blank or a minus must be in the file exactly once.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("src", "support", "tests", "docs", "tools", "conftest.py", "pyproject.toml", "README.md")
RECIPES = {"A weighting": 3, "A learning rule": 4}
"""The recipes, and how many files each changes by hand."""
WRITTEN = {"docs/reference/commands.md", "docs/reference/settings.md"}
"""The pages that the commands of a recipe write."""


def blocks(recipe: str, language: str) -> list[str]:
    """Return the fenced blocks of a recipe."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    found = re.search(rf"^## {recipe}\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    assert found is not None, f"CONTRIBUTING.md has no recipe {recipe!r}"
    fences = re.findall(rf"^    ```{language}\n(.*?)^    ```$", found[1], re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in fences]


def apply(block: str, folder: Path) -> Path:
    """Apply the hunks of a block; return the changed file."""
    head, _, body = block.partition("\n")
    path = folder / head.removeprefix("--- ")
    text = path.read_text("utf-8")
    for hunk in body.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(old) == 1, f"{path.name} has {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "*.png", "*.svg")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.mark.trial  # each runs tests of its own, and needs ruff
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_works(recipe: str, copy: Path) -> None:
    changed = [str(apply(block, copy)) for block in blocks(recipe, "diff")]
    assert len(set(changed)) == RECIPES[recipe]
    sources = [path for path in changed if path.endswith(".py")]
    commands = [
        [sys.executable, "-m", "ruff", "check", *sources],
        [sys.executable, "-m", "ruff", "format", "--check", *sources],
    ]
    for line in "".join(blocks(recipe, "sh")).splitlines():
        python, *rest = shlex.split(line.removeprefix("NUMBA_DISABLE_JIT=1 "))
        assert python == "python"
        commands.append([sys.executable, *rest])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(copy / "src")}
    for command in commands:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    by_hand = {str(Path(path).relative_to(copy)) for path in changed}
    assert differences(copy) == by_hand | WRITTEN


def differences(copy: Path) -> set[str]:
    """Return the copied files that are no longer those of the project."""
    files = (path for name in COPIED for path in [copy / name, *(copy / name).rglob("*")])
    names = {str(path.relative_to(copy)) for path in files if path.suffix in (".py", ".md")}
    return {n for n in names if (copy / n).read_bytes() != (ROOT / n).read_bytes()}
