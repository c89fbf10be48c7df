"""Results as tables for a terminal, at most 80 columns wide.

Imported only when something is shown: rich takes long to import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from clasher.cli.format import bytes_, counted, decimals, printable, significant, sparkline
from clasher.cli.terminal import STANDARD_STREAM, write_json
from clasher.learning.explain import Explanation, WordWeight

if TYPE_CHECKING:
    from clasher.datasets import Dataset
    from clasher.evaluate import Evaluation
    from clasher.learning.drift import Alarm
    from clasher.metrics import Figures, RankedFigures
    from clasher.theory.plan import Guarantee, Need, Planner, Size

WIDTH = 80
BAR = 20  # columns of the longest bar of an explanation
EXAMPLE = 96  # characters of an example document
NARROW = (0, 0, 0, 1)  # the padding of a table with many columns


def show(*parts: RenderableType) -> None:
    """Print to standard output."""
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    console.print(*parts, sep="\n", crop=False)


def write_or_show(
    json_path: str | None, value: Callable[[], Mapping[str, Any]], *parts: RenderableType
) -> None:
    """Write JSON if asked for, and show the tables unless JSON takes standard output."""
    if json_path is not None:
        write_json(json_path, value())
    if json_path != STANDARD_STREAM:
        show(*parts)


def table(
    *columns: str, right: Sequence[str] = (), fold: Sequence[str] = (), **style: Any
) -> Table:
    """Make a table; the columns in ``right`` are aligned to the right, those in ``fold`` wrap."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", **style)
    for name in columns:
        justify: Any = "right" if name in right else "left"
        wrap: Any = {"overflow": "fold"} if name in fold else {"no_wrap": True}
        made.add_column(Text(name), justify=justify, **wrap)
    return made


def grid(
    rows: Iterable[Iterable[RenderableType]], *, style: str = "", right: bool = False
) -> Table:
    """Make rows without lines; the second column wraps, the first has a style of its own."""
    made = Table.grid(padding=(0, 2))
    made.add_column(style=style, justify="right" if right else "left", no_wrap=True)
    made.add_column(overflow="fold")
    for row in rows:
        made.add_row(*row)
    return made


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Make a grid of names and values."""
    return grid(((name, safe(value)) for name, value in rows), style="dim")


def safe(text: str, style: str = "") -> Text:
    """Return text of a stream without control characters and markup."""
    return Text(printable(text), style=style)


def evaluation_view(result: Evaluation, stream: str) -> Group:
    """Show the figures of an evaluation and their curves."""
    labelled = "" if result.judged == result.documents else f", {result.judged:,} with labels"
    if result.label_probability < 1:
        p = result.label_probability
        labelled += f"; the model saw the labels of {result.taught:,} (p = {p:g})"
    memory = f"model {bytes_(result.state_bytes)}, process {bytes_(result.memory_bytes)}"
    rows = [
        ("documents", f"{result.documents:,}{labelled}"),
        ("labels", f"{result.labels:,}; macro is the mean over all of them"),
        ("subset accuracy", decimals(result.subset_accuracy)),
        ("Hamming loss", f"{result.hamming_loss:.4f}"),
        ("speed", f"{result.documents_per_second:,.0f} documents/s"),
        ("memory", memory),
    ]
    title = safe(f"{stream}, {result.settings['rule']} rule, test then train", "bold")
    alarms = [alarms_view(result.alarms)] if result.alarms else []
    ranked = [] if result.ranked is None else [_ranked(result.ranked)]
    return Group(title, _measures(result), *ranked, facts(rows), *alarms)


def _measures(result: Evaluation) -> Table:
    numbers = ("F1", "precision", "recall")
    made = table("", *numbers, "F1 over the stream", right=numbers)

    curve, last = result.curve, result.window * result.every
    rows: list[tuple[str, Figures, list[Figures]]] = [("", result, [p.cumulative for p in curve])]
    if curve and last < result.documents:
        rows.append((f"last {last:,} ", curve[-1].window, [point.window for point in curve]))
    for prefix, now, figures in rows:
        for kind in ("macro", "micro"):
            values = [getattr(point, f"{kind}_f1") for point in figures]
            made.add_row(
                Text(f"{prefix}{kind}", style="dim"),
                Text(decimals(getattr(now, f"{kind}_f1")), style="bold"),
                decimals(getattr(now, f"{kind}_precision")),
                decimals(getattr(now, f"{kind}_recall")),
                f"{decimals(values[0])} {sparkline(values)}",
            )
    return made


def _ranked(figures: RankedFigures) -> Table:
    from clasher.metrics import RANKS

    numbers = [f"at {k}" for k in RANKS]
    made = table("best labels", *numbers, right=numbers)
    for name, key in {"precision": "precision", "propensity-scored": "psp"}.items():
        values = (decimals(getattr(figures, f"{key}_at_{k}")) for k in RANKS)
        made.add_row(Text(name, style="dim"), *values)
    return made


def alarms_view(alarms: Sequence[Alarm], shown: int = 20) -> Table:
    """Show the latest changes that a detector found."""
    words = "words gained (+) and lost (−)"
    made = table(
        "changed at", "label", "errors", words, right=["changed at"], fold=["label", words]
    )
    for alarm in alarms[-shown:]:
        signed = [*(f"+{word}" for word in alarm.gained), *(f"−{word}" for word in alarm.lost)]
        made.add_row(
            f"{alarm.document:,}",
            safe("all labels" if alarm.label is None else alarm.label),
            f"{alarm.error_before:.0%} → {alarm.error_after:.0%}",
            safe(" ".join(signed)),
        )
    return made


def labels_view(
    support: Mapping[str, int], shown: int | None, words: Mapping[str, Sequence[WordWeight]]
) -> Table:
    """Show labels, the number of documents and the known words of each, most frequent first."""
    columns = ["label", "documents", *(["words"] if words else [])]
    made = table(*columns, right=["documents"], fold=["label", "words"])
    rows = sorted(support.items(), key=lambda row: (-row[1], row[0]))
    for label, documents in rows[:shown]:
        about = ", ".join(word for word, _ in words.get(label, ()))
        made.add_row(safe(label), f"{documents:,}", *([safe(about)] if words else []))
    if shown is not None and len(rows) > shown:
        made.add_row(Text(f"… {len(rows) - shown:,} more: --all shows them", style="dim"), "")
    return made


def explanation_view(explanation: Explanation, words: int, total: str) -> Group:
    """Show the words for and against a label; ``total`` names what they add up to."""
    verdict = "predicted" if explanation.predicted else "not predicted"
    title = Text.assemble((printable(explanation.label), "bold"), f": {verdict}, probability ")
    title.append(decimals(explanation.probability), style="bold")
    shown = [WordWeight(*pair) for pair in explanation.words[:words]]
    if rest := explanation.words[words:]:
        shown.append(WordWeight(f"({len(rest):,} more)", sum(weight for _, weight in rest)))
    shown += [WordWeight(f"({name})", weight) for name, weight in explanation.other.items()]
    weights = weights_view(shown)
    weights.add_row(
        f"{sum(weight for _, weight in shown):+.3f}", Text(f"evidence ({total})", style="bold")
    )
    return Group(title, safe(nearest_region(explanation), "dim"), weights)


def nearest_region(explanation: Explanation) -> str:
    """Name the region that a document is nearest to."""
    if explanation.region is None:
        return "no region is near"
    return f"nearest region {explanation.region}, cosine {decimals(explanation.similarity)}"


def weights_view(rows: Sequence[WordWeight]) -> Table:
    """Show words with their weights as numbers and bars."""
    most = max((abs(weight) for _, weight in rows), default=0.0) or 1.0
    bars = ("█" * round(BAR * abs(weight) / most) for _, weight in rows)
    shown = (
        (f"{weight:+.3f}", safe(word), Text(bar, style="green" if weight > 0 else "red"))
        for (word, weight), bar in zip(rows, bars, strict=True)
    )
    return grid(shown, right=True)


def clusters_view(clusters: Sequence[Mapping[str, Any]], stream: str, documents: int) -> Group:
    """Show clusters (``cluster``, ``size``, ``words``, ``example``), in the given order."""
    made = table("cluster", "size", right=["cluster", "size"])
    made.add_column("words", overflow="fold", ratio=1)
    made.add_column("an example", overflow="fold", ratio=1)
    for row in clusters:
        text = " ".join(row["example"]["text"].split()) if row["example"] else ""
        short = text if len(text) <= EXAMPLE else text[: EXAMPLE - 1] + "…"
        words = safe(", ".join(row["words"]))
        made.add_row(str(row["cluster"]), f"{row['size']:,}", words, safe(short, "dim"))
    title = f"{stream}, {documents:,} documents in {len(clusters):,} clusters"
    return Group(safe(title, "bold"), made)


def datasets_view(datasets: Iterable[Dataset], folder: str | None) -> Group:
    """Show all datasets, and which of them are in a folder."""
    here = [] if folder is None else [printable(f"in {folder}")]
    columns = ("name", "documents", "labels", "licence", *here)
    made = table(*columns, right=["documents", "labels"], fold=["licence", *here])
    files: list[tuple[str, Text]] = []
    for dataset in datasets:
        found = [] if folder is None else [_found(dataset, folder)]
        numbers = (_number(dataset.documents), _number(dataset.classes))
        made.add_row(Text(dataset.name, style="bold"), *numbers, dataset.licence, *found)
        files += [
            (dataset.name, Text(dataset.title)),
            ("", Text(" or ".join(dataset.files), style="dim")),
        ]
    return Group(made, grid(files, style="bold"))


def dataset_view(dataset: Dataset, folder: str | None) -> Group:
    """Describe a dataset."""
    rows = [
        ("about", dataset.about),
        ("documents", _number(dataset.documents) or "depends on the file"),
        ("labels", f"{_number(dataset.classes)} {dataset.labels}".strip()),
        ("licence", dataset.licence),
        ("get it from", dataset.source),
        ("files", " or ".join(dataset.files)),
        *((f"split {name}", split.about) for name, split in dataset.splits.items()),
    ]
    if folder is not None:
        rows.append(("here", f"{_found(dataset, folder)} in {folder}"))
    return Group(Text(dataset.title, style="bold"), facts(rows))


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _found(dataset: Dataset, folder: str) -> str:
    found = dataset.find(folder)
    if not found:
        return "not found"
    size = sum(path.stat().st_size for path in found if path.is_file())
    kind = "folder" if found[0].is_dir() else "file"
    return counted(len(found), kind) + (f", {bytes_(size)}" if size else "")


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
    labels, likely = planner.settings.max_labels, _percent(planner.confidence)
    to_copy = f"as options: --dimensions {proposed} --max-labels {labels}"
    takes = f"the {planner.settings.rule} rule takes at most {bytes_(here.nbytes)}"
    parts: list[RenderableType] = [
        Text.assemble(
            (f"{proposed:,} dimensions", "bold"), f" for {counted(labels, 'label')}: {takes}"
        ),
        Text(to_copy, no_wrap=True, overflow="ignore"),  # never broken
    ]
    if (sample := planner.sample) is not None:
        documents, words = counted(sample.documents, "document"), len(sample.frequencies)
        mean = f"{sample.total / sample.documents:,.0f} per document"
        measured = f"{stream}, {documents}, {words:,} distinct words, {mean}"
        parts.append(facts([("measured on", measured)]))
    if error is not None:
        basis = (
            f"Measured, not guaranteed: the lengths of {likely} of these documents change by at "
            f"most {error:g}."
        )
        if planner.guaranteed:
            basis = (
                f"By second moments, the length of a document changes by at most {error:g} with "
                f"probability {likely}."
            )
        parts += [Text(basis), Text(f"\nSizes for an error of {error:g}", "bold")]
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


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


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


def _sizes(sizes: list[Size], proposed: int, memory: int | None, confidence: float) -> Table:
    errors = _errors(sizes, confidence)
    columns = ("dimensions", "memory\nat most", *(name for name, _ in errors))
    made = table(*columns, right=columns, padding=NARROW)
    for at, planned in enumerate(sizes):
        fits = memory is None or planned.nbytes <= memory
        style = "bold" if planned.dimensions == proposed else None if fits else "dim"
        cells = [significant(values[at]) for _, values in errors]
        made.add_row(f"{planned.dimensions:,}", bytes_(planned.nbytes), *cells, style=style)
    return made


def _errors(sizes: list[Size], confidence: float) -> list[tuple[str, list[float | None]]]:
    """Return columns of the errors at each size, with bounds where they cover the model."""
    from clasher.theory.plan import TOO_SMALL

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


def _bounds(right: Sequence[str], rows: Iterable[tuple[Guarantee | Need, Sequence[str]]]) -> Table:
    made = table("error of", "by", *right, right=right, padding=NARROW)
    for line, cells in rows:
        made.add_row(WHAT.get(line.what, line.what), line.by, *cells)
    return made


def _guarantees(lines: list[Guarantee]) -> Table:
    def cells(line: Guarantee) -> Sequence[str]:
        share = f"a {OF[line.what]}"
        if line.share is not None and line.share != 1.0:
            share = f"{100 * line.share:.1f} % of {OF[line.what]}s"
        measured = "" if line.measured is None else significant(line.measured)
        return share, _percent(line.confidence), significant(line.guaranteed), measured

    columns = ("holds for", "confidence", "at most", "measured")
    return _bounds(columns, ((line, cells(line)) for line in lines))


def _needs(planner: Planner, needs: list[Need]) -> Table:
    from clasher.theory.plan import MOST_DIMENSIONS

    def cells(need: Need, m: int) -> Sequence[str]:
        memory = bytes_(planner.nbytes(m)) if 2 <= m <= MOST_DIMENSIONS else ""
        dimensions = f"{m:,}" if m < 10**12 else f"{m:.0e}"
        return _percent(need.confidence), dimensions, str(need.depth), memory

    met = ((need, cells(need, need.dimensions)) for need in needs if need.dimensions is not None)
    return _bounds(("confidence", "dimensions", "depth", "memory"), met)


def _footnote(planner: Planner, holding: list[Guarantee]) -> str:
    from clasher.settings import MEASURES

    settings, sample = planner.settings, planner.sample
    held = {line.what for line in holding}
    notes = {
        "Lengths and products: before documents are scaled to length 1.": settings.norm == "l2"
        and (sample is not None or planner.guaranteed),
        "IDF and TF-IDF: after the sample; ‖f‖ grows with the stream.": "idf" in held,
        "Second moments: for a random document of the sample.": "idf" in held
        and planner.guaranteed,
        "Decisions: the number of documents with such a margin is unknown.": "decisions" in held,
        f"Measured without labels, which {settings.weighting} also uses.": sample is not None
        and settings.weighting in MEASURES,
        "Name a STREAM to measure the errors on your own text.": sample is None,
    }
    return "\n".join(note for note, applies in notes.items() if applies)
