"""Records of files and standard input, read in batches and in bounded memory.

Text formats may be compressed as a whole, detected by the first bytes or the extension. Parquet and
Arrow IPC (file or stream format) are compressed inside only. Files are read one after the other.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from clasher.errors import SettingError, StreamError
from clasher.io.csv import read_delimited
from clasher.io.formats import LONGEST_RECORD, Held, InputFile, Reading
from clasher.io.jsonl import read_jsonl
from clasher.io.label_cells import Detection, OnLabels, warn_of
from clasher.io.records import Batch, Fields
from clasher.io.tables import read_table
from clasher.io.writers import BadRecords

PathLike: TypeAlias = str | os.PathLike[str]

READERS = {
    "jsonl": read_jsonl,
    "csv": read_delimited,
    "tsv": read_delimited,
    "parquet": read_table,
    "arrow": read_table,
}


def open_stream(
    paths: PathLike | Sequence[PathLike],
    fields: Fields | None = None,
    *,
    batch_size: int = 1000,
    labelled: bool = True,
    on_error: BadRecords | None = None,
    limit: int | None = None,
    format: str | None = None,  # noqa: A002
    longest: int = LONGEST_RECORD,
    on_labels: OnLabels = warn_of,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Iterator[Batch]:
    r"""Read records from files, or from standard input where a path is ``-``.

    Paths are checked at once; reading begins with the first batch.

    Parameters
    ----------
    paths
        One file or several; ``-`` may appear once.
    fields
        The fields of text, labels and id.
    batch_size
        Records per batch. A batch may be smaller, but never empty: at the end of a file, when a
        live source pauses, if records are long, and after bad ones.
    labelled
        Whether to read labels; if not, the field may be missing.
    on_error
        The policy for bad records; by default the first one stops the stream.
    limit
        The number of records to stop after.
    format
        The extension of a known format, such as ``"csv"`` or ``"jsonl.gz"``, for files with another
        one; standard input is JSON lines by default.
    longest
        The limit of a record in a text file, in bytes.
    on_labels
        Called with how labels written as one text were understood (``clasher.io.label_cells``),
        before the first batch that depends on it, and again if a doubt arises later. By default a
        doubt is a ``LabelFormWarning``.
    delimiter
        The separator of cells of CSV and TSV; by default found in the header.
    encoding
        The encoding of text files, such as ``"cp1252"``; UTF-8 by default.

    Raises
    ------
    StreamError
        A file is missing, unreadable, damaged, or in an unknown format; a table lacks a column;
        there is no good record.
    RecordError
        A record is bad and ``on_error`` is to stop.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "news.csv")
    ...     _ = path.write_text("text,topics\noil prices rise,oil|energy\n")
    ...     for batch in open_stream(path, Fields(labels="topics")):
    ...         print(batch.ids, batch.texts.to_pylist(), sorted(batch.labels[0]))
    [1] ['oil prices rise'] ['energy', 'oil']
    """
    for name, value in (("batch_size", batch_size), ("limit", limit), ("longest", longest)):
        if value is not None and value < 1:
            raise SettingError(f"the {name!r} of a stream must be at least 1. Got {value} instead.")
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    sources = [InputFile.of(path, format, delimiter, encoding) for path in given]
    for source in sources:
        _check(source)
    if sum(source.is_standard_input for source in sources) > 1:
        raise StreamError("standard input can be read once: give - only once")
    fields = fields or Fields()
    guesses = labelled and fields.separator is None and not fields.labels_json
    reading = Reading(fields, labelled, batch_size=batch_size, limit=limit, longest=longest)
    reading.bad = on_error or BadRecords()
    reading.detection, reading.on_labels = Detection(on_labels) if guesses else None, on_labels
    return _read(sources, reading)


def _check(source: InputFile) -> None:
    if source.is_standard_input:
        return
    try:
        status = os.stat(source.name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StreamError(f"{source.name} cannot be read: {reason}") from error
    if stat.S_ISDIR(status.st_mode):
        raise StreamError(f"{source.name} is a directory; name the files in it")
    if source.compression and stat.S_ISREG(status.st_mode) and not status.st_size:
        raise StreamError(f"{source.name} is empty, not even {source.compression} data")


def _read(sources: Sequence[InputFile], reading: Reading) -> Iterator[Batch]:
    yield from reading.settle(_batches(sources, reading))
    if not reading.delivered:
        names = ", ".join(source.name for source in sources) or "a list of no files"
        if not reading.records:
            raise StreamError(f"there is no record in {names}")
        bad = f"none of the {reading.records} records in {names} is good"
        raise StreamError(f"{bad}; the first: {reading.bad.first}")


def _batches(sources: Sequence[InputFile], reading: Reading) -> Iterator[Batch | Held]:
    for source in sources:
        for batch in READERS[source.kind](source, reading):
            if batch.ids:
                reading.delivered += len(batch)
                yield batch
            if not reading.room():
                return
