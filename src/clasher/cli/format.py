"""Results as tables for a terminal, at most 80 columns wide.

Figures as people read them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from clasher.errors import SettingError
from clasher.learning.explain import Explanation, WordWeight

if TYPE_CHECKING:
    from clasher.evaluate import Evaluation
    from clasher.learning.drift import Alarm
    from clasher.metrics import Figures


BLOCKS = "▁▂▃▄▅▆▇█"
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE | re.ASCII)
UNITS = ("", "K", "M", "G", "T")
MOST_WORDS = 10  # of a list that is written out


def decimals(value: float) -> str:
    """Three decimals, without the zero before them.

    >>> decimals(0.8684), decimals(1.0), decimals(-0.25)
    ('.868', '1.000', '-.250')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.3f}"


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "document"), counted(11367, "document")
    ('1 document', '11,367 documents')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def printable(text: str) -> str:
    r"""Text that does nothing to a terminal: what cannot be seen is written as an escape.

    >>> print(printable("Öl\x1b[2J\n"))
    Öl\x1b[2J\n
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def setting(value: object) -> str:
    """The value of a setting; of an analyzer, what it does.

    >>> setting({"min_length": 2, "ngrams": [1, 2], "stemmer": None, "strip_html": True})
    'min_length 2, ngrams (1, 2), strip_html True'
    >>> setting(["word"] * 2500)
    '(2,500 words)'
    """
    if isinstance(value, Mapping):
        done = {name: how for name, how in value.items() if how is not None and how is not False}
        return ", ".join(f"{name} {setting(how)}" for name, how in done.items())
    if isinstance(value, list):
        shown = ", ".join(map(str, value))
        return f"({len(value):,} words)" if len(value) > MOST_WORDS else f"({shown})"
    return str(value)


def bytes_(count: int) -> str:
    """A number of bytes in a unit that suits it.

    >>> bytes_(999), bytes_(12_345), bytes_(312_000_000), bytes_(3_300_000_000)
    ('999 B', '12 kB', '312 MB', '3.3 GB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5 or unit == "GB":
            break
        size /= 1000
    return f"{size:,.1f} {unit}" if size < 9.95 and unit != "B" else f"{size:,.0f} {unit}"


def size(text: str) -> int:
    """A number of bytes as people write it.

    >>> size("500MB"), size("1.5 GiB"), size("2g"), size("4096")
    (500000000, 1610612736, 2000000000, 4096)
    """
    match = SIZE.fullmatch(text)
    count = float(match[1]) if match else 0.0
    base = 1024 if match and match[3] else 1000
    number = count * base ** UNITS.index(match[2].upper()) if match else 0.0
    if not 1 <= number < 2**63:
        raise SettingError(
            f"{text!r} is no size of memory; write a number above 0 and a unit: "
            f"500MB, 2GB, 1.5GiB (B, kB, MB, GB, TB, or KiB, MiB, GiB, TiB)"
        )
    return int(number)


def significant(value: float | None) -> str:
    """Two figures that count; a word where there is no value.

    >>> significant(0.01747), significant(0.98), significant(12345.6), significant(None)
    ('.017', '.98', '12,346', 'none')
    >>> significant(4.15e-05), significant(3e-17), significant(0.0), significant(2.31)
    ('4e-05', '0', '0', '2.3')
    """
    if value is None:
        return "none"
    size = abs(value)
    if size < 1e-9 or size >= 10:  # or noise in the last bits
        return f"{value:,.0f}"
    if size < 1e-4:
        return f"{value:.0e}"
    text = f"{value:.{max(1, 1 - math.floor(math.log10(size)))}f}"
    return text.replace("0.", ".", 1) if size < 1 else text


def sparkline(values: Sequence[float], width: int = 24, top: float | None = None) -> str:
    """A curve in one line; stretches of a long one are averaged.

    It reaches from the lowest value to the highest, or from 0 to ``top``.

    >>> sparkline([0.2, 0.4, 0.5, 0.55, 0.6])
    '▁▅▆▇█'
    >>> sparkline([0.2, 0.4, 0.5, 0.55, 0.6], top=1.0)
    '▂▄▅▅▅'
    >>> sparkline(range(100), width=8)
    '▁▂▃▄▅▆▇█'
    """
    points = _averaged(values, width)
    low, high = min(points, default=0.0), max(points, default=0.0)
    if top is not None:
        low, high = 0.0, top
    steps = (len(BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[round((point - low) * steps)] for point in points)


def _averaged(values: Sequence[float], width: int) -> list[float]:
    if len(values) <= width:
        return list(values)
    edges = [round(i * len(values) / width) for i in range(width + 1)]
    return [sum(values[start:stop]) / (stop - start) for start, stop in pairwise(edges)]


WIDTH = 80
BAR = 20  # columns of the longest bar of an explanation
EXAMPLE = 96  # characters of a document that is shown as an example


def show(*parts: RenderableType) -> None:
    """Print to standard output."""
    console = Console(highlight=False)
    console.width = min(console.width, WIDTH)
    console.print(*parts, sep="\n", crop=False)


def to_copy(text: str) -> Text:
    """Return a line that ``show`` prints whole, however narrow the terminal is."""
    return Text(text, no_wrap=True, overflow="ignore")


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Names and values."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(printable(value)))
    return table


def evaluation_view(result: Evaluation, stream: str) -> Group:
    """The figures of an evaluation and their curves."""
    rule = str(result.settings["rule"])
    labelled = "" if result.judged == result.documents else f", {result.judged:,} with labels"
    changes: list[RenderableType] = [alarms_view(result.alarms)] if result.alarms else []
    if result.label_probability < 1:
        labelled += f"; the model saw those of {result.taught:,} (p = {result.label_probability:g})"
    return Group(
        Text(f"{printable(stream)}, {rule} rule, test then train", style="bold"),
        _measures(result),
        facts(
            [
                ("documents", f"{result.documents:,}{labelled}"),
                ("labels", f"{result.labels:,}; macro is the mean over all of them"),
                ("subset accuracy", decimals(result.subset_accuracy)),
                ("Hamming loss", f"{result.hamming_loss:.4f}"),
                ("speed", f"{result.documents_per_second:,.0f} documents/s"),
                ("memory", f"model {bytes_(result.state_bytes)}, "
                           f"process {bytes_(result.memory_bytes)}"),
            ]
        ),
        *changes,
    )  # fmt: skip


def alarms_view(alarms: Sequence[Alarm], shown: int = 20) -> Table:
    """The changes that a detector found, the latest of many."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("changed at", justify="right", no_wrap=True)
    table.add_column("label", overflow="fold")
    table.add_column("errors", no_wrap=True)
    table.add_column("words gained (+) and lost (−)", overflow="fold")
    for alarm in alarms[-shown:]:
        signed = [*(f"+{word}" for word in alarm.gained), *(f"−{word}" for word in alarm.lost)]
        table.add_row(
            f"{alarm.document:,}",
            Text("all labels" if alarm.label is None else printable(alarm.label)),
            f"{alarm.error_before:.0%} → {alarm.error_after:.0%}",
            Text(printable(" ".join(signed))),
        )
    return table


def _measures(result: Evaluation) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("", style="dim", no_wrap=True)
    for name in ("F1", "precision", "recall"):
        table.add_column(name, justify="right")
    table.add_column("F1 over the stream", no_wrap=True)
    curve = result.curve
    _add_measures(table, "", result, [point.cumulative for point in curve])
    last = result.window * result.every
    if curve and last < result.documents:
        windows = [point.window for point in curve]
        _add_measures(table, f"last {last:,} ", windows[-1], windows)
    return table


def _add_measures(table: Table, prefix: str, now: Figures, curve: Sequence[Figures]) -> None:
    for kind in ("macro", "micro"):
        values = [getattr(figures, f"{kind}_f1") for figures in curve]
        table.add_row(
            f"{prefix}{kind}",
            Text(decimals(getattr(now, f"{kind}_f1")), style="bold"),
            decimals(getattr(now, f"{kind}_precision")),
            decimals(getattr(now, f"{kind}_recall")),
            f"{decimals(values[0])} {sparkline(values)}",
        )


def explanation_view(explanation: Explanation, words: int, total: str) -> Group:
    """Which words spoke for and against a label; ``total`` is what they add up to."""
    verdict = "predicted" if explanation.predicted else "not predicted"
    title = Text.assemble((printable(explanation.label), "bold"), f": {verdict}, probability ")
    title.append(decimals(explanation.probability), style="bold")
    region = "no region is near"
    if explanation.region is not None:
        region = f"nearest region {explanation.region}, cosine {decimals(explanation.similarity)}"
    shown = [WordWeight(*pair) for pair in explanation.words[:words]]
    if rest := explanation.words[words:]:
        shown.append(WordWeight(f"({len(rest):,} more)", sum(weight for _, weight in rest)))
    shown += [WordWeight(f"({name})", weight) for name, weight in explanation.other.items()]
    table = _weights(shown)
    table.add_row(
        f"{sum(weight for _, weight in shown):+.3f}", Text(f"evidence ({total})", style="bold")
    )
    return Group(title, Text(printable(region), style="dim"), table)


def _weights(rows: Sequence[WordWeight]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    most = max((abs(weight) for _, weight in rows), default=0.0)
    for word, weight in rows:
        bar = "█" * round(BAR * abs(weight) / most) if most else ""
        colour = "green" if weight > 0 else "red"
        table.add_row(f"{weight:+.3f}", Text(printable(word)), Text(bar, style=colour))
    return table


def words_view(label: str, words: Sequence[WordWeight]) -> Group:
    """What a label is about."""
    return Group(Text(printable(label), style="bold"), _weights(words))


def labels_view(
    support: Sequence[tuple[str, int]], shown: int | None, words: Mapping[str, Sequence[WordWeight]]
) -> Table:
    """The labels of a model, how many documents taught each, and the words that are known of it.

    The most frequent come first.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("label", overflow="fold")
    table.add_column("documents", justify="right")
    if words:
        table.add_column("words", overflow="fold")
    rows = sorted(support, key=lambda row: (-row[1], row[0]))
    for label, documents in rows[:shown]:
        about = ", ".join(word for word, _ in words.get(label, ()))
        table.add_row(
            Text(printable(label)), f"{documents:,}", *([Text(printable(about))] * bool(words))
        )
    if shown is not None and len(rows) > shown:
        table.add_row(Text(f"… {len(rows) - shown:,} more: --all shows them", style="dim"), "")
    return table


def clusters_view(
    rows: Sequence[tuple[int, int, Sequence[str], str]], stream: str, documents: int
) -> Group:
    """Clusters as (number, size, words, example), the largest first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", show_lines=False)
    table.add_column("cluster", justify="right")
    table.add_column("size", justify="right")
    table.add_column("words", overflow="fold", ratio=1)
    table.add_column("an example", overflow="fold", ratio=1)
    for number, size, words, example in rows:
        shown = " ".join(example.split())
        short = shown if len(shown) <= EXAMPLE else shown[: EXAMPLE - 1] + "…"
        table.add_row(
            str(number), f"{size:,}", Text(printable(", ".join(words))),
            Text(printable(short), style="dim"),
        )  # fmt: skip
    title = f"{printable(stream)}, {documents:,} documents in {len(rows):,} clusters"
    return Group(Text(title, style="bold"), table)
