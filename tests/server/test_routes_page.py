"""The examples of the tutorial and the HTTP reference return what the pages show."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from clasher.server.routes import OPERATIONS
from clasher.service import default_settings
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


def shown(line: str) -> Any:
    """Decode a documented answer, in which ``…`` stands for what is left out."""
    line = re.sub(r"\{…\}", '"…"', line)
    line = re.sub(r",…\}", ',"…":"…"}', line)
    return json.loads(re.sub(r"([,:\[])…(?=[,\]}])", r'\1"…"', line))


def is_like(told: Any, real: Any) -> bool:
    """Tell whether a real answer matches the documented one, up to rounding and moments."""
    if told == "…":
        return True
    if isinstance(told, dict):
        named = {name: value for name, value in told.items() if name != "…"}
        return (
            isinstance(real, dict)
            and ("…" in told or named.keys() == real.keys())
            and all(name in real and is_like(value, real[name]) for name, value in named.items())
        )
    if isinstance(told, list):
        is_cut = told[-1:] == ["…"]
        listed = told[:-1] if is_cut else told
        return (
            isinstance(real, list)
            and (len(real) >= len(listed) if is_cut else len(real) == len(listed))
            and all(map(is_like, listed, real))
        )
    if isinstance(told, str) and "…" in told:
        return isinstance(real, str)
    if isinstance(told, float) and isinstance(real, int | float):
        return told > 1e9 or abs(told - real) <= 0.0006
    return bool(told == real) and isinstance(real, type(told))


def test_the_examples_of_the_page_are_true(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        missing("curl is missing: the examples were not tried")
    with serve(tmp_path / "data", settings=default_settings()) as served:
        for command, told in steps():
            done = subprocess.run(
                ["bash", "-c", command.replace("localhost:8000", f"127.0.0.1:{served.port}")],
                cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True,
            )  # fmt: skip
            assert bool(told) == bool(done.stdout), command
            for line, real in zip(told.splitlines(), done.stdout.splitlines(), strict=True):
                assert is_like(shown(line), json.loads(real)), f"{command}\n{real}"


def test_every_operation_is_documented() -> None:
    text = REFERENCE.read_text()
    for one in OPERATIONS:
        assert one.path in text, one.path
