"""``clasher plan``: which dimensions to take.

A plan as tables for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from clasher.cli import terminal
from clasher.cli.format import bytes_, counted, facts, significant, size, to_copy
from clasher.cli.options import Command, option, output_option, quiet_option
from clasher.cli.settings import Wanted, settings_options
from clasher.cli.streams import Stream, stream_options
from clasher.cli.terminal import STANDARD_STREAM, check_outputs, write_json
from clasher.errors import SettingError
from clasher.settings import MEASURES
from clasher.theory.plan import MOST_DIMENSIONS, TOO_SMALL

if TYPE_CHECKING:
    from clasher.settings import Settings
    from clasher.theory.distortion import Sample
    from clasher.theory.plan import Guarantee, Need, Planner, Size


WHAT = {"counts": "frequencies", "idf": "IDF", "decisions": "relative margin"}
OF = {"lengths": "document", "products": "pair", "cosines": "pair"} | {
    "counts": "word", "idf": "word", "decisions": "document"
}  # fmt: skip
WIDEST = 6  # columns of errors that fit into a terminal of 80


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
        parts += [Text(_basis(planner, error)), _title(f"What an error of {error:g} asks for")]
        parts += _with_reasons(_needs(planner, needs), needs)
    holding = [line for line in here.guarantees if line.why is None]
    parts += [
        _title("Sizes"),
        _sizes(sizes, proposed, memory, planner.confidence),
        _title(f"Guaranteed at {proposed:,} dimensions"),
        *_with_reasons(_guarantees(holding), here.guarantees),
        Text(_footnote(planner, holding), style="dim"),
    ]
    return Group(*parts)


def _basis(planner: Planner, error: float) -> str:
    """Say what the proposal rests on."""
    if planner.guaranteed:
        return (
            f"By second moments, the length of a document then changes by {error:g} at most, with "
            f"a probability of {100 * planner.confidence:.0f} %."
        )
    return (
        f"Measured, not guaranteed: the lengths of {100 * planner.confidence:.0f} % of these "
        f"documents change by {error:g} at most."
    )


def _with_reasons(table: Table, lines: Sequence[Guarantee | Need]) -> Iterable[RenderableType]:
    """A table of what holds, if anything does, and the reasons why the rest does not."""
    if table.row_count:
        yield table
    reasons: dict[str, dict[str, list[str]]] = {}
    for line in lines:
        if line.why is not None:
            results = reasons.setdefault(line.why, {}).setdefault(line.what, [])
            results.append(line.by)
    if reasons:
        yield Text("No guarantee" if table.row_count else "\nNo guarantee")
        listed = Table.grid(padding=(0, 1))
        for why, named in reasons.items():
            of = (f"{WHAT.get(what, what)} ({', '.join(by)})" for what, by in named.items())
            listed.add_row(" -", Text.assemble("of ", ", ".join(of), ": ", (why, "bold")))
        yield listed


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
    columns = _columns(sizes, confidence)
    table = _table([], ["dimensions", "memory", *(name for name, _ in columns)])
    for at, planned in enumerate(sizes):
        fits = memory is None or planned.nbytes <= memory
        style = "bold" if planned.dimensions == proposed else None if fits else "dim"
        cells = [significant(values[at]) for _, values in columns]
        table.add_row(f"{planned.dimensions:,}", bytes_(planned.nbytes), *cells, style=style)
    return table


def _columns(sizes: list[Size], confidence: float) -> list[tuple[str, list[float | None]]]:
    """Show what is guaranteed and measured at each size; bounds only where they cover the model."""
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
    if len(columns) < WIDEST and any(count.why is None for count in counts):
        columns.append(("frequencies\nat most", [count.guaranteed for count in counts]))
    return columns


def _guarantees(lines: list[Guarantee]) -> Table:
    table = _table(["error of", "by"], ["holds for", "confidence", "at most", "measured"])
    for line in lines:
        table.add_row(
            WHAT.get(line.what, line.what),
            line.by,
            _share(line),
            f"{100 * line.confidence:.0f} %",
            significant(line.guaranteed),
            "" if line.measured is None else significant(line.measured),
        )
    return table


def _share(line: Guarantee) -> str:
    if line.share is None or line.share == 1.0:
        return f"a {OF[line.what]}"
    return f"{100 * line.share:.1f} % of {OF[line.what]}s"


def _needs(planner: Planner, needs: list[Need]) -> Table:
    table = _table(["error of", "by"], ["confidence", "dimensions", "depth", "memory"])
    for need in needs:
        m = need.dimensions
        if m is not None:
            table.add_row(
                WHAT.get(need.what, need.what),
                need.by,
                f"{100 * need.confidence:.0f} %",
                f"{m:,}" if m < 10**12 else f"{m:.0e}",
                str(need.depth),
                bytes_(planner.nbytes(m)) if 2 <= m <= MOST_DIMENSIONS else "",
            )
    return table


def _footnote(planner: Planner, holding: list[Guarantee]) -> str:
    """Say what the figures are about, where the tables leave it open."""
    notes = []
    settings = planner.settings
    if settings.norm == "l2" and (planner.sample is not None or planner.guaranteed):
        notes.append("Lengths and products are those before documents are scaled to length 1.")
    if any(line.what == "idf" for line in holding):
        notes.append("IDF and TF-IDF: as after the sample; ‖f‖ grows with the stream.")
        if planner.guaranteed:
            notes.append("Second moments: for a document drawn at random from the sample.")
    if any(line.what == "decisions" for line in holding):
        notes.append("Decisions: how many documents have such a margin is not known here.")
    if planner.sample is not None and settings.weighting in MEASURES:
        notes.append(f"Measured without labels, which {settings.weighting} also weighs words by.")
    if planner.sample is None:
        notes.append("Name a STREAM to measure the errors on your own text.")
    return "\n".join(notes)


SAMPLE = 2000

EXAMPLES = """
    clasher plan --labels 2000 --memory 2GB
    clasher plan news.jsonl --labels 2000 --memory 500MB --rule centroid
    clasher plan news.jsonl --labels 100 --dimensions 65536
    clasher plan news.jsonl --labels 100 --error 0.1 --confidence 0.9
"""


def _memory(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    return None if value is None else size(value)


@click.command(
    "plan", cls=Command, examples=EXAMPLES, short_help="Propose dimensions that fit into memory."
)
@option(
    "--labels",
    "label_count",
    type=click.IntRange(min=1),
    required=True,
    metavar="N",
    section="Plan",
    help="How many labels the stream will have.",
)
@option(
    "--memory",
    callback=_memory,
    metavar="SIZE",
    section="Plan",
    help="What the model may take: 500MB, 2GB, 1.5GiB.",
)
@option(
    "--error",
    type=float,
    metavar="X",
    section="Plan",
    help="The error one can live with, in place of --memory: find the size for it.",
)
@option(
    "--confidence",
    type=float,
    default=0.9,
    metavar="P",
    section="Plan",
    help="How sure a guarantee has to be, between 0.7 and 1 (default: 0.9).",
)
@stream_options(labelled=False, sample=SAMPLE)
@settings_options
@output_option(
    "--json",
    "json_path",
    metavar="FILE",
    help="Write the plan as JSON; - writes it to standard output in place of the tables.",
)
@quiet_option
def plan_command(
    stream: Stream,
    wanted: Wanted,
    label_count: int,
    memory: int | None,
    error: float | None,
    confidence: float,
    json_path: str | None,
    quiet: bool,
) -> None:
    """Propose the dimensions of a model.

    They are the largest power of two that fits into --memory with all labels,
    or what an --error asks for, or what --dimensions says. Beside it stand its
    neighbours, what the theorems guarantee for this model and, given a STREAM,
    the distortion measured on its first documents. A theorem whose premises do
    not hold for the model says which one fails. Most models need a STREAM for
    --error: no theorem covers their weights without text.
    """
    check_outputs({"--json": json_path}, stream.paths)
    asked = [memory, error, wanted.given.get("dimensions")]
    if sum(value is not None for value in asked) != 1:
        raise SettingError("plan wants one of --memory SIZE, --error X and --dimensions N")
    settings = _settings(wanted, label_count)
    planner = _planner(settings, confidence, stream, quiet=quiet)
    proposed = settings.dimensions
    if memory is not None:
        proposed = planner.fitting(memory)
    elif error is not None:
        proposed = planner.sufficient(error)
    _tell(planner, proposed, memory, error, stream, json_path)


def _settings(wanted: Wanted, labels: int) -> Settings:
    settings = wanted.settings()
    if labels > wanted.given.get("max_labels", labels):
        raise SettingError(
            f"--labels {labels} are more than --max-labels {settings.max_labels}; leave that out"
        )
    return settings if "max_labels" in wanted.given else replace(settings, max_labels=labels)


def _planner(settings: Settings, confidence: float, stream: Stream, *, quiet: bool) -> Planner:
    from clasher.theory.plan import Planner

    planner = Planner(settings, confidence)  # finds fault before the stream is read
    if not stream.paths:
        return planner
    with terminal.compiling(quiet=quiet):
        return replace(planner, sample=_sample(settings, stream))


def _sample(settings: Settings, stream: Stream) -> Sample:
    from clasher.theory.distortion import Sample

    with stream.opened(labelled=False) as batches:
        texts = list(chain.from_iterable(batch.texts.to_pylist() for batch in batches))
    return Sample.of(texts, settings)


def _tell(
    planner: Planner,
    proposed: int,
    memory: int | None,
    error: float | None,
    stream: Stream,
    json_path: str | None,
) -> None:
    from clasher.cli.format import show

    sizes = planner.sizes(proposed)
    needs = [] if error is None else planner.needs(error)
    if json_path is not None:
        write_json(json_path, _as_dict(planner, proposed, sizes, needs))
    if json_path != STANDARD_STREAM:
        name = stream.name if stream.paths else None
        show(plan_view(planner, proposed, sizes, needs, memory=memory, error=error, stream=name))


def _as_dict(planner: Planner, proposed: int, sizes: Any, needs: Any) -> dict[str, Any]:
    from dataclasses import asdict

    sample = planner.sample
    return {
        "dimensions": proposed,
        "nbytes": planner.nbytes(proposed),
        "labels": planner.settings.max_labels,
        "confidence": planner.confidence,
        "settings": planner.settings.to_dict() | {"dimensions": proposed},
        "sample": None if sample is None else sample.to_dict(),
        "sizes": [size.to_dict() for size in sizes],
        "needs": [asdict(need) for need in needs],
    }
