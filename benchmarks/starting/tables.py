"""How long it takes to start, as Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.tables import markdown, provenance

PEERS = ("python", "import numpy")


def table(study: dict[str, Any]) -> str:
    """All that was measured, and how to measure it again."""
    found = {name: statistics.median(taken) for name, taken in study["figures"].items()}
    rows = [
        [f"`{name}`", f"{own:.3f}", *(f"{own / found[peer]:.1f}" for peer in PEERS)]
        for name, own in found.items()
    ]
    heads = ["", "seconds", *(f"times `{peer}`" for peer in PEERS)]
    return f"{markdown(heads, rows)}\n\n{provenance(study)}"
