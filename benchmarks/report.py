"""Write tables between marker comments, so that nobody types a figure by hand.

A file marks the place of a table:

    <!-- benchmark:overview -->
    <!-- /benchmark:overview -->
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks import caveats, label_tables, study_tables, tables
from benchmarks.serving import tables as serving
from benchmarks.spark import tables as spark

BLOCK = re.compile(r"(<!-- benchmark:(\w+) -->\n).*?(<!-- /benchmark:\2 -->)", re.DOTALL)

BLOCKS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "overview": ("table", tables.overview),
    "table": ("table", tables.table),
    "prefix": ("table", tables.prefix),
    "flat": ("flat", tables.flat),
    "scaling": ("scaling", tables.scaling),
    "labels": ("labels", label_tables.labels),
    "serving": ("serving", serving.table),
    "spark": ("spark", spark.speeds),
    "overheads": ("spark", spark.overheads),
    "sizing": ("spark", spark.sizing),
    "flow": ("flow", study_tables.flow),
    "estimators": ("estimators", study_tables.estimators),
    "river": ("river", study_tables.river),
    "startup": ("startup", study_tables.startup),
}
"""The study behind each block, and the function that renders it."""


def update(files: Iterable[Path], results: Path) -> list[Path]:
    """Write the tables of ``results`` into ``files``; return the files that changed."""
    changed = stale(files, results)
    for path in changed:
        path.write_text(fill(path.read_text(encoding="utf-8"), results), encoding="utf-8")
    return changed


def stale(files: Iterable[Path], results: Path) -> list[Path]:
    """Return the files whose tables do not match ``results``."""
    return [
        path for path in files if (text := path.read_text(encoding="utf-8")) != fill(text, results)
    ]


def fill(text: str, results: Path) -> str:
    """Fill every block of a text from the results."""

    def replaced(match: re.Match[str]) -> str:
        start, name, end = match.groups()
        return f"{start}\n{block(name, results)}\n\n{end}"

    return BLOCK.sub(replaced, text)


def block(name: str, results: Path) -> str:
    """Render one block."""
    if name == "settings":
        return tables.settings()
    if name == "caveat":
        return caveats.full()
    if name not in BLOCKS:
        known = ", ".join(["settings", "caveat", *BLOCKS])
        raise SystemExit(f"there is no block benchmark:{name}; choose from: {known}.")
    study, render = BLOCKS[name]
    path = results / f"{study}.json"
    if not path.exists():
        return f"No results yet: run `python -m benchmarks {study}`."
    return render(json.loads(path.read_text(encoding="utf-8")))
