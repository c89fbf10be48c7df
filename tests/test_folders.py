"""Which folder may import from which; tests lie where their modules do."""

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


# Tests of the whole project, of a package, or of pages instead of a module.
APART = (
    r"tests/docs/|tests/server/dashboard/|test_(conformance|torture|report|report_browser)\.py$"
    r"|tests/test_(folders|golden|packaging|public|reference)\.py$|tests/kernels/test_kernels\.py$"
    r"|adapters/sklearn/test_versions\.py$|kafka/test_spark\.py$"
)


def test_a_test_is_named_after_its_module_and_lies_in_the_same_folder():
    lost = []
    for path in (PROJECT / "tests").rglob("test_*.py"):
        own = path.relative_to(PROJECT)
        folder = PROJECT / "src" / "clasher" / own.parent.relative_to("tests")
        modules = {module.stem for module in folder.glob("*")}
        subject = path.stem.removeprefix("test_")
        named = any(subject == name or subject.startswith(f"{name}_") for name in modules)
        if not named and not re.search(APART, own.as_posix()):
            lost.append(own.as_posix())
    assert lost == []
