"""The stream of a command: its options, its records, and what became of the bad ones.

How many records a stream will have: told by tables, estimated for text files.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import click
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from clasher.cli import terminal
from clasher.cli.format import counted
from clasher.cli.options import handing_over, option, parse_policy, taken
from clasher.cli.terminal import Bar, keep_inputs
from clasher.errors import SettingError
from clasher.io.formats import InputFile
from clasher.io.lines import sniffed
from clasher.io.read_ahead import read_ahead

if TYPE_CHECKING:
    from clasher.datasets import Dataset
    from clasher.io import BadRecords, Batch, Understood
    from clasher.text.hashing import Hashed


SAMPLE = 1 << 20  # bytes of a text file that are looked at


def expected_records(
    paths: Sequence[str],
    format: str | None = None,  # noqa: A002
    limit: int | None = None,
    delimiter: str | None = None,
) -> int | None:
    """The number of records, more or less; None where only reading them all would tell."""
    total = 0
    for path in paths:
        count = _records(sniffed(InputFile.of(path, format, delimiter)))
        if count is None:
            return limit
        total += count
    return total if limit is None else min(total, limit)


def _records(source: InputFile) -> int | None:
    if source.is_standard_input or source.compression or not os.path.isfile(source.name):
        return None
    try:
        if source.kind == "parquet":
            return int(pq.read_metadata(source.name).num_rows)
        if source.kind == "arrow":
            return _arrow_rows(source.name)
        return _lines(source.name)
    except (OSError, pa.ArrowException):
        return None  # the reader will say what is wrong


def _arrow_rows(path: str) -> int:
    with pa.memory_map(path) as file:
        table = pa.ipc.open_file(file)
        return sum(table.get_batch(i).num_rows for i in range(table.num_record_batches))


def _lines(path: str) -> int | None:
    """Lines by the mean length of the first ones."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(SAMPLE)
    lines = head.count(b"\n")
    if len(head) == size:
        return lines + (not head.endswith(b"\n"))
    return round(size * lines / len(head)) if lines else None


BATCH = 1000  # documents between two looks at Ctrl-C

_stream = functools.partial(option, section="Stream")


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Where records come from, as the command line says it."""

    paths: tuple[str, ...]
    text: str | None
    labels: str
    id: str
    label_separator: str | None
    labels_json: bool = False
    format: str | None
    delimiter: str | None = None
    encoding: str | None = None
    limit: int | None
    on_error: Literal["stop", "skip"] | Path

    @property
    def name(self) -> str:
        """The files in a few words."""
        first, *rest = self.paths
        first = "standard input" if first == "-" else Path(first).name
        return f"{first} and {len(rest)} more" if rest else first

    @contextmanager
    def opened(
        self, *, labelled: bool = True, batch_size: int = BATCH
    ) -> Iterator[Iterator[Batch]]:
        """The records in batches; when all went well, says how many were passed over."""
        from clasher.io import BadRecords

        if isinstance(self.on_error, Path):
            keep_inputs({"--on-error dead-letter": str(self.on_error)}, self.paths)
        with BadRecords(self.on_error) as bad:
            how: dict[str, Any] = {
                "batch_size": batch_size, "labelled": labelled, "on_error": bad,
                "limit": self.limit,
            }  # fmt: skip
            yield self._open(how)
            tell_bad(bad, self.on_error)

    def bar(self, *, quiet: bool) -> Bar:
        """A progress bar for this stream."""
        if not terminal.shows_progress(quiet=quiet):
            return Bar(None, shown=False)
        if (dataset := self._dataset()) is not None:
            return Bar(self.limit or dataset.documents, shown=True)

        return Bar(
            expected_records(self.paths, self.format, self.limit, self.delimiter), shown=True
        )

    def _open(self, how: dict[str, Any]) -> Iterator[Batch]:
        if (dataset := self._dataset()) is not None:
            from clasher.datasets import open_dataset

            if len(self.paths) > 1:
                raise SettingError(f"--format {self.format} reads one folder: name one")
            return open_dataset(dataset.name, self.paths[0], **how)
        from clasher.io import Fields, open_stream

        fields = Fields(self.text, self.labels, self.id, self.label_separator, self.labels_json)
        quiet = is_quiet()
        return open_stream(
            self.paths,
            fields,
            format=self.format,
            delimiter=self.delimiter,
            encoding=self.encoding,
            on_labels=lambda understood: tell_labels(understood, quiet=quiet),
            **how,
        )

    def _dataset(self) -> Dataset | None:
        """The dataset that ``--format`` names; a format of files of the same name goes first."""
        if self.format is None:
            return None
        from clasher.datasets import DATASETS
        from clasher.io.formats import KINDS

        return None if self.format in KINDS else DATASETS.get(self.format)


def is_quiet() -> bool:
    """Whether the command that runs was given ``--quiet``."""
    context = click.get_current_context(silent=True)
    return bool(context is not None and context.params.get("quiet"))


def tell_labels(understood: Understood, *, quiet: bool) -> None:
    """Say how labels that are written as one text were understood."""
    terminal.say(str(understood), quiet=quiet or understood.is_late)
    doubt = understood.warning("--label-separator {}")
    if doubt is not None:
        terminal.warn(doubt)


def tell_bad(bad: BadRecords, on_error: str | Path) -> None:
    """Say how many bad records were passed over, and where they are."""
    if bad.skipped:
        letters = f" (they are in {on_error})" if isinstance(on_error, Path) else ""
        records = counted(bad.skipped, "bad record")
        terminal.warn(f"passed over {records}{letters}; the first: {bad.first}")


class Hashing(Protocol):
    """Whatever hashes documents ahead of learning from them."""

    def hash_many(self, texts: Any) -> Hashed:
        """Hash documents."""


def hashed_ahead(model: Hashing, batches: Iterator[Batch]) -> Generator[tuple[Batch, Hashed]]:
    """Read and hash in another thread what the model will need next."""
    return read_ahead(((batch, model.hash_many(batch.texts)) for batch in batches), ahead=2)


def separator_option(add: Any, default: str) -> Any:
    """The option that says what separates labels."""
    return add("--label-separator", metavar="TEXT",
               help=f"What stands between labels in one text (default: {default}).")  # fmt: skip


def json_option(add: Any) -> Any:
    """The option that says that labels are JSON."""
    return add("--labels-json", is_flag=True,
               help="Labels in one text are JSON: a list, or an object label → true or "
                    "false.")  # fmt: skip


LOOKING_AHEAD = "finds out: a list, | or, where the first records show it, ; or ,"
NEVER_GUESSING = "a list, or |; texts with ; or , are refused"


def file_options(add: Any) -> list[Any]:
    """The options that say how text files are written."""
    return [
        add("--delimiter", metavar="CHAR",
            help="What stands between the cells of CSV and TSV (default: the header tells; \\\\t "
                 "is a tab)."),
        add("--encoding", metavar="NAME",
            help="The encoding of text files, such as cp1252 (default: utf-8)."),
    ]  # fmt: skip


def field_options(
    *, labelled: bool, texts: bool = True, separators: str = LOOKING_AHEAD
) -> list[Callable[[Callable[..., None]], Callable[..., None]]]:
    """The options that name the fields of a record, in their order."""
    options: list[Callable[[Callable[..., None]], Callable[..., None]]] = []
    if texts:
        options += [
            _stream("--text", default="text", metavar="FIELD",
                    help="The field of the text (default: text). Dots reach into nested fields: "
                         "payload.body."),
        ]  # fmt: skip
    if labelled:
        options += [
            _stream("--labels", default="labels", metavar="FIELD",
                    help="The field of the labels (default: labels): a list, an object label → "
                         "true or false (the rest is unknown), null (unlabelled), or one text."),
            separator_option(_stream, separators),
            json_option(_stream),
        ]  # fmt: skip
    id_option = _stream("--id", default="id", metavar="FIELD",
                        help="The field of the id (default: id); records without one are "
                             "numbered.")  # fmt: skip
    return [*options, id_option]


def stream_options(
    *, labelled: bool, texts: bool = True, sample: int | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a stream, and hand them over as ``stream``.

    A command that looks at a ``sample`` of so many records can do without a stream, one that reads
    labels alone without ``texts``.
    """
    name = "STREAM..." if sample is None else "[STREAM...]"
    limit = "Stop after N records."
    if sample is not None:
        limit = f"Look at the first N records (default: {sample})."
    options: list[Callable[[Callable[..., None]], Callable[..., None]]] = [
        click.argument("paths", metavar=name, nargs=-1, required=sample is None),
        *field_options(labelled=labelled, texts=texts),
        _stream("--format", metavar="EXT",
                help="The extension that tells the format, such as csv, for files that have "
                     "another one (standard input: jsonl); or the name of a dataset, for the "
                     "folder it is in (see clasher datasets)."),
        *file_options(_stream),
        _stream("--limit", type=click.IntRange(min=1), metavar="N", default=sample, help=limit),
        _stream("--on-error", callback=parse_policy, default="stop",
                metavar="stop|skip|dead-letter FILE",
                help="What to do with a bad record: stop (the default), pass over it, or also "
                     "append it to FILE, with what is wrong and where."),
    ]  # fmt: skip

    def gather(given: dict[str, Any]) -> dict[str, Any]:
        values = taken(given, Stream.__dataclass_fields__)
        if not texts:
            values["text"] = None
        if not labelled:
            values |= unlooked_at(values)
        return {"stream": Stream(**values)}

    return handing_over(options, gather)


def unlooked_at(values: dict[str, Any]) -> dict[str, Any]:
    """For a command that wants no labels: a field that is not looked at, and none of the others."""
    return {
        "labels": values["text"] + values["id"],
        "label_separator": None,
        "labels_json": False,
    }
