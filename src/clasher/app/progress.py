"""A line on the terminal that shows how far long work is."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

from clasher.app.figures import bytes_, counted, decimals

if TYPE_CHECKING:
    from clasher.evaluate import Progress
    from clasher.flow import Figures
    from clasher.model import Clasher


OTHER_COLUMNS = 71  # of the line, beside the bar itself


class Bar:
    """A progress bar with the rate, the figures so far and the memory; leaves nothing behind.

    Parameters
    ----------
    total
        Documents to expect, None where that is unknown.
    shown
        Whether anyone wants to see it.
    """

    def __init__(self, total: int | None, *, shown: bool) -> None:
        self.total = total
        self.shown = shown
        self.documents = 0
        self.seconds = 0.0
        self._start = perf_counter()
        self._display: Any = None

    def __enter__(self) -> Self:
        self._start = perf_counter()
        if self.shown:
            self._display = _display()
            self._task = self._display.add_task("", total=self.total, facts="")
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.stop()

    @property
    def rate(self) -> float:
        """Documents per second, until the last of them."""
        return self.documents / self.seconds if self.seconds else 0.0

    def evaluated(self, progress: Progress) -> None:
        """Show how far an evaluation is."""
        self._show(
            progress.documents,
            f"{progress.documents_per_second:,.0f}/s",
            f"macro {decimals(progress.macro_f1)}",
            f"micro {decimals(progress.micro_f1)}",
            counted(progress.alarms, "alarm") if progress.alarms else bytes_(progress.memory_bytes),
        )

    def learnt(self, documents: int, model: Clasher) -> None:
        """Show that so many more documents were learnt."""
        self._count(documents)
        if self.shown:
            labels = counted(len(model.labels), "label")
            self._show(self.documents, f"{self.rate:,.0f}/s", labels, bytes_(_memory()))

    def predicted(self, documents: int) -> None:
        """Show that so many more documents were predicted."""
        self._count(documents)
        if self.shown:
            self._show(self.documents, f"{self.rate:,.0f}/s", bytes_(_memory()))

    def flowed(self, figures: Figures) -> None:
        """Show how a flow is doing."""
        if not self.shown:
            return
        facts = [f"{figures.documents_per_second:,.0f}/s"]
        if figures.lag is not None:
            facts.append(f"lag {figures.lag:,}")
        if figures.judged:
            facts.append(f"micro {decimals(figures.micro_f1)}")
        if figures.poison:
            facts.append(counted(figures.poison, "dead letter"))
        self._show(figures.documents, *facts)

    def sorting(self, documents: int) -> None:
        """Show that so many documents were read, and wait to be sorted."""
        if self.shown:
            facts = f"{documents:,} docs read, to be sorted"
            self._display.update(self._task, facts=facts)

    def _count(self, documents: int) -> None:
        self.documents += documents
        self.seconds = perf_counter() - self._start

    def _show(self, documents: int, *facts: str) -> None:
        total = self.total and max(self.total, documents)  # an estimate may be too low
        text = "  ".join([f"{documents:,} docs", *facts])
        self._display.update(self._task, completed=documents, total=total, facts=text)


def _memory() -> int:
    from clasher.evaluate import process_memory

    return process_memory()


def _display() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    console = Console(stderr=True)
    # Short of the right edge, where the terminal's ^C would break the line.
    width = min(max(console.width - OTHER_COLUMNS, 4), 40)
    return Progress(
        BarColumn(bar_width=width),
        TextColumn("{task.fields[facts]}", table_column=Column(no_wrap=True)),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
    )
