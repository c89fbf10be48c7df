"""The export: what people taught, a line for each document or label."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from clasher.errors import FolderError, RecordError
from clasher.service.entries import Feedback, Learn, Relabel
from clasher.service.folder import DataFolder
from clasher.service.log import LibraryError, Log, Row
from clasher.service.structs import Lesson

_decoder = msgspec.json.Decoder(Lesson)


def lessons(row: Row) -> Iterator[Lesson]:
    """The lines of one entry of the log."""
    seq, at, who, body = row.entry.seq, row.entry.at, row.entry.who, row.entry.body
    refused = row.refused
    if isinstance(body, Learn):
        for document in body.documents:
            yield Lesson(
                version=seq, at=at, who=who, kind="learn", id=document.id, text=document.text,
                after=document.labels, refused=refused,
            )  # fmt: skip
    elif isinstance(body, Feedback):
        before = body.predicted if body.before is None else body.before
        yield Lesson(
            version=seq, at=at, who=who, kind="feedback" if body.undoes is None else "undo",
            id=body.id, text=body.text, before=before,
            after=body.after, was_taught=body.before is not None, model_version=body.version,
            refused=refused,
        )  # fmt: skip
    elif isinstance(body, Relabel):
        yield Lesson(
            version=seq, at=at, who=who, kind="label", action=body.action, label=body.label,
            into=body.into, refused=refused,
        )  # fmt: skip
    else:
        yield Lesson(version=seq, at=at, who=who, kind="model", id=body.digest, refused=refused)


def read_folder(path: str | os.PathLike[str], after: int = 0) -> Iterator[Lesson]:
    """What was taught in a data folder that no process uses, oldest first.

    Raises ``FolderError`` where there is none, or where it is in use.
    """
    if not (Path(path) / "log.sqlite").is_file():
        raise FolderError(f"{os.fspath(path)}: is no data folder of a service: it has no log")
    folder = DataFolder(path)
    try:
        log = Log(folder.log)
        try:
            while rows := log.rows(after):
                for row in rows:
                    yield from lessons(row)
                after = rows[-1].entry.seq
        except LibraryError as error:
            log.abandon()
            raise FolderError(f"{folder.log}: the log cannot be read: {error}") from error
        finally:
            log.close()
    finally:
        folder.close()


def read_lines(source: Iterable[bytes], name: str) -> Iterator[Lesson]:
    """What was taught, from the lines of an export.

    >>> line = b'{"version": 1, "at": 0, "who": "ann", "kind": "model"}'
    >>> [lesson.who for lesson in read_lines([line], "-")]
    ['ann']
    """
    for place, line in enumerate(source, 1):
        if line.strip():
            try:
                yield _decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                remedy = "this must be a line of clasher log"
                raise RecordError(name, place, str(error), remedy, line) from error
