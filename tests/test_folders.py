"""Which folder of the project may import from which."""

from __future__ import annotations

import re

import pytest

from support.corpora import PROJECT

FORBIDDEN = {
    "src/clasher": ("tests", "support", "benchmarks", "experiments", "tools"),
    "support": ("tests", "benchmarks", "experiments"),
    "tests": ("benchmarks", "experiments"),
    "benchmarks": ("tests",),
    "experiments": ("tests",),
    "examples": ("tests", "support", "benchmarks", "experiments"),
}


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_folders_import_only_what_they_may(folder):
    names = "|".join(FORBIDDEN[folder])
    imports = re.compile(
        rf'^\s*(?:from|import) (?:{names})\b|optional\("(?:{names})\.', re.MULTILINE
    )
    found = [
        f"{path.relative_to(PROJECT)}: {match[0].strip()}"
        for path in (PROJECT / folder).rglob("*.py")
        for match in imports.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
