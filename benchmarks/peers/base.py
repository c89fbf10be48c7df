"""Systems under test, their tasks, and records of their runs."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.measure import Measured, measured, memory_now, version
from support.corpora import Corpus

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Task:
    """A stream, and what a system does with each of its documents.

    The system predicts each document, then learns it, with two exceptions: documents whose
    ``learn`` is False come without labels, and from ``test_from`` on it learns nothing, not even
    words; then only those documents are judged.

    Parameters
    ----------
    corpus
        The stream.
    folder
        Scratch space for the stream in a system's own format.
    learn
        Which documents come with labels; None means all.
    test_from
        The first document of a test set at the end of the stream.
    options
        Settings that differ from the system's own.
    points
        Numbers of documents at which to record time and scores; empty means every tenth.
    seconds
        The time limit; a slower system is judged on the documents it finished.
    ranked
        Whether systems that can rank labels also name the best of each document, on the clock.
    """

    corpus: Corpus
    folder: Path
    learn: BoolArray | None = None
    test_from: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    points: tuple[int, ...] = ()
    seconds: float = math.inf
    ranked: bool = False

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def judged_from(self) -> int:
        """The first document that is judged."""
        return self.test_from or 0

    @property
    def learnt(self) -> BoolArray:
        """A mask of the documents to learn."""
        learnt = np.ones(len(self), bool) if self.learn is None else self.learn.copy()
        learnt[self.test_from :] &= self.test_from is None
        return learnt

    @property
    def given(self) -> pa.ListArray:
        """The labels to learn; null for documents without labels."""
        if self.learnt.all():
            return self.corpus.labels
        return pc.if_else(pa.array(self.learnt), self.corpus.labels, None)

    def documents(self) -> Iterator[tuple[str, list[str] | None]]:
        """Yield the text and the labels of each document as Python objects."""
        texts, given = self.corpus.texts, self.given
        for start in range(0, len(self), 10_000):
            part = slice(start, start + 10_000)
            yield from zip(texts[part].to_pylist(), given[part].to_pylist(), strict=True)

    def ends(self) -> list[int]:
        """Return the points, ascending, and the end of the stream."""
        points = self.points or np.linspace(0, len(self), 11)[1:].astype(int).tolist()
        return sorted({point for point in points if 0 < point < len(self)} | {len(self)})

    def file(self, name: str, write: Callable[[Task, Path], None]) -> Path:
        """Write the stream in a system's own format, once."""
        path = self.folder / name
        if not path.exists():
            part = path.with_name(f"{name}.{os.getpid()}")
            write(self, part)
            part.replace(path)
        return path

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Make a folder for this run alone: others may use the same stream at the same time."""
        with TemporaryDirectory(dir=self.folder) as folder:
            yield Path(folder)


def bytes_of(folder: Path) -> int:
    """Return the size of the files in a folder, such as a saved model."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Record:
    """The time, memory and quality of a run, at the points of its task.

    The clock runs inside ``with record``, and stops while predictions are judged. A system that
    works by document or by batch iterates over ``parts``; one that does everything at once passes
    all predictions at the end. One that runs in its own process also passes its own measurements:
    ``took``, and a ``mark`` at each point.

    >>> from support.corpora import synthetic
    >>> task = Task(synthetic(30, 3), Path())
    >>> record = Record(task)
    >>> with record:
    ...     for part in record.parts(10):
    ...         record.predicted(part, [["topic0001"]] * 10)
    >>> record.figures()["documents"], record.figures()["micro_f1"] > 0
    (30, True)
    """

    def __init__(self, task: Task) -> None:
        from clasher.metrics import Metrics, RankedMetrics

        self.task = task
        self.metrics = Metrics()
        self.ranks = RankedMetrics()
        self.took = Measured()
        self.more: dict[str, Any] = {}
        self.reached = 0
        self._points: dict[int, dict[str, float]] = {}
        self._ends = task.ends()
        self._paused = 0.0
        self._running = False
        self._stack = ExitStack()

    # ── the clock ────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Self:
        self.took = self._stack.enter_context(measured())
        self._began, self._running = time.perf_counter(), True
        return self

    def __exit__(self, *error: object) -> None:
        self._running = False
        self._stack.close()
        self.took.seconds -= self._paused

    @property
    def seconds(self) -> float:
        """The seconds on the clock so far."""
        return time.perf_counter() - self._began - self._paused

    @property
    def time_is_up(self) -> bool:
        """Whether the time limit has passed."""
        return self.seconds > self.task.seconds

    def parts(self, size: int = 1, cuts: tuple[int, ...] = ()) -> Iterator[slice]:
        """Cut the stream into slices of at most ``size`` documents, until its end or time limit.

        Slices end at the points, where a test set begins, and at ``cuts``.
        """
        cuts = tuple(cut for cut in (self.task.judged_from, *cuts) if 0 < cut < len(self.task))
        ends = sorted({0, *range(0, len(self.task), size), *self._ends, *cuts})
        for start, stop in pairwise(ends):
            yield slice(start, stop)
            if stop in self._ends or self.time_is_up:
                self.mark(stop, self.seconds, memory_now())
            self.reached = stop
            if self.time_is_up:
                break

    def mark(self, documents: int, seconds: float, memory: int) -> None:
        """Record time and memory at a point; a system in another process passes its own."""
        self._points.setdefault(documents, {}).update(seconds=seconds, memory_bytes=memory)

    # ── the score ────────────────────────────────────────────────────────────────────────────────

    def predicted(self, part: slice, labels: Any, ranked: Any = None) -> None:
        """Judge the predictions of a part of the stream, in its order.

        ``ranked`` are the best labels of each document, from systems that rank them.
        """
        since = time.perf_counter()
        cuts = [end for end in self._ends if part.start < end < part.stop]
        for start, stop in pairwise([part.start, *cuts, part.stop]):
            first = max(start, self.task.judged_from)
            if first < stop:
                truth = self.task.corpus.labels[first:stop]
                mine = slice(first - part.start, stop - part.start)
                self.metrics.update_many(truth, labels[mine])
                if ranked is not None:
                    self.ranks.update_many(truth, ranked[mine])
            if stop in self._ends:
                scores = {"macro_f1": self.metrics.macro_f1, "micro_f1": self.metrics.micro_f1}
                self._points.setdefault(stop, {}).update(scores | self._ranked_figures())
        self.reached = max(self.reached, part.stop)
        if self._running:
            self._paused += time.perf_counter() - since

    def figures(self) -> dict[str, Any]:
        """Return all figures of the run as plain values."""
        return {
            "documents": self.reached,
            "complete": self.reached == len(self.task),
            "judged": self.metrics.documents,
            "labels": len(self.metrics.labels),
            "seconds": self.took.seconds,
            "documents_per_second": self.reached / self.took.seconds,
            **asdict(self.metrics.figures()),
            **self._ranked_figures(),
            "peak_memory_bytes": self.took.memory_peak,
            "added_memory_bytes": self.took.memory_added,
            "points": [self._point(end) for end in sorted(self._points) if end <= self.reached],
            **self.more,
        }

    def _ranked_figures(self) -> dict[str, float]:
        """Return the precision of the best labels, or nothing for a system that does not rank."""
        return asdict(self.ranks.figures()) if self.ranks.documents else {}

    def _point(self, documents: int) -> dict[str, float]:
        part = self.task.corpus.head(documents)
        return {
            "documents": documents,
            "labels": len(part.label_names),
            "text_bytes": pc.sum(pc.binary_length(part.texts)).as_py() or 0,
            **self._points[documents],
        }


@dataclass(frozen=True)
class System:
    """A system under test.

    Parameters
    ----------
    name
        Its name on the command line and in the results.
    title
        Its name in tables.
    library
        The distribution that provides it.
    settings
        Its settings, in its own notation.
    run
        Runs it once; imports the library, so that other systems do not need it.
    limit
        The number of documents it gets, if it is too slow for all; it then runs once.
    max_labels
        It does not run on streams with more labels than this.
    extra
        The extra of clasher that installs the library.
    needs_test
        Whether it needs a stream that ends with a test set.
    bare
        Whether the extra leaves out the library, to install it without its requirements.
    tiny
        Options for a stream of a few dozen documents.
    """

    name: str
    title: str
    library: str
    settings: str
    run: Callable[[Task, Record], None]
    limit: int | None = None
    max_labels: int | None = None
    extra: str = "bench"
    needs_test: bool = False
    bare: bool = False
    tiny: dict[str, Any] = field(default_factory=dict)

    @property
    def remedy(self) -> str:
        """The command that installs the library.

        >>> System("x", "X", "big", "", print, extra="small", bare=True).remedy
        "pip install 'clasher[small]' && pip install --no-deps big"
        """
        command = f"pip install 'clasher[{self.extra}]'"
        return f"{command} && pip install --no-deps {self.library}" if self.bare else command


def one_run(system: System, task: Task) -> dict[str, Any]:
    """Run a system; return its figures, or the reason why it cannot run."""
    about = {
        "system": system.name,
        "settings": system.settings,
        "options": task.options,
        "version": version(system.library),
        "corpus": task.corpus.name,
        "order": task.corpus.order,
    }
    if about["version"] == "not installed":
        return about | {"failed": f"{system.library} is not installed: {system.remedy}"}
    if system.needs_test and task.test_from is None:
        remedy = "set where it begins: prepare(corpus, work, test_from=…)"
        return about | {"failed": f"{system.name} needs a stream with a test set; {remedy}"}
    record = Record(task)
    system.run(task, record)
    return about | record.figures()
