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

from clasher.cli.format import bytes_, counted, decimals, printable, sparkline
from clasher.cli.terminal import STANDARD_STREAM, write_json
from clasher.learning.explain import Explanation, WordWeight

if TYPE_CHECKING:
    from clasher.datasets import Dataset
    from clasher.evaluate import Evaluation
    from clasher.learning.drift import Alarm
    from clasher.metrics import Figures

WIDTH = 80
BAR = 20  # columns of the longest bar of an explanation
EXAMPLE = 96  # characters of an example document


# ── building blocks ──────────────────────────────────────────────────────────────────────────────


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


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Make a grid of names and values."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, safe(value))
    return grid


def safe(text: str, style: str = "") -> Text:
    """Return text of a stream without control characters and markup."""
    return Text(printable(text), style=style)


def unwrapped(text: str) -> Text:
    """Return a line to copy, which ``show`` never breaks."""
    return Text(text, no_wrap=True, overflow="ignore")


# ── evaluations and models ───────────────────────────────────────────────────────────────────────


def evaluation_view(result: Evaluation, stream: str) -> Group:
    """Show the figures of an evaluation and their curves."""
    labelled = "" if result.judged == result.documents else f", {result.judged:,} with labels"
    if result.label_probability < 1:
        p = result.label_probability
        labelled += f"; the model saw the labels of {result.taught:,} (p = {p:g})"
    memory = f"model {bytes_(result.state_bytes)}, process {bytes_(result.memory_bytes)}"
    return Group(
        safe(f"{stream}, {result.settings['rule']} rule, test then train", "bold"),
        _measures(result),
        facts(
            [
                ("documents", f"{result.documents:,}{labelled}"),
                ("labels", f"{result.labels:,}; macro is the mean over all of them"),
                ("subset accuracy", decimals(result.subset_accuracy)),
                ("Hamming loss", f"{result.hamming_loss:.4f}"),
                ("speed", f"{result.documents_per_second:,.0f} documents/s"),
                ("memory", memory),
            ]
        ),
        *([alarms_view(result.alarms)] if result.alarms else []),
    )


def _measures(result: Evaluation) -> Table:
    numbers = ("F1", "precision", "recall")
    made = table("", *numbers, "F1 over the stream", right=numbers)

    def add(prefix: str, now: Figures, curve: Sequence[Figures]) -> None:
        for kind in ("macro", "micro"):
            values = [getattr(figures, f"{kind}_f1") for figures in curve]
            made.add_row(
                Text(f"{prefix}{kind}", style="dim"),
                Text(decimals(getattr(now, f"{kind}_f1")), style="bold"),
                decimals(getattr(now, f"{kind}_precision")),
                decimals(getattr(now, f"{kind}_recall")),
                f"{decimals(values[0])} {sparkline(values)}",
            )

    curve = result.curve
    add("", result, [point.cumulative for point in curve])
    last = result.window * result.every
    if curve and last < result.documents:
        windows = [point.window for point in curve]
        add(f"last {last:,} ", windows[-1], windows)
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
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(no_wrap=True)
    most = max((abs(weight) for _, weight in rows), default=0.0)
    for word, weight in rows:
        bar = "█" * round(BAR * abs(weight) / most) if most else ""
        colour = "green" if weight > 0 else "red"
        grid.add_row(f"{weight:+.3f}", safe(word), Text(bar, style=colour))
    return grid


# ── clusters and datasets ────────────────────────────────────────────────────────────────────────


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
    made = table(
        "name", "documents", "labels", "licence", *here,
        right=["documents", "labels"], fold=["licence", *here],
    )  # fmt: skip
    files = Table.grid(padding=(0, 2))
    files.add_column(style="bold", no_wrap=True)
    files.add_column(overflow="fold")
    for dataset in datasets:
        made.add_row(
            Text(dataset.name, style="bold"),
            _number(dataset.documents),
            _number(dataset.classes),
            dataset.licence,
            *([] if folder is None else [_found(dataset, folder)]),
        )
        files.add_row(dataset.name, Text(dataset.title))
        files.add_row("", Text(" or ".join(dataset.files), style="dim"))
    return Group(made, files)


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
