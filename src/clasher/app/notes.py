"""What is said on standard error beside the results: notes, warnings, that kernels compile."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from clasher.app.figures import counted, printable
from clasher.compile_notice import logger

if TYPE_CHECKING:
    from clasher.settings import Settings

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
    from clasher.memory import FIRST_CAPACITY
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
