"""The layers of the package as the import contract in pyproject.toml has them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tools.pictures.svg import BLUE, FAINT, RULE, Picture

CONTRACT = Path(__file__).parents[2] / "pyproject.toml"
BANDS = {  # by the first module of each
    "app": "what people see",
    "adapters": "streams and frameworks",
    "evaluate": "what is done with models",
    "model": "the model",
    "memory": "what it is made of",
    "kernels": "the loops",
    "unicode_ranges": "known to all",
}
FLOW = ("text", "hashing", "sketch", "regions", "labels", "learning", "metrics")
WIDTH, LEFT, CHIP, GAP = 760, 190, 24, 6


def layers() -> list[list[str]]:
    """The modules of ``clasher``, the highest layer first."""
    contracts = tomllib.loads(CONTRACT.read_text())["tool"]["importlinter"]["contracts"]
    flow = next(contract for contract in contracts if contract["type"] == "layers")
    return [re.findall(r"\w+", layer) for layer in flow["layers"]]


def bands() -> dict[str, list[str]]:
    """What stands in each band of the picture; a band ends where the next one begins."""
    found: dict[str, list[str]] = {}
    title = ""
    for layer in layers():
        title = next((BANDS[module] for module in layer if module in BANDS), title)
        found.setdefault(title, []).extend(layer)
    return found


def draw() -> Picture:
    """A band below another never imports from it; within the loops, the way of a document."""
    rows = [(title, _rows(modules)) for title, modules in bands().items()]
    height = 60 + sum(len(chips) * (CHIP + GAP) + 16 for _, chips in rows) + 50
    picture = Picture("The layers of clasher", WIDTH, height)
    picture.text(
        20, 30, "imports go down only; documents go from top to bottom and back", bold=True
    )
    y = 50.0
    for title, chips in rows:
        tall = len(chips) * (CHIP + GAP) + 10
        picture.box(12, y, WIDTH - 24, tall, fill="#ffffff", edge=RULE, round_=6)
        picture.text(24, y + 23, title, colour=FAINT, size=12)
        for row, modules in enumerate(chips):
            x = float(LEFT)
            for module in modules:
                picture.box(
                    x, y + 8 + row * (CHIP + GAP), _wide(module), CHIP, fill="#eef0fa", round_=4
                )
                picture.text(x + 8, y + 25 + row * (CHIP + GAP), module, size=13, colour=BLUE)
                x += _wide(module) + GAP
        y += tall + 6
    picture.text(24, y + 18, "the way of a document through kernels/", colour=FAINT, size=12)
    picture.text(24, y + 40, " → ".join(FLOW), bold=True, size=13)
    return picture


def _wide(module: str) -> float:
    return 18 + 7.8 * len(module)


def _rows(modules: list[str]) -> list[list[str]]:
    """Break a line of chips where it is full."""
    rows: list[list[str]] = [[]]
    used = 0.0
    for module in modules:
        used += _wide(module) + GAP
        if rows[-1] and used > WIDTH - LEFT - 20:
            rows.append([])
            used = _wide(module) + GAP
        rows[-1].append(module)
    return rows
