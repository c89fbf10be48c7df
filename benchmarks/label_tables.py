"""Make the tables of the study of many labels.

Systems are compared on equal numbers of documents: all of a stream, and as many as each slower
system finished. A run gives figures for its end, and for the points where it recorded them.
"""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from benchmarks.peers import SYSTEMS
from benchmarks.tables import (
    BASE,
    NONE,
    Cell,
    cells,
    distinct,
    f1,
    markdown,
    megabytes,
    provenance,
)

HEADS = ("documents", "labels", "system", "macro F1", "micro F1", "P@1", "P@3", "P@5", "PSP@5",
         "documents/s", "× VW hinge", "model")  # fmt: skip
SCORES = (
    "macro_f1", "micro_f1", "precision_at_1", "precision_at_3", "precision_at_5", "psp_at_5",
)  # fmt: skip
LIMIT = "max_bytes"

Found = dict[tuple[Any, ...], Cell]


def labels(study: dict[str, Any]) -> str:
    """Make a table per corpus, one for all made-up streams, and one by memory."""
    found = cells(study["runs"])
    compared = {key: cell for key, cell in found.items() if LIMIT not in cell.runs[0]["options"]}
    streams = [name for name in distinct(key[0] for key in compared) if _peers(compared, name)]
    corpora = [name for name in streams if not _is_made_up(found, name)]
    made_up = [name for name in streams if _is_made_up(found, name)]
    parts = []
    for name in corpora:
        parts += [f"### {name}", markdown(HEADS, _rows(compared, name))]
    if made_up:
        rows = [[name, *row] for name in made_up for row in _rows(compared, name)]
        parts += ["### Made-up streams", markdown(["stream", *HEADS], rows)]
    parts += ["### F1 by memory", by_memory(found)]
    parts += ["### Settings", _settings(compared)]
    return "\n\n".join([*parts, provenance(study)])


def _peers(found: Found, corpus: str) -> bool:
    return len({system for name, system, *_ in found if name == corpus}) > 1


def _is_made_up(found: Found, corpus: str) -> bool:
    orders = [cell.runs[0]["order"] for key, cell in found.items() if key[0] == corpus]
    return any(order.startswith("synthetic") for order in orders)


# ── systems, on equal numbers of documents ───────────────────────────────────────────────────────


def _rows(found: Found, corpus: str) -> list[list[str]]:
    mine: dict[str, list[Cell]] = {system: [] for system in SYSTEMS}
    for (name, system, *_), cell in found.items():
        if name == corpus:
            mine[system].append(cell)
    fine = [cell for group in mine.values() for cell in group if not cell.failed]
    rows = []
    for documents in sorted({_end(cell) for cell in fine}, reverse=True):
        at = {system: _best(group, documents) for system, group in mine.items()}
        base = at[BASE]
        rows += [_row(documents, system, own, base) for system, own in at.items() if own]
    failed = [cell for group in mine.values() for cell in group if cell.failed]
    return rows + [
        [NONE, NONE, SYSTEMS[cell.runs[0]["system"]].title, f"failed: {cell.failed}", *[NONE] * 8]
        for cell in failed
    ]


def _row(
    documents: int, system: str, own: dict[str, float], base: dict[str, float] | None
) -> list[str]:
    speed = own["documents_per_second"]
    return [
        f"{documents:,}",
        f"{own['labels']:,.0f}",
        SYSTEMS[system].title,
        *(f1(own[score]) if score in own else NONE for score in SCORES),
        f"{speed:,.0f}",
        f"{speed / base['documents_per_second']:.2f}" if base else NONE,
        megabytes(own["model"]) if "model" in own else NONE,
    ]


def _end(cell: Cell) -> int:
    """Return the documents on which to judge a run: all, or up to its last point in time."""
    return _end_of(cell.runs[0])


def _end_of(run: dict[str, Any]) -> int:
    points = [point["documents"] for point in run["points"] if _is_whole(point)]
    return int(run["documents"] if run["complete"] or not points else points[-1])


def _is_whole(point: dict[str, float]) -> bool:
    return {"seconds", "micro_f1"} <= point.keys()


def _best(group: list[Cell], documents: int) -> dict[str, float] | None:
    """Return the figures of a system on the first documents, from a run of them if there is one."""
    fine = [cell for cell in group if not cell.failed]
    for cell in sorted(fine, key=lambda cell: cell.runs[0]["documents"]):
        runs = [_figures(run, documents) for run in cell.runs]
        whole = [run for run in runs if run]
        if len(whole) == len(runs):
            return {name: median(run[name] for run in whole) for name in whole[0]}
    return None


def _figures(run: dict[str, Any], documents: int) -> dict[str, float] | None:
    """Return the figures of a run after so many documents, or None if it recorded none."""
    names = ("labels", "documents_per_second", *SCORES)
    if run["documents"] == documents:
        figures = {name: run[name] for name in names if name in run}
    else:
        points = [point for point in run["points"] if point["documents"] == documents]
        if not points or not _is_whole(points[0]):
            return None
        figures = {name: points[0][name] for name in names if name in points[0]}
        figures["documents_per_second"] = documents / points[0]["seconds"]
    if documents == _end_of(run):
        size = run.get("model_bytes", run.get("state_bytes"))
        figures |= {} if size is None else {"model": size}
    return figures


# ── other tables ─────────────────────────────────────────────────────────────────────────────────


def by_memory(found: Found) -> str:
    """Show F1 of the default rule as its memory shrinks."""
    limited = {name for name, _, _, options in found if LIMIT in json.loads(options)}
    rows = []
    for (name, system, limit, _), cell in found.items():
        if name not in limited or not system.startswith("clasher") or limit is not None:
            continue
        most = cell.runs[0]["options"].get(LIMIT)
        about = [name, NONE if most is None else megabytes(most)]
        if cell.failed:
            rows.append([*about, f"failed: {cell.failed}", *[NONE] * 6])
            continue
        shown = ("macro_f1", "micro_f1", "precision_at_1", "precision_at_5")
        rows.append(
            [*about, megabytes(cell["state_bytes"]), f"{cell['labels']:,.0f}",
             *(f1(cell[score]) for score in shown), f"{cell['documents_per_second']:,.0f}"]
        )  # fmt: skip
    rows.sort(key=lambda row: row[0])
    heads = ["corpus", f"`{LIMIT}`", "state", "labels", "macro F1", "micro F1", "P@1", "P@5",
             "documents/s"]  # fmt: skip
    return markdown(heads, rows)


def _settings(found: Found) -> str:
    rows = {
        system: [SYSTEMS[system].title, f"`{SYSTEMS[system].settings}`", _options(options)]
        for _, system, _, options in found
    }
    ordered = [rows[name] for name in SYSTEMS if name in rows]
    return markdown(["system", "settings", "changed here"], ordered)


def _options(options: str) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in json.loads(options).items()) or NONE
