"""Draw pictures from the results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clasher.errors import MissingExtraError

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture
except ModuleNotFoundError:
    raise MissingExtraError.of("A picture", "experiments") from None

from benchmarks.tables import distinct
from experiments.config import Figure
from experiments.rows import Row

STYLE = {
    "svg.hashsalt": "clasher",  # makes the files reproducible
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
}
AXES = {
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "macro_f1_over_all": "macro F1 (all labels)",
    "microseconds": "µs per document",
    "documents_per_second": "documents per second",
    "documents": "documents",
    "dimensions": "dimensions m",
    "fraction": "share of labelled documents",
    "labels": "labels",
    "correlation": "correlation ρ",
    "agreement": "unchanged decisions",
}
LOGARITHMIC = {"microseconds", "documents_per_second", "dimensions", "fraction", "labels"}
COLOURS = {
    "clasher-margin": "#d62728",
    "clasher-centroid": "#ff9896",
    "clasher-mistake": "#e377c2",
    "clasher-paper-1": "#ff7f0e",
    "clasher-paper-2": "#bcbd22",
    "clasher-perceptron": "#8c564b",
    "clasher-paper-perceptron": "#c49c94",
    "knn": "#7f7f7f",
    "knn-log": "#c7c7c7",
    "svm-first": "#aec7e8",
    "svm-full": "#1f77b4",
    "svm-full-tuned": "#08306b",
    "svm-retrained": "#1f77b4",
    "svm-retrained-tuned": "#08306b",
    "vw-hinge": "#2ca02c",
    "vw-hinge-rate-2": "#98df8a",
    "vw-logistic": "#006d2c",
    "vw-logistic-rate-2": "#74c476",
    "fasttext": "#9467bd",
    "minilm": "#17becf",
    "scikit-learn": "#393b79",
    "river-8": "#843c39",
    "river-32": "#ad494a",
    "river-chain": "#d6616b",
    "ht-ml": "#9edae5",
    "ht-ps": "#c5b0d5",
    "ea-ht-ml": "#17becf",
    "ea-ht-ps": "#9467bd",
    "ht-ps-mnb": "#e7ba52",
    "ea-ht-ps-mnb": "#8c6d31",
}
"""The colour of each system, the same in all pictures."""


def colour(system: str) -> str:
    """Return the colour of a system; an unhashed one shares that of its hashed twin."""
    return COLOURS.get(system.replace("exact-", "clasher-"), "#444444")


def draw(figure: Figure, rows: list[Row], asymptotes: Iterable[str]) -> Picture:
    """Draw a picture of an experiment."""
    fine = [
        row
        for row in rows
        if row.failed is None and (not figure.systems or row.system in figure.systems)
    ]
    if not fine:
        return nothing()
    if figure.draw == "curves":
        return curves(fine, figure.panels)
    if figure.draw == "lines":
        return lines(fine, figure.panels, figure.x, set(asymptotes))
    return front(fine, figure.panels)


def nothing() -> Picture:
    """Draw a placeholder if every system failed."""
    picture, grid = canvas(1, 1)
    grid[0, 0].text(0.5, 0.5, "every system failed", ha="center", va="center")
    grid[0, 0].set_axis_off()
    return picture


def curves(rows: list[Row], panels: list[str]) -> Picture:
    """Draw curves along the stream, a row of panels for each stream."""
    streams = distinct(row.stream for row in rows)
    picture, grid = canvas(len(streams), len(panels))
    for stream, line in zip(streams, grid, strict=True):
        for measure, axes in zip(panels, line, strict=True):
            for row in (row for row in rows if row.stream == stream):
                points = [point for point in row.points if measure in point]
                x = [point["documents"] for point in points]
                axes.plot(x, [point[measure] for point in points], **look(row))
            label_axes(axes, "documents", measure)
        line[0].set_title(stream, loc="left")
    return add_legend(picture, grid)


def lines(rows: list[Row], panels: list[str], x: str, asymptotes: set[str]) -> Picture:
    """Draw lines against the varied option; systems without that option are level and dashed."""
    streams = distinct(row.stream for row in rows)
    picture, grid = canvas(len(streams), len(panels))
    for stream, line in zip(streams, grid, strict=True):
        mine = [row for row in rows if row.stream == stream]
        for measure, axes in zip(panels, line, strict=True):
            for system in distinct(row.system for row in mine):
                own = [row for row in mine if row.system == system]
                if system in asymptotes:
                    how = look(own[0]) | {"linestyle": "--", "linewidth": 1.0}
                    axes.axhline(own[0].result[measure], **how)
                    continue
                ordered = sorted(own, key=lambda row: x_value(row, x))
                values = [row.result[measure] for row in ordered]
                axes.plot([x_value(row, x) for row in ordered], values, marker=".", **look(own[0]))
            label_axes(axes, x, measure)
        line[0].set_title(stream, loc="left")
    return add_legend(picture, grid)


def x_value(row: Row, x: str) -> float:
    """Return the x value of a run: the varied option, or a figure of the result."""
    value = row.value(x)
    return float(row.result[x] if value is None else value)


def front(rows: list[Row], panels: list[str]) -> Picture:
    """Draw F1 against speed: up and to the right is better.

    Hollow marks are systems that ran on the first part of the stream only. A line leads from each
    to the score of the first system after the same number of documents.
    """
    streams = distinct(row.stream for row in rows)
    picture, grid = canvas(len(panels), len(streams), width=4.6, height=3.4)
    for measure, line in zip(panels, grid, strict=True):
        for stream, axes in zip(streams, line, strict=True):
            mine = [row for row in rows if row.stream == stream]
            for row in mine:
                x, y = row.speed, row.result[measure]
                if row.cut and (there := mine[0].after(row.result["documents"])):
                    pole = {"color": colour(mine[0].system), "linewidth": 0.7, "zorder": 0}
                    axes.plot([x] * 2, [y, there[measure]], **pole)
                    axes.plot(x, there[measure], marker="_", **pole)
                whole = {"facecolor": colour(row.system)} if not row.cut else {"facecolor": "none"}
                about = look(row)
                axes.scatter(x, y, s=42, edgecolor=about["color"], label=about["label"], **whole)
            label_axes(axes, "documents_per_second", measure)
            axes.set_title(stream, loc="left")
    return add_legend(picture, grid)


def look(row: Row) -> dict[str, Any]:
    """Return the colour and name of a system."""
    dashed = {"linestyle": ":"} if row.system.startswith("exact-") else {}
    return {"color": colour(row.system), "label": row.title} | dashed


# ── common to all pictures ──────────────────────────────────────────────────────────────────────


def canvas(rows: int, columns: int, width: float = 3.6, height: float = 2.7) -> tuple[Picture, Any]:
    """Make empty panels."""
    with mpl.rc_context(STYLE):
        picture = Picture(figsize=(width * columns, height * rows), layout="constrained")
        grid = picture.subplots(rows, columns, squeeze=False)
    return picture, grid


def label_axes(axes: Axes, x: str, y: str) -> None:
    """Set the titles and scales of both axes."""
    axes.set_xlabel(AXES.get(x, x))
    axes.set_ylabel(AXES.get(y, y))
    if x in LOGARITHMIC:
        axes.set_xscale("log", base=2 if x in ("dimensions", "fraction") else 10)
    if y in LOGARITHMIC:
        axes.set_yscale("log")


def add_legend(picture: Picture, grid: Any) -> Picture:
    """Add one legend below all panels, and return the picture."""
    names: dict[str, Any] = {}
    for axes in grid.flat:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            names.setdefault(name, handle)
    inches = 0.7 + 0.075 * max(map(len, names), default=0)  # width of an entry
    columns = max(1, int(picture.get_figwidth() / inches))
    with mpl.rc_context(STYLE):
        picture.legend(names.values(), names.keys(), loc="outside lower center", ncols=columns)
    return picture


def save(picture: Picture, path: Path) -> None:
    """Write a picture; the same figures give the same bytes."""
    with mpl.rc_context(STYLE):
        about = {"Date": None} if path.suffix == ".svg" else {}
        picture.savefig(path, metadata=about, dpi=140)
