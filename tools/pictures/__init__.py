"""Draw the pictures of docs/explanation/clashing.md with the kernels.

    python -m tools.pictures

writes docs/pictures/NAME.svg, one for each module of that name.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
NAMES = ("buckets", "weights", "geometry", "regions", "learning")


def drawn(name: str) -> str:
    """Return a picture as SVG."""
    return str(import_module(f"tools.pictures.{name}").draw())
