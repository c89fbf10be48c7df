"""The examples of the tutorial and the HTTP reference return what the pages show."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from clasher.server.routes import OPERATIONS
from support.environment import missing
from tests.server.servers import serve

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "reference" / "http.md"
PAGES = (DOCS / "tutorial" / "service.md", REFERENCE)  # the reference continues the tutorial


def steps() -> list[tuple[str, str]]:
    """Return the commands of the page and their output."""
    found = []
    text = "".join(page.read_text() for page in PAGES)
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            starts = [n for n, line in enumerate(lines) if n and line.startswith('{"')]
            end = starts[0] if starts else len(lines)
            found.append(("\n".join(lines[:end]), "\n".join(lines[end:])))
    return found


def is_like(told: Any, real: Any) -> bool:
    """Tell whether a real answer matches the documented one."""
    if isinstance(told, dict):
        return isinstance(real, dict) and all(
            name in real and is_like(value, real[name]) for name, value in told.items()
        )
    if isinstance(told, list) and told:
        return isinstance(real, list) and len(real) > 0 and is_like(told[0], real[0])
    if isinstance(told, str):
        return isinstance(real, str) and ("…" in told or told == real)
    if isinstance(told, bool) or told is None:
        return told == real or told is None
    return isinstance(real, int | float | list)


def test_the_examples_of_the_page_are_true(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        missing("curl is missing: the examples were not tried")
    with serve(tmp_path / "data") as served:
        for command, told in steps():
            done = subprocess.run(
                ["bash", "-c", command.replace("localhost:8000", f"127.0.0.1:{served.port}")],
                cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True,
            )  # fmt: skip
            assert bool(told) == bool(done.stdout), command
            for line, real in zip(told.splitlines(), done.stdout.splitlines(), strict=False):
                assert is_like(json.loads(line), json.loads(real)), f"{command}\n{real}"


def test_every_operation_is_documented() -> None:
    text = REFERENCE.read_text()
    for one in OPERATIONS:
        assert one.path in text, one.path
