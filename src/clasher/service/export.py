"""A model from what was taught: the export read back, with settings of one's own.

The export: what people taught, a line for each document or label.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from clasher.errors import FolderError, RecordError
from clasher.runtime.folder import DataFolder
from clasher.service.log import (
    Body,
    Entry,
    Feedback,
    Learn,
    LibraryError,
    Log,
    Relabel,
    Row,
    Taught,
)
from clasher.service.state import State
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


TOGETHER = 1000  # lessons at a time


class Replayed(NamedTuple):
    """How many lessons were learnt, and how many could not be: what the first of them said."""

    lessons: int
    passed_over: int
    first: str | None


def replay(lessons: Iterable[Lesson], state: State) -> Replayed:
    """Teach the same again.

    Documents are predicted before they are learnt, so ``state.quality`` says how good a model with
    these settings would have been. Lessons that were refused are left out, models that were put in
    the place of others are passed over.

    Examples
    --------
    >>> from clasher.model import Clasher
    >>> state = State(Clasher(1024, rule="centroid"))
    >>> lesson = Lesson(version=1, at=0.0, who="ann", kind="learn", text="wheat", after=["grain"])
    >>> replay([lesson], state).lessons, state.model.labels
    (1, ['grain'])
    """
    done = passed_over = 0
    first: str | None = None
    source = (lesson for lesson in lessons if lesson.refused is None)
    while batch := list(islice(source, TOGETHER)):
        entries: list[Entry] = []
        for lesson in batch:
            body = _body(lesson)
            if body is None:
                passed_over += 1
                first = first or f"version {lesson.version} put another model in place"
            else:
                done += 1
                entries.append(Entry(state.seq + len(entries) + 1, lesson.at, lesson.who, body))
        refusals = state.apply(entries)
        passed_over += len(refusals)
        done -= len(refusals)
        first = first or next(iter(refusals.values()), None)
    return Replayed(done, passed_over, first)


def _body(lesson: Lesson) -> Body | None:
    if lesson.kind == "label" and lesson.action is not None and lesson.label is not None:
        return Relabel(action=lesson.action, label=lesson.label, into=lesson.into)
    if lesson.text is None:
        return None
    if lesson.was_taught:
        return Feedback(
            id=lesson.id or "", text=lesson.text, predicted=[], before=lesson.before,
            after=lesson.after, is_judged=False,
        )  # fmt: skip
    return Learn([Taught(lesson.text, lesson.after, lesson.id)])
