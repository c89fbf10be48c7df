"""The export: one line for each document or label that people taught, and its replay."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from clasher.errors import FolderError, RecordError
from clasher.service.log import Body, DatabaseError, Entry, Feedback, Learn, Log, Relabel, Taught
from clasher.service.recovery import ServiceFolder
from clasher.service.state import ServiceState
from clasher.service.structs import Lesson

TOGETHER = 1000  # lessons to replay at a time

_decoder = msgspec.json.Decoder(Lesson)


def lessons(entry: Entry) -> Iterator[Lesson]:
    """Yield the lines of one entry of the log."""
    body = entry.body
    line = partial(Lesson, version=entry.seq, at=entry.at, who=entry.who, refused=entry.refused)
    if isinstance(body, Learn):
        for one in body.documents:
            yield line(kind="learn", id=one.id, text=one.text, after=one.labels)
    elif isinstance(body, Feedback):
        yield line(
            kind="feedback" if body.undoes is None else "undo", id=body.id, text=body.text,
            predicted=body.predicted, before=body.before, after=body.after,
            was_taught=body.before is not None, model_version=body.version,
        )  # fmt: skip
    elif isinstance(body, Relabel):
        yield line(kind="label", action=body.action, label=body.label, into=body.into)
    else:
        yield line(kind="model", id=body.digest)


def read_folder(path: str | os.PathLike[str], after: int = 0) -> Iterator[Lesson]:
    """Yield the lessons of a data folder that no process uses, oldest first."""
    if not (Path(path) / "log.sqlite").is_file():
        raise FolderError(f"{os.fspath(path)}: is not the data folder of a service: it has no log")
    with closing(ServiceFolder(path)) as folder, closing(Log(folder.log)) as log:
        try:
            while rows := log.rows(after):
                for row in rows:
                    yield from lessons(row)
                after = rows[-1].seq
        except DatabaseError as error:
            log.abandon()
            raise FolderError(f"{folder.log}: the log cannot be read: {error}") from error


def read_lines(source: Iterable[bytes], name: str) -> Iterator[Lesson]:
    """Yield the lessons of an export's lines.

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


class Replayed(NamedTuple):
    """The numbers of learnt and skipped lessons, and why the first was skipped."""

    lessons: int
    passed_over: int
    first: str | None


def replay(lessons: Iterable[Lesson], state: ServiceState) -> Replayed:
    """Teach the same lessons again, to a model with other settings.

    Each document is predicted before it is learnt, so ``state.quality`` measures how good a model
    with these settings would have been. Refused lessons and replacing models are skipped.
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
                first = first or f"version {lesson.version} replaced the model"
            else:
                entries.append(Entry(state.seq + len(entries) + 1, lesson.at, lesson.who, body))
        refusals = state.apply(entries)
        done += len(entries) - len(refusals)
        passed_over += len(refusals)
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
