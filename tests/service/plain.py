"""The oracle: a model taught lesson by lesson, without log, batches or snapshots."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clasher import Clasher
from clasher.errors import LabelError, NotLearntError
from clasher.service.structs import Lesson
from clasher.settings import Settings


def model_of(settings: Settings) -> Clasher:
    """Make an empty model."""
    return Clasher(**{name: getattr(settings, name) for name in settings.__dataclass_fields__})


def file_bytes(model: Clasher) -> bytes:
    """Return the bytes of a model's file: equal models give equal bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        return path.read_bytes()


class Plain:
    """Make a model from lessons, in order."""

    def __init__(self, settings: Settings) -> None:
        self.model = model_of(settings)
        self.former: dict[str, str] = {}
        self.learned = 0

    def teach(self, lessons: Iterable[Lesson]) -> Plain:
        for lesson in lessons:
            if lesson.refused is None:
                self.one(lesson)
        return self

    def one(self, lesson: Lesson) -> None:
        if lesson.kind == "label":
            self.relabel(lesson)
            return
        before = self.now(lesson.before) if lesson.was_taught else None
        after = self.now(lesson.after)
        if not lesson.was_taught:
            self.model.learn(lesson.text, after)
            self.learned += 1
        else:
            self.relearn(lesson.text, before, after)
            self.learned -= after is None

    def relearn(self, text: str, before: Any, after: Any) -> None:
        try:
            if after is None:
                self.model.unlearn(text, before)
            else:
                self.model.correct(text, before, after)
        except (LabelError, NotLearntError):
            if after is not None:
                self.model.learn(text, after)

    def relabel(self, lesson: Lesson) -> None:
        label, into = self.name(lesson.label), lesson.into
        if lesson.action == "rename" and label != into:
            self.model.rename_label(label, into)
            self.give_up(label, into)
        elif lesson.action == "merge":
            self.model.merge_labels(label, self.name(into))
            self.give_up(label, self.name(into))
        elif lesson.action == "retire":
            self.model.retire_label(label)
            self.former = {old: new for old, new in self.former.items() if new != label}

    def give_up(self, old: str, new: str) -> None:
        self.former = {a: new if b == old else b for a, b in self.former.items()}
        self.former[old] = new
        self.former.pop(new, None)

    def name(self, label: Any) -> Any:
        return label if label in self.model.labels else self.former.get(label, label)

    def now(self, labels: Any) -> Any:
        if labels is None:
            return None
        if isinstance(labels, dict):
            return {self.name(label): yes for label, yes in labels.items()}
        return {self.name(label) for label in labels}
