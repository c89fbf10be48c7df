"""Cells, the smallest units that an experiment measures."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from experiments.streams import Stream


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """A measurement on a stream; a timed cell runs alone on the machine."""

    kind: str
    what: dict[str, Any]
    stream: Stream | None = None
    timed: bool = False

    def __str__(self) -> str:
        words = [str(self.what.get("system", self.what.get("part")))]
        words += [f"{name}={value}" for name, value in self.what.get("options", {}).items()]
        words += [f"fraction={fraction}"] if (fraction := self.what.get("fraction")) else []
        return " ".join([*words, *([f"on {self.stream.title}"] if self.stream else [])])


@cache
def digest(path: Path) -> str:
    """Hash a file, or all Python modules below a folder."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
