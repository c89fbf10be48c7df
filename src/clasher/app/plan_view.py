"""A plan as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clasher.app.figures import bytes_, counted, significant
from clasher.app.tables import facts, to_copy
from clasher.planning import MOST_DIMENSIONS

if TYPE_CHECKING:
    from clasher.planning import Guarantee, Need, Planner, Size

WHAT = {"counts": "frequencies", "idf": "IDF", "decisions": "relative margin"}


def plan_view(
    planner: Planner,
    proposed: int,
    sizes: list[Size],
    needs: list[Need],
    *,
    memory: int | None,
    error: float | None,
    stream: str | None,
) -> Group:
    """The proposal, its neighbours, and what is guaranteed and measured there."""
    here = next(size for size in sizes if size.dimensions == proposed)
    labels = planner.settings.max_labels
    parts: list[RenderableType] = [
        Text.assemble(
            (f"{proposed:,} dimensions", "bold"),
            f" for {counted(labels, 'label')}: the {planner.settings.rule} rule takes "
            f"{bytes_(here.nbytes)}",
        ),
        to_copy(f"as options: --dimensions {proposed} --max-labels {labels}"),
        facts(_about(planner, stream)),
    ]
    if error is not None:
        parts += [_title(f"What an error of {error:g} asks for"), _needs(planner, needs)]
    parts += [
        _title("Sizes"),
        _sizes(sizes, proposed, memory, planner.confidence),
        _title(f"The theorems at {proposed:,} dimensions"),
        _guarantees(here.guarantees),
        Text(_footnote(planner), style="dim"),
    ]
    return Group(*parts)


def _about(planner: Planner, stream: str | None) -> Iterable[tuple[str, str]]:
    sample = planner.sample
    if sample is not None:
        words = len(sample.frequencies)
        yield (
            "measured on",
            (
                f"{stream}, {counted(sample.documents, 'document')}, {words:,} different words, "
                f"{sample.total / sample.documents:,.0f} per document"
            ),
        )


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _table(left: Iterable[str], right: Iterable[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", padding=(0, 0, 0, 1))
    for name in left:
        table.add_column(name, no_wrap=True)
    for name in right:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _sizes(sizes: list[Size], proposed: int, memory: int | None, confidence: float) -> Table:
    measured = sizes[0].distortion is not None
    names = ["lengths\nat most", "expected"]
    if measured:
        names += ["measured", "products\nat most", "measured", "cosines\nmeasured"]
    else:
        names += ["frequencies\nat most", "relative\nmargin"]
    table = _table([], ["dimensions", "memory", *names])
    for size in sizes:
        fits = memory is None or size.nbytes <= memory
        style = "bold" if size.dimensions == proposed else None if fits else "dim"
        row = [f"{size.dimensions:,}", bytes_(size.nbytes), *_cells(size, confidence)]
        table.add_row(*row, style=style)
    return table


def _cells(size: Size, confidence: float) -> list[str]:
    given = {(line.what, line.by): line.guaranteed for line in size.guarantees}
    cells: list[float | None] = [given["lengths", "second moments"], size.expected["lengths"]]
    if size.distortion is None:
        cells += [given["counts", "Theorem 2"], given["decisions", "Lemma 2"]]
    else:
        found = size.distortion
        cells += [
            found.lengths.quantile(confidence),
            given["products", "second moments"],
            found.products.quantile(confidence),
            found.cosines.quantile(confidence),
        ]
    return [significant(cell) for cell in cells]


def _guarantees(lines: list[Guarantee]) -> Table:
    table = _table(["error of", "by"], ["confidence", "at most", "measured"])
    for line in lines:
        table.add_row(
            WHAT.get(line.what, line.what),
            line.by,
            f"{100 * line.confidence:.0f} %",
            "no guarantee" if line.guaranteed is None else significant(line.guaranteed),
            "" if line.measured is None else significant(line.measured),
        )
    return table


def _needs(planner: Planner, needs: list[Need]) -> Table:
    table = _table(["error of", "by"], ["confidence", "dimensions", "depth", "memory"])
    for need in needs:
        m = need.dimensions
        possible = m is not None and 2 <= m <= MOST_DIMENSIONS
        table.add_row(
            WHAT.get(need.what, need.what),
            need.by,
            f"{100 * need.confidence:.0f} %",
            "no guarantee" if m is None else f"{m:,}" if m < 10**12 else f"{m:.0e}",
            str(need.depth),
            bytes_(planner.nbytes(m)) if possible and m is not None else "",
        )
    return table


def _footnote(planner: Planner) -> str:
    if planner.sample is None:
        return "Theorem 1, Eq. 8 and Lemma 2 hold if no word stands out in a document (Eq. 6)."
    weight = planner.sample.largest_weights.min(initial=1.0)
    return (
        "Theorem 1, Eq. 8 and Lemma 2 ask that no word stand out in a document (Eq. 6); in every "
        f"document here one carries {significant(weight)} of the length or more."
    )
