"""A line on the terminal that shows how far long work is.

The files a command writes: looked at before the work, written whole or not at all.

What is said on standard error beside the results: notes, warnings, that kernels compile.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, Self

import click

from clasher.cli.format import bytes_, counted, decimals, printable
from clasher.durable import replace_text
from clasher.errors import SettingError
from clasher.kernels.compile_notice import logger

if TYPE_CHECKING:
    from clasher.evaluate import Progress
    from clasher.flow import Figures
    from clasher.model import Clasher
    from clasher.settings import Settings


STANDARD_STREAM = "-"


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str] = ()) -> None:
    """Refuse, before the work begins, files that could not be replaced after it.

    Parameters
    ----------
    outputs
        The file of each option, None where it was not given.
    inputs
        The files of the stream.
    """
    keep_inputs(outputs, inputs)
    for option, path in outputs.items():
        if path is None or path == STANDARD_STREAM:
            continue
        folder = os.path.dirname(os.path.realpath(path))
        device = os.path.exists(path) and not os.path.isfile(path)
        if os.path.isdir(path):
            raise SettingError(f"{option} {path}: is a directory; name a file in it")
        if not os.path.isdir(folder):
            raise SettingError(f"{option} {path}: there is no directory {folder}")
        if not os.access(path if device else folder, os.W_OK):
            raise SettingError(f"{option} {path}: cannot be written, permission denied")


def keep_inputs(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Refuse to write to a file that is being read, or to a standard output that is closed."""
    for option, path in outputs.items():
        if path == STANDARD_STREAM and sys.stdout is None:
            raise SettingError(f"{option} -: there is no standard output; name a file")
        if path is not None and any(_are_same(path, given) for given in inputs):
            raise SettingError(f"{option} {path}: is a file of the stream, and would destroy it")


def _are_same(path: str, other: str) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def check_model_file(option: str, path: str) -> None:
    """Refuse to replace what is no ordinary file, a device for instance, by a model."""
    check_outputs({option: path})
    if os.path.exists(path) and not os.path.isfile(path):
        raise SettingError(f"{option} {path}: is not an ordinary file")


def write_json(path: str, value: Mapping[str, Any]) -> None:
    """Write a JSON text to a file, or to standard output where the path is ``-``."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_STREAM:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        replace_text(path, text)


INTERRUPTED = 130  # 128 + SIGINT


def say(text: str, *, quiet: bool = False) -> None:
    """Say something that ``--quiet`` leaves out."""
    if not quiet:
        click.echo(printable(text), err=True)


def warn(text: str) -> None:
    """Say something that must not pass unnoticed."""
    click.echo(f"clasher: {printable(text)}", err=True)


def program() -> str:
    """Return how a shell here calls this program: by its name, where it finds it by that."""
    called = Path(sys.argv[0])
    if called.name != "clasher":
        return f"{shlex.quote(sys.executable)} -m clasher"
    found = shutil.which("clasher")
    if found is not None and Path(found).resolve() == called.resolve():
        return "clasher"
    return shlex.quote(min(os.path.relpath(called), str(called.absolute()), key=len))


def leave_interrupted(documents: int) -> NoReturn:
    """End the process as one does after Ctrl-C."""
    warn(f"interrupted after {counted(documents, 'document')}")
    sys.exit(INTERRUPTED)


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def shows_progress(*, quiet: bool) -> bool:
    """Whether progress is wanted: someone looks at standard error, and no output is piped."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    try:
        return not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):  # closed, or not a file at all
        return False


@contextmanager
def compiling(*, quiet: bool = False) -> Iterator[None]:
    """Show, on the first run of an installation, that kernels are being compiled."""
    notice = _Notice(quiet=quiet)
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(notice)
    try:
        yield
    finally:
        logger.removeHandler(notice)
        logger.propagate = propagates
        notice.stop()


class _Notice(logging.Handler):
    """A spinner on a terminal, a line elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self.quiet = quiet
        self._status: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        """Show what the library logs when it compiles."""
        if shows_progress(quiet=self.quiet):
            from rich.console import Console

            self._status = Console(stderr=True).status(f"{record.getMessage()} …")
            self._status.start()
        else:
            say(record.getMessage(), quiet=self.quiet)

    def stop(self) -> None:
        """Take the spinner away."""
        if self._status is not None:
            self._status.stop()


def prepare(settings: Settings | None = None, *, quiet: bool = False) -> None:
    """Have the kernels ready, so that compiling is not timed along with learning."""
    with compiling(quiet=quiet):
        warm_up(settings)


def warm_up(settings: Settings | None = None) -> None:
    """Run every kernel once: learning, with labels enough to grow, predicting and explaining.

    A small model does that; ``settings`` tells what else than the usual is to be made ready.
    """
    from clasher.learning.memory import FIRST_CAPACITY
    from clasher.metrics import Metrics
    from clasher.model import Clasher

    model = Clasher(
        dimensions=2,
        words=settings is not None and settings.keeps_words,
        analyzer=None if settings is None else settings.analyzer,
    )
    labels = [{f"label {number}" for number in range(FIRST_CAPACITY + 1)}]
    Metrics().update_many(labels, model.step_many(["a word"], labels))
    model.predict_many(["a word"])
    model.explain("a word")


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
