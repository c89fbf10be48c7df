"""Make Markdown tables of results: medians over repeats, failures with their reasons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median, stdev
from typing import Any, TypeVar

from benchmarks.peers import SYSTEMS, TABLE

BASE = "vw-hinge"
END_TO_END = "-end-to-end"
NONE = "–"

T = TypeVar("T")


@dataclass(frozen=True)
class Cell:
    """All runs of one system on one stream."""

    runs: tuple[dict[str, Any], ...]

    @property
    def failed(self) -> str | None:
        """The reason why a run failed, or None."""
        return next((run["failed"] for run in self.runs if "failed" in run), None)

    def __getitem__(self, figure: str) -> float:
        return float(median(run[figure] for run in self.runs))

    def tenths(self, figure: Callable[[dict[str, float]], float]) -> list[float]:
        """Return the median of a figure for each tenth of the stream."""
        columns = zip(*(_steps(run["points"]) for run in self.runs), strict=True)
        return [median(map(figure, column)) for column in columns]

    @property
    def scores(self) -> str:
        """Macro and micro F1."""
        return both_f1({name: self[name] for name in ("macro_f1", "micro_f1")})


CUMULATIVE = ("documents", "seconds", "text_bytes")


def _steps(points: list[dict[str, float]]) -> list[dict[str, float]]:
    """Turn cumulative figures into figures between two points."""
    nothing = dict.fromkeys(CUMULATIVE, 0.0)
    return [
        point | {name: point[name] - before[name] for name in CUMULATIVE}
        for before, point in pairwise([nothing, *points])
    ]


def cells(runs: Iterable[dict[str, Any]]) -> dict[tuple[Any, ...], Cell]:
    """Group runs by corpus, system, limit and options, in order of appearance."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for run in runs:
        key = run["corpus"], run["system"], run["limit"], json.dumps(run["options"])
        groups.setdefault(key, []).append(run)
    return {key: Cell(tuple(group)) for key, group in groups.items()}


def overview(study: dict[str, Any]) -> str:
    """Make a row per system, a column per corpus."""
    found = cells(study["runs"])
    corpora = distinct(corpus for corpus, *_ in found)
    heads = [_corpus_head(corpus, found) for corpus in corpora]
    rows = []
    for system in _systems(found):
        row = [of_system(found, corpus, system) for corpus in corpora]
        rows.append([SYSTEMS[system].title, *map(_overview_cell, row)])
    return markdown(["", *heads], rows) + "\n\n" + provenance(study)


def _corpus_head(corpus: str, found: dict[tuple[Any, ...], Cell]) -> str:
    whole = [
        cell
        for (name, _, limit, _), cell in found.items()
        if name == corpus and limit is None and not cell.failed
    ]
    if not whole:
        return corpus
    return f"{corpus} ({whole[0]['documents']:,.0f}; {whole[0]['labels']:,.0f} labels)"


def _overview_cell(cell: Cell | None) -> str:
    if cell is None:
        return NONE
    if cell.failed:
        return "failed"
    limit = cell.runs[0]["limit"]
    part = f" (first {limit:,})" if limit else ""
    return f"{cell.scores}, {thousands(cell['documents_per_second'])}{part}"


def table(study: dict[str, Any]) -> str:
    """Make a table per corpus: F1, speed, speed ratio and memory of every system."""
    found = cells(study["runs"])
    parts = []
    for corpus in distinct(corpus for corpus, *_ in found):
        order = next(cell.runs[0]["order"] for key, cell in found.items() if key[0] == corpus)
        rows = [
            _table_row(system, cell, found)
            for system in _systems(found)
            if (cell := of_system(found, corpus, system))
        ]
        heads = ["system", "macro F1", "micro F1", "documents/s", "× VW hinge",
                 "end to end, documents/s", "memory added"]  # fmt: skip
        title = f"### {_corpus_head(corpus, found)}, {order}"
        parts.append(f"{title}\n\n{markdown(heads, rows)}")
    return "\n\n".join([*parts, provenance(study)])


def _table_row(system: str, cell: Cell, found: dict[tuple[Any, ...], Cell]) -> list[str]:
    run = cell.runs[0]
    part = f", first {run['limit']:,}" if run["limit"] else ""
    title = SYSTEMS[system].title + part
    if cell.failed:
        return [title, f"failed: {cell.failed}", *[NONE] * 5]
    speed = cell["documents_per_second"]
    base = of_system(found, run["corpus"], BASE)
    ratio = NONE
    if base and not base.failed:
        ratio = f"{speed / base['documents_per_second']:.2f}"
    return [
        title,
        f1(cell["macro_f1"]),
        f1(cell["micro_f1"]),
        f"{speed:,.0f}",
        ratio,
        _end_to_end(of_system(found, run["corpus"], system + END_TO_END), speed),
        megabytes(cell["added_memory_bytes"]),
    ]


def _end_to_end(cell: Cell | None, bare: float) -> str:
    if cell is None:
        return NONE
    if cell.failed:
        return f"failed: {cell.failed}"
    speed = cell["documents_per_second"]
    return f"{speed:,.0f} ({speed / bare:.0%})"


def prefix(study: dict[str, Any]) -> str:
    """Compare slow peers with the default rule on the same documents."""
    found = cells(study["runs"])
    rows = []
    for (corpus, system, limit, options), cell in found.items():
        ours = found.get((corpus, "clasher-margin", limit, options))
        if limit is None or ours is None or ours is cell:
            continue
        both = [ours, cell]
        scores = ["failed" if c.failed else c.scores for c in both]
        speeds = [NONE if c.failed else f"{c['documents_per_second']:,.0f}" for c in both]
        names = [corpus, f"{limit:,}", SYSTEMS[system].title]
        rows.append([*names, *reversed(scores), *reversed(speeds)])
    if not rows:
        return "Every system ran on whole streams."
    heads = ["corpus", "first documents", "system", "F1 (macro / micro)", "F1 of clasher margin",
             "documents/s", "documents/s of clasher margin"]  # fmt: skip
    return markdown(heads, rows)


def settings() -> str:
    """List the settings of each system."""
    rows = [
        [system.title, f"`{system.settings}`", f"first {system.limit:,}" if system.limit else "all"]
        for system in (SYSTEMS[name] for name in TABLE)
        if not system.name.endswith(END_TO_END)
    ]
    return markdown(["system", "settings", "documents"], rows)


def flat(study: dict[str, Any]) -> str:
    """Show time and memory by tenth of the stream, and how the last differs from the second."""
    found = cells(study["runs"])
    failures = [[_stream(c), _title(c), f"failed: {c.failed}"] for c in found.values() if c.failed]
    fine = [cell for cell in found.values() if not cell.failed]
    rows = []
    for cell in fine:
        cost, memory = cell.tenths(_microseconds), cell.tenths(lambda t: t["memory_bytes"])
        per_byte = cell.tenths(lambda t: t["seconds"] / max(1, t["text_bytes"]))
        change = [f"{series[9] / series[1] - 1:+.1%}" for series in (cost, per_byte, memory)]
        rows.append([_stream(cell), _title(cell), *change])
    heads = ["stream", "system", "time per document", "time per byte of text", "process memory"]
    parts = ["Change from the second tenth of the stream to the last:", markdown(heads, rows)]
    for cell in fine:
        if cell.runs[0]["system"] == "clasher-margin":
            parts += [f"{_title(cell)}, {_stream(cell)}, by tenth of the stream:", _by_tenth(cell)]
    if failures:
        parts.append(markdown(["stream", "system", "reason"], failures))
    return "\n\n".join([*parts, provenance(study)])


def _by_tenth(cell: Cell) -> str:
    figures: dict[str, list[str]] = {
        "µs per document": [f"{value:.1f}" for value in cell.tenths(_microseconds)],
        "bytes of text per document": [
            f"{value:,.0f}" for value in cell.tenths(lambda t: t["text_bytes"] / t["documents"])
        ],
        "known labels": [f"{value:,.0f}" for value in cell.tenths(lambda t: t["labels"])],
        "process memory": [megabytes(v) for v in cell.tenths(lambda t: t["memory_bytes"])],
    }
    heads = ["", *(f"{10 * tenth} %" for tenth in range(1, 11))]
    return markdown(heads, [[name, *values] for name, values in figures.items()])


def _microseconds(tenth: dict[str, float]) -> float:
    return 1e6 * tenth["seconds"] / tenth["documents"]


def scaling(study: dict[str, Any]) -> str:
    """Show speed, state and F1 by number of labels and by number of dimensions."""
    rows = []
    for (corpus, system, _, options), cell in cells(study["runs"]).items():
        dimensions = power_of_two(json.loads(options)["dimensions"])
        names = [corpus, SYSTEMS[system].title, dimensions]
        if cell.failed:
            rows.append([*names, f"failed: {cell.failed}", *[NONE] * 4])
            continue
        cost = 1e6 / cell["documents_per_second"]
        rows.append(
            [
                *names,
                f"{cell['labels']:,.0f}",
                f"{cell['documents_per_second']:,.0f}",
                f"{1000 * cost / cell['labels']:.0f}",
                megabytes(cell["state_bytes"]),
                cell.scores,
            ]
        )
    heads = ["stream", "system", "dimensions", "labels", "documents/s",
             "ns per document and label", "state", "macro / micro F1"]  # fmt: skip
    return markdown(heads, rows) + "\n\n" + provenance(study)


def provenance(study: dict[str, Any]) -> str:
    """Name the command, the machine and the versions."""
    machine, repeats, seeds = study["machine"], study["repeats"], study.get("seeds", 1)
    runs = f"medians of {repeats} runs" if repeats > 1 else "single runs"
    drawn = f"seeds 0 to {seeds - 1}" if seeds > 1 else f"seed {study['seed']}, {runs}"
    known = ", ".join(f"{name} {version}" for name, version in study["versions"].items())
    return (
        f"`{study['command']}`, {study['date']}, {drawn}; {machine['cpu']}, "
        f"{machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GB, "
        f"{machine['system']}, Python {machine['python']}, "
        f"load before the run {machine['load_before']}; {known}."
    )


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Make a Markdown table.

    >>> print(markdown(["a", "b"], [["1", "x|y"]]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    escaped = ([cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    written = [f"| {' | '.join(line)} |" for line in escaped]
    written[1] = written[1].replace(" ", "")
    return "\n".join(written)


def both_f1(scores: Mapping[str, Any]) -> str:
    """Format macro F1 / micro F1."""
    return f"{f1(scores['macro_f1'])} / {f1(scores['micro_f1'])}"


def f1_spread(runs: Sequence[Mapping[str, Any]]) -> str:
    """Format macro F1 / micro F1 of several runs, each as mean ± standard deviation."""
    values = ([run[name] for run in runs] for name in ("macro_f1", "micro_f1"))
    return " / ".join(f"{f1(mean(each))} ± {f1(stdev(each))}" for each in values)


def f1_change(runs: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> str:
    """Format the mean change of macro F1 / micro F1 from others to runs: +.012 / -.003."""
    changes = (
        mean(run[name] - other[name] for run, other in zip(runs, others, strict=True))
        for name in ("macro_f1", "micro_f1")
    )
    return " / ".join(f"{change:+.3f}".replace("0.", ".") for change in changes)


def f1(value: float) -> str:
    """Format an F1 score: .526."""
    return f"{value:.3f}".removeprefix("0")


def thousands(value: float) -> str:
    """Format a speed, in thousands if it is large.

    >>> thousands(30_120), thousands(3_012), thousands(301.2)
    ('30 k', '3.0 k', '301')
    """
    if value < 999.5:
        return f"{value:.0f}"
    return f"{value / 1000:.0f} k" if value >= 9950 else f"{value / 1000:.1f} k"


def megabytes(value: float) -> str:
    return f"{value / 1e6:,.0f} MB"


def power_of_two(value: int) -> str:
    """Format a power of two: 2^12."""
    return f"2^{value.bit_length() - 1}"


def _title(cell: Cell) -> str:
    return SYSTEMS[cell.runs[0]["system"]].title


def _stream(cell: Cell) -> str:
    run = cell.runs[0]
    return f"{run['corpus'].removesuffix('-shuffled')}, {run['order']}"


def _systems(found: dict[tuple[Any, ...], Cell]) -> list[str]:
    run = {system for _, system, *_ in found}
    return [name for name in SYSTEMS if name in run and not name.endswith(END_TO_END)]


def of_system(found: dict[tuple[Any, ...], Cell], corpus: str, system: str) -> Cell | None:
    """Return the longest run of a system on a corpus."""
    mine = [(key[2], cell) for key, cell in found.items() if key[:2] == (corpus, system)]
    return max(mine, key=lambda pair: pair[0] or float("inf"))[1] if mine else None


def distinct(values: Iterable[T]) -> list[T]:
    """Return each value once, in order of appearance."""
    return list(dict.fromkeys(values))
