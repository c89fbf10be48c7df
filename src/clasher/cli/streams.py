"""The stream of a command: its options, its records, its progress, and its bad records."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from clasher.cli import terminal
from clasher.cli.format import counted
from clasher.cli.options import on_error_option, option_group, pop_values, section
from clasher.errors import SettingError

if TYPE_CHECKING:
    from clasher.datasets import Dataset
    from clasher.io import BadRecords, Batch, Fields, Understood
    from clasher.io.formats import InputFile
    from clasher.io.read_ahead import HeldInterrupt
    from clasher.text.hashing import Hashed

Decorator: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]

BATCH = 1000  # documents between two checks for Ctrl-C
SAMPLE = 1 << 20  # bytes read to estimate the number of lines of a text file

_stream_option = section("Stream")


def stream_options(*, labelled: bool, texts: bool = True, sample: int | None = None) -> Decorator:
    """Give a command the options of a stream, and pass them as ``stream``.

    With ``sample``, the command reads so many records and works without a stream too; without
    ``texts``, it reads ids and labels only.
    """
    paths, limit = "STREAM...", "Stop after N records."
    if sample is not None:
        paths, limit = "[STREAM...]", f"Read the first N records (default: {sample})."
    options: list[Decorator] = [
        click.argument("paths", metavar=paths, nargs=-1, required=sample is None),
        field_options(labelled=labelled, texts=texts),
        _stream_option(
            "--format EXT  The format, as a file extension such as csv, for files with another "
            "extension (standard input: jsonl); or the name of a dataset, to read its folder (see "
            "clasher datasets)."
        ),
        file_options,
        _stream_option(f"--limit N  {limit}", default=sample),
        on_error_option,
    ]

    def collect(given: dict[str, Any]) -> dict[str, Any]:
        others = pop_values(given, ("paths", "limit", "on_error"))
        return {"stream": Stream(**_records(given), **others)}

    return option_group(options, collect)


def record_options(*options: Decorator) -> Decorator:
    """Give a command options of records, and pass them as ``fields`` and ``files``."""
    return option_group(options, _records)


def _records(given: dict[str, Any]) -> dict[str, Any]:
    from clasher.io.records import Fields

    text, id_ = given.pop("text", None), given.pop("id")
    labels = given.pop("labels", f"{text}{id_}")  # a command that reads none: no record has this
    separator, is_json = given.pop("label_separator", None), given.pop("labels_json", False)
    separator = {r"\t": "\t", r"\n": "\n"}.get(separator, separator)
    fields = Fields(text, labels, id_, separator, is_json, given.pop("blank_is_none", False))
    return {"fields": fields, "files": pop_values(given, ("format", "delimiter", "encoding"))}


def field_options(*, labelled: bool, texts: bool = True, guess: bool = True) -> Decorator:
    """Declare the options that name the fields of a record."""
    text = (
        "--text FIELD = text  The field of the text (default: text). Dots reach into nested "
        "fields: payload.body."
    )
    labels = (
        "--labels FIELD = labels  The field of the labels (default: labels): a list, an object "
        "label → true or false (others are unknown), null (unlabelled), or text.",
        *label_texts(guess=guess),
    )
    id_ = "--id FIELD = id  The field of the id; records without one are numbered."
    return _stream_option(*([text] if texts else []), *(labels if labelled else []), id_)


def label_texts(*, guess: bool) -> tuple[str, str, str]:
    """Declare how labels written as text are separated; ``guess``: whether records are sampled."""
    default = "JSON or |; text with ; or , is refused"
    if guess:
        default = "JSON, |, or what the first records suggest: ; or ,"
    return (
        f"--label-separator TEXT  What separates the labels in a text, \\t for a tab (default: "
        f"{default}).",
        "--labels-json  Labels are JSON in a text: a list, or an object label → true or false.",
        "--blank-is-none  Documents with blank labels have none (default: theirs are unknown).",
    )


file_options = _stream_option(
    "--delimiter CHAR  What separates the cells of CSV and TSV, \\t for a tab (default: read from "
    "the header).",
    "--encoding NAME  The encoding of text files, such as cp1252 (default: utf-8).",
)


@dataclass
class Pass:
    """Hashed batches of a stream, to iterate over once; Ctrl-C ends them after the current one."""

    bar: terminal.Bar
    facts: Callable[[], Sequence[str]]
    _source: Generator[tuple[Batch, Hashed]]
    _ctrl_c: HeldInterrupt

    def __iter__(self) -> Iterator[tuple[Batch, Hashed]]:
        for batch, hashed in self._ctrl_c.between(self._source):
            yield batch, hashed
            self.bar.advance(len(batch), self.facts)

    def exit_if_interrupted(self) -> None:
        """Exit if Ctrl-C ended the stream."""
        if self._ctrl_c.asked:
            terminal.leave_interrupted(self.bar.documents)


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The stream that the options of a command describe."""

    paths: tuple[str, ...]
    fields: Fields
    files: dict[str, Any]  # their format, delimiter and encoding
    limit: int | None = None
    on_error: Literal["stop", "skip"] | Path

    @property
    def name(self) -> str:
        """A short name for the files."""
        first, *rest = self.paths
        first = "standard input" if first == terminal.STANDARD_STREAM else Path(first).name
        return f"{first} and {len(rest)} more" if rest else first

    @contextmanager
    def opened(
        self, *, labelled: bool = True, batch_size: int = BATCH
    ) -> Iterator[Iterator[Batch]]:
        """Read records in batches; at the end, report how many bad ones were skipped."""
        from clasher.io import BadRecords

        if isinstance(self.on_error, Path):
            terminal.protect_inputs({"--on-error dead-letter": str(self.on_error)}, self.paths)
        with BadRecords(self.on_error) as bad:
            yield self._batches(bad, batch_size=batch_size, labelled=labelled)
            report_bad(bad, self.on_error)

    @contextmanager
    def hashed(
        self,
        model: Any,
        *,
        warm_up: Callable[[], object],
        labelled: bool = False,
        batch_size: int = BATCH,
        facts: Callable[[], Sequence[str]] = tuple,
        output: str | None = None,
    ) -> Iterator[Pass]:
        """Read and hash batches in a thread, show progress, and hold Ctrl-C between batches.

        ``warm_up`` compiles the kernels of the model once the stream is open. ``facts`` appear
        beside the progress bar, which is hidden if ``output`` goes to a terminal.
        """
        from clasher.io.read_ahead import HeldInterrupt, read_ahead

        with self.opened(labelled=labelled, batch_size=batch_size) as batches:
            with terminal.compiling():
                warm_up()
            hidden = output == terminal.STANDARD_STREAM and terminal.on_terminal()
            hashed = ((batch, model.hash_many(batch.texts)) for batch in batches)
            with (
                self.bar(hidden=hidden) as bar,
                HeldInterrupt() as ctrl_c,
                closing(read_ahead(hashed, ahead=2)) as source,
            ):
                yield Pass(bar, facts, source, ctrl_c)

    def bar(self, *, hidden: bool = False) -> terminal.Bar:
        """Return a progress bar for this stream."""
        if hidden or not terminal.shows_progress():
            return terminal.Bar(None, shown=False)
        if (dataset := self._dataset()) is not None:
            return terminal.Bar(self.limit or dataset.documents, shown=True)
        return terminal.Bar(expected_records(self.paths, self.limit, **self.files), shown=True)

    def _batches(self, bad: BadRecords, **how: Any) -> Iterator[Batch]:
        how |= {"on_error": bad, "limit": self.limit}
        if (dataset := self._dataset()) is not None:
            from clasher.datasets import open_dataset

            if len(self.paths) > 1:
                raise SettingError(f"--format {dataset.name} reads one folder: name one")
            return open_dataset(dataset.name, self.paths[0], **how)
        from clasher.io import open_stream

        quiet = terminal.is_quiet()  # another thread may read

        def on_labels(understood: Understood) -> None:
            if not quiet and not understood.is_late:
                terminal.say(str(understood))
            if (doubt := understood.warning(at_terminal=True)) is not None:
                terminal.warn(doubt)

        return open_stream(self.paths, self.fields, on_labels=on_labels, **self.files, **how)

    def _dataset(self) -> Dataset | None:
        """Return the dataset that ``--format`` names, unless it is a file format."""
        if (name := self.files.get("format")) is None:
            return None
        from clasher.datasets import DATASETS
        from clasher.io.formats import KINDS

        return None if name in KINDS else DATASETS.get(name)


def report_bad(bad: BadRecords, on_error: str | Path) -> None:
    """Report how many bad records were skipped, and where they are."""
    if bad.skipped:
        letters = f" (see {on_error})" if isinstance(on_error, Path) else ""
        records = counted(bad.skipped, "bad record")
        terminal.warn(f"skipped {records}{letters}; the first: {bad.first}")


def expected_records(
    paths: Sequence[str], limit: int | None = None, **files: str | None
) -> int | None:
    """Estimate the number of records; None if only reading them all would tell."""
    from clasher.io.formats import InputFile
    from clasher.io.lines import sniffed

    counts = [_expected(sniffed(InputFile.of(path, **files))) for path in paths]
    total = sum(count or 0 for count in counts)
    if None in counts:
        return limit
    return total if limit is None else min(total, limit)


def _expected(source: InputFile) -> int | None:
    """Return the rows of a table, or the lines of a text file by the mean length of the first."""
    if source.is_standard_input or source.compression or not os.path.isfile(source.name):
        return None
    import pyarrow as pa
    import pyarrow.dataset

    try:
        if source.kind in ("parquet", "arrow"):
            return int(pa.dataset.dataset(source.name, format=source.kind).count_rows())
        size = os.path.getsize(source.name)
        with open(source.name, "rb") as file:
            head = file.read(SAMPLE)
    except (OSError, pa.ArrowException):
        return None  # the reader will say what is wrong
    lines = head.count(b"\n")
    if len(head) == size:
        return lines + (not head.endswith(b"\n"))
    return round(size * lines / len(head)) if lines else None
