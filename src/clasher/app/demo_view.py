"""What the demo shows on a terminal; plain lines where it is piped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from clasher.app.examples import WEAKEST_LISTED, Example, View
from clasher.app.figures import bytes_, decimals, sparkline
from clasher.evaluate import Progress

MARKS = {"hit": "✓", "alarm": "×", "miss": "–", "unknown": "?"}
COLOURS = {"hit": "green", "alarm": "red", "miss": "yellow", "unknown": "dim"}
BEST = "bold green"
WORDS_TOLD = 5
SPARKLINE = 16  # columns


@dataclass
class Run:
    """A rule on its way through the stream."""

    now: Progress | None = None
    macro_f1: list[float] = field(default_factory=list)

    def follow(self, progress: Progress) -> None:
        """Take note of how far it is."""
        self.now = progress
        self.macro_f1.append(progress.macro_f1)


def runs_view(runs: Mapping[str, Run]) -> Table:
    """The rules side by side, as far as they have come; fits into 80 columns."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="dim")
    table.add_column("rule", style="bold", no_wrap=True)
    for name in ("docs", "docs/s", "macro F1", "micro F1", "model"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("over the stream", style="cyan", no_wrap=True)
    under_way = [run.now for run in runs.values() if run.now]
    best_macro = max((now.macro_f1 for now in under_way), default=0.0)
    best_micro = max((now.micro_f1 for now in under_way), default=0.0)
    top = max((value for run in runs.values() for value in run.macro_f1), default=0.0)
    for name, run in runs.items():
        if (now := run.now) is None:
            table.add_row(name)
            continue
        table.add_row(
            name,
            f"{now.documents:,}",
            f"{now.documents_per_second:,.0f}",
            Text(decimals(now.macro_f1), BEST if now.macro_f1 == best_macro else ""),
            Text(decimals(now.micro_f1), BEST if now.micro_f1 == best_micro else ""),
            bytes_(now.state_bytes),
            sparkline(run.macro_f1, SPARKLINE, top),
        )
    return table


def example_view(example: Example) -> RenderableType:
    """A document, its labels, and what spoke for and against the first of them."""
    view = example.views[0]
    return Padding(
        Group(
            Text(str(example.id), style="bold"),
            _labels(example),
            Padding(_text(view), (1, 2)),
            _reasons(view),
        ),
        (1, 0, 0, 0),
    )


def _labels(example: Example) -> Text:
    line = Text()
    for view in example.views:
        mark, colour = MARKS[view.outcome], COLOURS[view.outcome]
        line.append(f"{mark} {view.explanation.label}  ", style=colour)
    return line


def _text(view: View) -> Text:
    text = Text()
    for piece in view.pieces:
        colour = "green" if piece.strength > 0 else "red"
        style = f"{'bold ' if abs(piece.strength) > 2 else ''}{colour}" if piece.strength else ""
        text.append(piece.text, style=style)
    return text


def _reasons(view: View) -> Group:
    told = view.explanation
    verdict = "predicted" if told.predicted else "not predicted"
    line = Text.assemble(
        (told.label, "bold"), f" is {verdict}, probability {decimals(told.probability)}"
    )
    if told.region is not None:
        line.append(f"; nearest region {told.region}, cosine {decimals(told.similarity)}")
    least = WEAKEST_LISTED * max((abs(weight) for _, weight in told.words), default=0.0)
    heard = [pair for pair in told.words if abs(pair.evidence) > least]
    backing = [pair for pair in heard if pair.evidence > 0][:WORDS_TOLD]
    opposing = [pair for pair in heard if pair.evidence < 0][:WORDS_TOLD]
    rest = sum(weight for _, weight in told.words) - sum(w for _, w in backing + opposing)
    return Group(
        line,
        Text.assemble(("  for      ", "green"), _weights(backing)),
        Text.assemble(("  against  ", "red"), _weights(opposing)),
        Text(f"  besides  {_weights([*told.other.items(), ('other words', rest)])}", "dim"),
    )


def _weights(pairs: Iterable[tuple[str, float]]) -> str:
    return "  ".join(f"{name} {weight:+.2f}" for name, weight in pairs) or "nothing"
