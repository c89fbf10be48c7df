"""Draws the pictures of docs/clashing.md from the kernels, and that of docs/architecture.md.

    python -m tools.pictures

writes docs/pictures/NAME.svg, NAME being that of the module that draws it.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
NAMES = ("buckets", "weights", "geometry", "regions", "learning", "architecture")


def drawn(name: str) -> str:
    """A picture, made anew."""
    return str(import_module(f"tools.pictures.{name}").draw())
