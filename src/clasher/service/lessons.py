"""The export: what people taught, a line for each document or label."""

from __future__ import annotations

from collections.abc import Iterator

from clasher.service.entries import Feedback, Learn, Relabel
from clasher.service.log import Row
from clasher.service.structs import Lesson


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
            after=body.after, model_version=body.version, refused=refused,
        )  # fmt: skip
    elif isinstance(body, Relabel):
        yield Lesson(
            version=seq, at=at, who=who, kind="label", action=body.action, label=body.label,
            into=body.into, refused=refused,
        )  # fmt: skip
    else:
        yield Lesson(version=seq, at=at, who=who, kind="model", id=body.digest, refused=refused)
