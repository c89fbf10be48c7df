"""A model from what was taught: the export read back, with settings of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from clasher.service.entries import Body, Entry, Feedback, Learn, Relabel, Taught
from clasher.service.state import State
from clasher.service.structs import Lesson

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
