"""Make Markdown tables of systems on streams."""

from __future__ import annotations

from typing import Any

from benchmarks.peers import SYSTEMS
from benchmarks.tables import NONE, both_f1, distinct, f1, markdown, power_of_two, thousands
from experiments.rows import Row, benchmark

MEASURES = {
    "macro_f1": "macro F",
    "macro_precision": "macro P",
    "macro_recall": "macro R",
    "accuracy": "accuracy",
    "micro_f1": "micro F",
    "micro_precision": "micro P",
    "micro_recall": "micro R",
}
EARLY = (100, 1_000, 10_000)


def overview(rows: list[Row]) -> str:
    """Show F1 (macro / micro) and documents per second: a row per system, a column per stream.

    A system that ran on a part of the stream also shows the first system's scores on that part.
    """
    streams = distinct(row.stream for row in rows)
    found = {(row.system, row.stream): row for row in rows}
    first = {row.stream: row for row in reversed(rows) if row.failed is None and not row.cut}
    table = markdown(
        ["", *(f"{stream}{size(rows, stream)}" for stream in streams)],
        [
            [
                SYSTEMS[system].title,
                *(_overview(found.get((system, s)), first.get(s)) for s in streams),
            ]
            for system in distinct(row.system for row in rows)
        ],
    )
    return f"{table}\n\n{speeds(rows)}"


def speeds(rows: list[Row]) -> str:
    """Say where the speeds of a table come from."""
    known = [row for row in rows if row.benchmarked is not None]
    own = [row for row in rows if row.failed is None and row.benchmarked is None]
    if not known:
        return "Documents per second: single runs of this experiment."
    study = benchmark()
    source = (
        f"Documents per second: medians of {study['repeats']} runs of `{study['command']}`, "
        f"{study['date']}, where the benchmark includes the same run"
    )
    if not own:
        return f"{source}."
    both = {row.system for row in known}
    named = distinct(
        f"{row.title}{f' on {row.stream}' if row.system in both else ''}" for row in own
    )
    return f"{source}; single runs of this experiment for the rest ({'; '.join(named)})."


def _overview(row: Row | None, first: Row | None) -> str:
    if row is None:
        return NONE
    if row.failed is not None:
        return f"failed: {row.failed}"
    found = f"{both_f1(row.result)}, {thousands(row.speed)}"
    if not row.cut:
        return found
    there = first.after(row.result["documents"]) if first else None
    return f"{found} ({row.cut}{f'; {first.title}: {both_f1(there)}' if first and there else ''})"


def size(rows: list[Row], stream: str) -> str:
    """Return the size of a stream, from a system that ran on all of it."""
    whole = [
        row.result for row in rows if row.stream == stream and row.failed is None and not row.cut
    ]
    if not whole:
        return ""
    return f" ({whole[0]['documents']:,}; {whole[0]['labels']:,} labels)"


def measures(rows: list[Row]) -> str:
    """Make a table per stream with all measures of section 6.1."""
    parts = []
    for stream in distinct(row.stream for row in rows):
        lines = []
        for row in rows:
            if row.stream == stream:
                lines.append([_title(row), *_measures(row)])
        parts.append(f"### {stream}\n\n{markdown(['', *MEASURES.values()], lines)}")
    return "\n\n".join(parts)


def _measures(row: Row) -> list[str]:
    if row.failed is not None:
        return [f"failed: {row.failed}", *[NONE] * (len(MEASURES) - 1)]
    return [f1(row.result[name]) for name in MEASURES]


def _title(row: Row) -> str:
    return f"{row.title}, {row.cut}" if row.cut else row.title


def varied(rows: list[Row], name: str) -> str:
    """Make a table per stream: a row per system, a column per value of the varied option."""
    columns = distinct(row.value(name) for row in rows)
    parts = []
    for stream in distinct(row.stream for row in rows):
        mine = [row for row in rows if row.stream == stream]
        found = {(row.system, row.value(name)): row for row in mine}
        lines = [
            [SYSTEMS[system].title, *(_scores(found.get((system, value))) for value in columns)]
            for system in distinct(row.system for row in mine)
        ]
        heads = ["", *("any" if value is None else format_value(name, value) for value in columns)]
        parts.append(f"### {stream}\n\n{markdown(heads, lines)}")
    return "\n\n".join(parts)


def _scores(row: Row | None) -> str:
    if row is None:
        return NONE
    if row.failed is not None:
        return f"failed: {row.failed}"
    return both_f1(row.result) + (f" ({row.cut})" if row.cut else "")


def format_value(name: str, value: Any) -> str:
    """Format a value of the varied option.

    >>> format_value("dimensions", 4096), format_value("fraction", 0.25)
    ('2^12', '0.25')
    """
    if name == "dimensions":
        return power_of_two(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def start(rows: list[Row]) -> str:
    """Make a table per stream: F1 after the first 100, 1,000 and 10,000 documents."""
    parts = []
    for stream in distinct(row.stream for row in rows):
        lines = []
        for row in rows:
            if row.stream == stream and row.failed is None:
                at = {point["documents"]: point for point in row.points}
                cells = [both_f1(at[n]) if "macro_f1" in at.get(n, {}) else NONE for n in EARLY]
                lines.append([row.title, *cells])
        parts.append(f"### {stream}\n\n{markdown(['', *(f'{n:,}' for n in EARLY)], lines)}")
    return "\n\n".join(parts)


def settings(rows: list[Row]) -> str:
    """List the settings of each system."""
    chosen = (SYSTEMS[name] for name in distinct(row.system for row in rows))
    lines = [[system.title, f"`{system.settings}`"] for system in chosen]
    return markdown(["system", "settings"], lines)
