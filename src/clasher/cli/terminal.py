"""The command line's side of a terminal: output files, messages on standard error, progress."""

from __future__ import annotations

import json
import logging
import os
import shlex
import shutil
import signal
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, Self

import click

from clasher.cli.format import bytes_, counted, printable
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.settings import Settings

STANDARD_STREAM = "-"
INTERRUPTED = 130  # 128 + SIGINT
QUIET = "clasher.quiet"  # in the context of a command

_kernel_log = logging.getLogger("clasher.kernels.compile_notice")  # importing it takes too long


def check_outputs(
    outputs: Mapping[str, str | None], inputs: Sequence[str] = (), models: Sequence[str] = ()
) -> None:
    """Refuse files that cannot be written, before the work starts; ``models`` to a device too."""
    protect_inputs(outputs, inputs)
    for option, path in outputs.items():
        if path is None or (path == STANDARD_STREAM and option not in models):
            continue
        folder = os.path.dirname(os.path.realpath(path))
        device = os.path.exists(path) and not os.path.isfile(path)
        if os.path.isdir(path):
            raise SettingError(f"{option} {path}: is a directory; name a file in it")
        if not os.path.isdir(folder):
            raise SettingError(f"{option} {path}: there is no directory {folder}")
        if not os.access(path if device else folder, os.W_OK):
            raise SettingError(f"{option} {path}: cannot be written, permission denied")
        if device and option in models:
            raise SettingError(f"{option} {path}: is not an ordinary file")


def protect_inputs(outputs: Mapping[str, str | None], inputs: Sequence[str]) -> None:
    """Refuse to write to a file of the stream, or to a closed standard output."""
    present = [given for given in inputs if os.path.exists(given)]
    for option, path in outputs.items():
        if path == STANDARD_STREAM and sys.stdout is None:
            raise SettingError(f"{option} -: there is no standard output; name a file")
        written = path is not None and os.path.exists(path) and os.stat(path)
        if written and any(os.path.samestat(written, os.stat(given)) for given in present):
            raise SettingError(f"{option} {path}: would overwrite a file of the stream")


def check_model_file(option: str, path: str, inputs: Sequence[str] = ()) -> None:
    """Refuse to write a model to a device, a folder, a file of the stream."""
    check_outputs({option: path}, inputs, models=[option])


def write_json(path: str, value: Mapping[str, Any]) -> None:
    """Write JSON to a file, or to standard output if the path is ``-``."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    if path == STANDARD_STREAM:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        from clasher.durable import replace_text

        replace_text(path, text)


def is_quiet() -> bool:
    """Whether the command of this thread was given ``--quiet``."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(QUIET, False)


def say(text: str) -> None:
    """Write a note to standard error, unless ``--quiet`` is given."""
    if not is_quiet():
        click.echo(printable(text), err=True)


def warn(text: str) -> None:
    """Write a warning to standard error, even with ``--quiet``."""
    click.echo(f"clasher: {printable(text)}", err=True)


def leave_interrupted(documents: int) -> NoReturn:
    """Exit after Ctrl-C."""
    warn(f"interrupted after {counted(documents, 'document')}")
    sys.exit(INTERRUPTED)


@contextmanager
def signal_handler(handler: Callable[[int, Any], object]) -> Iterator[None]:
    """Handle SIGTERM and Ctrl-C."""
    before = {kind: signal.signal(kind, handler) for kind in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for kind, former in before.items():
            signal.signal(kind, former)


def program() -> str:
    """Return how to call this program in a shell: by name if the shell finds it, else by path."""
    called = Path(sys.argv[0])
    if called.name != "clasher":
        return f"{shlex.quote(sys.executable)} -m clasher"
    found = shutil.which("clasher")
    if found is not None and Path(found).resolve() == called.resolve():
        return "clasher"
    return shlex.quote(min(os.path.relpath(called), str(called.absolute()), key=len))


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def shows_progress() -> bool:
    """Whether to show progress: standard error is a terminal, standard output is not piped."""
    if is_quiet() or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return False
    try:
        return not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):  # closed, or not a file at all
        return False


@contextmanager
def compiling() -> Iterator[None]:
    """Show, on the first run of an installation, that kernels are being compiled."""
    quiet, progress = is_quiet(), shows_progress()  # another thread may compile
    with ExitStack() as stack:

        def show(record: logging.LogRecord) -> bool:
            if progress:
                from rich.console import Console

                stack.enter_context(Console(stderr=True).status(f"{record.getMessage()} …"))
            elif not quiet:
                say(record.getMessage())
            return False  # no other handler should show it

        _kernel_log.addFilter(show)
        stack.callback(_kernel_log.removeFilter, show)
        yield


USES = ("learn", "predict", "explain")


def prepare(settings: Settings | None = None, *uses: str) -> None:
    """Compile kernels before the work starts, so that compilation is not timed along with it."""
    with compiling():
        warm_up(settings, *uses)


def warm_up(settings: Settings | None = None, *uses: str) -> None:
    """Use a small model with these settings, so that its kernels are compiled."""
    from clasher import warmup
    from clasher.settings import Settings

    model = warmup.small(Settings() if settings is None else settings)
    for use in uses or USES:
        getattr(warmup, use)(model)


OTHER_COLUMNS = 71  # of the line, beside the bar itself


class Bar:
    """A progress bar with the number of documents and a few facts; it disappears at the end.

    It counts documents even if it is not ``shown``.
    """

    def __init__(self, total: int | None, *, shown: bool) -> None:
        self.total = total
        self.shown = shown
        self.documents = 0
        self.seconds = 0.0
        self._display: Any = None

    def __enter__(self) -> Self:
        self._start = perf_counter()
        if self.shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
            from rich.table import Column

            console = Console(stderr=True)
            columns = (
                # Short of the right edge, where the terminal's ^C would break the line.
                BarColumn(bar_width=min(max(console.width - OTHER_COLUMNS, 4), 40)),
                TextColumn("{task.fields[facts]}", table_column=Column(no_wrap=True)),
                TimeRemainingColumn(compact=True),
            )
            self._display = Progress(*columns, console=console, transient=True)
            self._task = self._display.add_task("", total=self.total, facts="")
            self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.stop()

    @property
    def rate(self) -> float:
        """Documents per second, up to the last one."""
        return self.documents / self.seconds if self.seconds else 0.0

    def advance(self, documents: int, facts: Callable[[], Sequence[str]] = tuple) -> None:
        """Count documents, and show the rate, ``facts`` and the memory of the process."""
        self.documents += documents
        self.seconds = perf_counter() - self._start
        if self.shown:
            from clasher.evaluate import process_memory

            self.show(self.documents, f"{self.rate:,.0f}/s", *facts(), bytes_(process_memory()))

    def show(self, documents: int, *facts: str) -> None:
        """Show how many documents are done, and facts beside the bar."""
        if self.shown:
            total = self.total and max(self.total, documents)  # an estimate may be too low
            text = "  ".join([f"{documents:,} docs", *facts])
            self._display.update(self._task, completed=documents, total=total, facts=text)

    def show_sorting(self, documents: int) -> None:
        """Show how many documents are read and wait to be sorted."""
        if self.shown:
            self._display.update(self._task, facts=f"{documents:,} docs read, waiting to be sorted")
