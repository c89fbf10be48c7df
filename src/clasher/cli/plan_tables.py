"""The tables of ``clasher plan``: a proposal, its neighbours, guarantees and measured errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clasher.cli.format import bytes_, counted, significant
from clasher.cli.tables import facts, table, unwrapped
from clasher.settings import MEASURES
from clasher.theory.plan import MOST_DIMENSIONS, TOO_SMALL

if TYPE_CHECKING:
    from clasher.theory.plan import Guarantee, Need, Planner, Size

WHAT = {"counts": "frequencies", "idf": "IDF", "decisions": "relative margin"}
OF = {"lengths": "document", "products": "pair", "cosines": "pair"} | {
    "counts": "word", "idf": "word", "decisions": "document"
}  # fmt: skip
MOST_COLUMNS = 6  # of errors that fit into a terminal of 80 columns


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
    """Show the proposed size, its neighbours, and the guaranteed and measured errors."""
    here = next(size for size in sizes if size.dimensions == proposed)
    labels = planner.settings.max_labels
    parts: list[RenderableType] = [
        Text.assemble(
            (f"{proposed:,} dimensions", "bold"),
            f" for {counted(labels, 'label')}: the {planner.settings.rule} rule takes "
            f"{bytes_(here.nbytes)}",
        ),
        unwrapped(f"as options: --dimensions {proposed} --max-labels {labels}"),
    ]
    if (sample := planner.sample) is not None:
        words = len(sample.frequencies)
        documents = counted(sample.documents, "document")
        mean = f"{sample.total / sample.documents:,.0f} per document"
        measured = f"{stream}, {documents}, {words:,} distinct words, {mean}"
        parts.append(facts([("measured on", measured)]))
    if error is not None:
        parts += [Text(_basis(planner, error)), Text(f"\nSizes for an error of {error:g}", "bold")]
        parts += _with_reasons(_needs(planner, needs), needs)
    holding = [line for line in here.guarantees if line.why is None]
    parts += [
        Text("\nSizes", "bold"),
        _sizes(sizes, proposed, memory, planner.confidence),
        Text(f"\nGuaranteed at {proposed:,} dimensions", "bold"),
        *_with_reasons(_guarantees(holding), here.guarantees),
        Text(_footnote(planner, holding), style="dim"),
    ]
    return Group(*parts)


def _basis(planner: Planner, error: float) -> str:
    if planner.guaranteed:
        return (
            f"By second moments, the length of a document changes by at most {error:g} with "
            f"probability {100 * planner.confidence:.0f} %."
        )
    return (
        f"Measured, not guaranteed: the lengths of {100 * planner.confidence:.0f} % of these "
        f"documents change by at most {error:g}."
    )


def _with_reasons(holding: Table, lines: Sequence[Guarantee | Need]) -> Iterable[RenderableType]:
    """Yield a table of guarantees, if there are any, and the reasons why others fail."""
    if holding.row_count:
        yield holding
    reasons: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        if line.why is not None:
            reasons.setdefault(line.why, {}).setdefault(line.what, []).append(line.by)
    if reasons:
        yield Text("No guarantee" if holding.row_count else "\nNo guarantee")
        listed = Table.grid(padding=(0, 1))
        for why, named in reasons.items():
            of = (f"{WHAT.get(what, what)} ({', '.join(by)})" for what, by in named.items())
            listed.add_row(" -", Text.assemble("of ", ", ".join(of), ": ", (why, "bold")))
        yield listed


def _table(left: Sequence[str], right: Sequence[str]) -> Table:
    return table(*left, *right, right=right, padding=(0, 0, 0, 1))


def _sizes(sizes: list[Size], proposed: int, memory: int | None, confidence: float) -> Table:
    columns = _columns(sizes, confidence)
    made = _table([], ["dimensions", "memory", *(name for name, _ in columns)])
    for at, planned in enumerate(sizes):
        fits = memory is None or planned.nbytes <= memory
        style = "bold" if planned.dimensions == proposed else None if fits else "dim"
        cells = [significant(values[at]) for _, values in columns]
        made.add_row(f"{planned.dimensions:,}", bytes_(planned.nbytes), *cells, style=style)
    return made


def _columns(sizes: list[Size], confidence: float) -> list[tuple[str, list[float | None]]]:
    """Return the errors at each size, with bounds where they cover the model."""
    lines = [{(line.what, line.by): line for line in size.guarantees} for size in sizes]
    columns: list[tuple[str, list[float | None]]] = []
    for what in ("lengths", "products", "cosines"):
        bounds = [found[what, "second moments"] for found in lines]
        covered = any(bound.why in (None, TOO_SMALL) for bound in bounds)
        if covered:
            columns.append((f"{what}\nat most", [bound.guaranteed for bound in bounds]))
        if sizes[0].distortion is not None:
            errors = [getattr(size.distortion, what).quantile(confidence) for size in sizes]
            columns.append(("measured" if covered else f"{what}\nmeasured", errors))
    counts = [found["counts", "Theorem 2"] for found in lines]
    if len(columns) < MOST_COLUMNS and any(count.why is None for count in counts):
        columns.append(("frequencies\nat most", [count.guaranteed for count in counts]))
    return columns


def _guarantees(lines: list[Guarantee]) -> Table:
    made = _table(["error of", "by"], ["holds for", "confidence", "at most", "measured"])
    for line in lines:
        share = f"a {OF[line.what]}"
        if line.share is not None and line.share != 1.0:
            share = f"{100 * line.share:.1f} % of {OF[line.what]}s"
        made.add_row(
            WHAT.get(line.what, line.what),
            line.by,
            share,
            f"{100 * line.confidence:.0f} %",
            significant(line.guaranteed),
            "" if line.measured is None else significant(line.measured),
        )
    return made


def _needs(planner: Planner, needs: list[Need]) -> Table:
    made = _table(["error of", "by"], ["confidence", "dimensions", "depth", "memory"])
    for need in needs:
        m = need.dimensions
        if m is not None:
            made.add_row(
                WHAT.get(need.what, need.what),
                need.by,
                f"{100 * need.confidence:.0f} %",
                f"{m:,}" if m < 10**12 else f"{m:.0e}",
                str(need.depth),
                bytes_(planner.nbytes(m)) if 2 <= m <= MOST_DIMENSIONS else "",
            )
    return made


def _footnote(planner: Planner, holding: list[Guarantee]) -> str:
    notes = []
    settings = planner.settings
    if settings.norm == "l2" and (planner.sample is not None or planner.guaranteed):
        notes.append("Lengths and products: before documents are scaled to length 1.")
    if any(line.what == "idf" for line in holding):
        notes.append("IDF and TF-IDF: after the sample; ‖f‖ grows with the stream.")
        if planner.guaranteed:
            notes.append("Second moments: for a random document of the sample.")
    if any(line.what == "decisions" for line in holding):
        notes.append("Decisions: the number of documents with such a margin is unknown.")
    if planner.sample is not None and settings.weighting in MEASURES:
        notes.append(f"Measured without labels, which {settings.weighting} also uses.")
    if planner.sample is None:
        notes.append("Name a STREAM to measure the errors on your own text.")
    return "\n".join(notes)
