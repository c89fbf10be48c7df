"""Console examples of documents: commands after ``$``, and what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def steps(document: Path) -> list[tuple[str, list[str]]]:
    """Commands and what they print, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", document.read_text(), re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *told = part.splitlines()
            found.append((command, told))
    return found


def is_like(told: str, real: str) -> bool:
    """Whether a line is the one that is told; an ellipsis stands for anything."""
    pattern = ".*".join(map(re.escape, told.split("…")))
    return re.fullmatch(pattern, real.rstrip()) is not None


def write_shown(document: Path, names: tuple[str, ...], folder: Path) -> None:
    """Write the files that a document shows, as they are where they are first shown."""
    for command, told in steps(document):
        name = command.removeprefix("cat ")
        if name in names and not (folder / name).exists():
            (folder / name).write_text("".join(f"{line}\n" for line in told))


def shell(folder: Path) -> Callable[[str], list[str]]:
    """Runs commands in a folder where ``clasher`` is this one; returns the lines they print."""
    binaries = folder / "bin"
    binaries.mkdir()
    program = binaries / "clasher"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m clasher "$@"\n')
    program.chmod(0o755)
    path = f"{binaries}:{os.environ['PATH']}"

    def run(command: str) -> list[str]:
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=os.environ | {"PATH": path, "TERM": "dumb"},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode in (0, 2), f"{command}\n{done.stderr}"
        said = [line for line in done.stderr.splitlines() if "compiling" not in line]
        return [*done.stdout.splitlines(), *said]

    return run


def check(document: Path, run: Callable[[str], list[str]]) -> None:
    """Run all examples of a document: each prints what it is told to."""
    for command, told in steps(document):
        real = run(command)
        assert len(told) == len(real), f"{command}\n{real}"
        for line, one in zip(told, real, strict=True):
            assert is_like(line, one), f"{command}\n{line}\n{one}"
