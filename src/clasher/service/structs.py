"""What goes into an ``Engine`` and what comes out of it: plain values, ready for JSON."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from clasher.runtime.judged import Labels
from clasher.runtime.quality import Estimate, Measures

Reason: TypeAlias = Literal["uncertain", "diverse", "random"]
"""Why a document was picked for teaching."""

Action: TypeAlias = Literal["rename", "merge", "retire", "pin", "unpin"]
"""What can be done to a label."""


class Document(Struct, frozen=True, kw_only=True):
    """A text, and what is known of its labels."""

    text: str
    id: str | None = None
    labels: Labels = None


class Prediction(Struct, frozen=True, kw_only=True):
    """The labels of a document, under the id that feedback is to name.

    ``probabilities`` lists these labels and as many more as were asked for, as pairs, the best
    first; ``version`` is that of the model which said so.
    """

    id: str
    labels: list[str]
    probabilities: list[tuple[str, float]]
    version: int


class Otherwise(Struct, frozen=True, kw_only=True):
    """A recent document that would now be labelled otherwise."""

    id: str
    text: str
    before: list[str]
    after: list[str]


class Changes(Struct, frozen=True, kw_only=True):
    """What an answer has changed: before and after; ``probabilities`` label by label.

    Answers that are learnt together share the recent documents that they change.
    """

    probabilities: list[tuple[str, float, float]]
    threshold: tuple[float, float]
    documents: list[Otherwise]


class Receipt(Struct, frozen=True, kw_only=True):
    """What was written and learnt.

    ``version`` is the number of the log's entry, and of the model that has learnt it: undo names
    it. ``is_duplicate`` says that the same was said before under the same key, and counted then.
    """

    version: int
    documents: int = 0
    is_duplicate: bool = False
    id: str | None = None
    before: Labels = None
    after: Labels = None
    changes: Changes | None = None


class Stretch(Struct, frozen=True, kw_only=True):
    """A stretch of a text, in characters, and its evidence for a label (negative: against it)."""

    start: int
    stop: int
    evidence: float


class Explained(Struct, frozen=True, kw_only=True):
    """Why a label: ``words`` in the order of the text, ``other`` what came from elsewhere.

    The 1,000 weightiest stretches are told; ``other`` has the sum of the rest: ``words left out``.
    """

    label: str
    is_predicted: bool
    probability: float
    words: list[Stretch]
    other: dict[str, float]


class LabelInfo(Struct, frozen=True, kw_only=True):
    """A label: ``id`` stays through renamings.

    ``support`` are the documents that taught it; ``history`` is its F1 in the stretches of the
    recent past, None where nothing was judged; ``has_drifted`` where a recent alarm is about it.
    It was last spoken of ``unseen`` documents ago, and ``weight`` is about the part that is left of
    what it was taught, 1 where nothing fades. ``is_next`` says that it makes room for a new label.
    """

    id: int
    name: str
    support: int
    precision: Estimate
    recall: Estimate
    f1: Estimate
    is_pinned: bool = False
    has_drifted: bool = False
    unseen: int = 0
    weight: float = 1.0
    is_next: bool = False
    history: list[float | None] = field(default_factory=list)
    words: list[tuple[str, float]] = field(default_factory=list)


class LabelList(Struct, frozen=True, kw_only=True):
    """A page of the labels, and how many there are in all that match."""

    labels: list[LabelInfo]
    total: int


class NameList(Struct, frozen=True, kw_only=True):
    """All labels: number, name, support, whether it is pinned; the most frequent first."""

    version: int
    names: list[tuple[int, str, int, bool]]


class Recent(Struct, frozen=True, kw_only=True):
    """A document of the recent past: what was predicted, and what people said.

    ``digest`` identifies its text: an answer that names it is learnt on this text.
    """

    id: str
    at: float
    text: str
    predicted: list[str]
    probabilities: list[tuple[str, float]]
    taught: Labels = None
    version: int = 0
    digest: str = ""


class LabelPage(Struct, frozen=True, kw_only=True):
    """All about one label; ``recent`` is None for those who may not see texts."""

    label: LabelInfo
    neighbours: list[tuple[str, float]]
    recent: list[Recent] | None


class Metrics(Struct, frozen=True, kw_only=True):
    """How the service is doing; byte counts are of now."""

    documents_learned: int
    documents_predicted: int
    documents_taught: int
    labels: int
    version: int
    cumulative: Measures
    recent: Measures
    threshold: float
    model_bytes: int
    model_bytes_most: int
    memory_bytes: int
    disk_bytes: int
    disk_bytes_most: int
    log_entries: int
    log_dropped: int
    awaiting: int
    awaiting_most: int
    awaiting_dropped: int
    leased: int
    waiting_requests: int
    waiting_most: int
    subscribers: int
    subscribers_dropped: int
    snapshot_version: int
    uptime_seconds: float


class TeachItem(Struct, frozen=True, kw_only=True):
    """A document to teach: suggestions, the best first, and why it was picked.

    ``digest`` identifies its text: send it with the answer, so that it is learnt on this text.
    """

    id: str
    text: str
    digest: str
    labels: list[str]
    probabilities: list[tuple[str, float]]
    reason: Reason
    leased_until: float


class Leased(Struct, frozen=True, kw_only=True):
    """Until when a document, of this text, belongs to the person who asked."""

    id: str
    digest: str
    leased_until: float


class Alarmed(Struct, frozen=True, kw_only=True):
    """A change that the model noticed: see ``clasher.Alarm``; ``label`` None is all of them.

    ``at`` is when, None where it came with a model. ``frequency`` is the label's share of recent
    documents, ``frequency_before`` of those before, None where too few were judged. ``recovered``
    is its recent F1, None where too little was judged since.
    """

    document: int
    label: str | None
    at: float | None = None
    frequency_before: float | None = None
    frequency: float | None = None
    error_before: float
    error_after: float
    gained: list[str]
    lost: list[str]
    words: str
    recovered: Estimate | None = None
    teach: list[str] = field(default_factory=list)


class Lesson(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the export: what was taught, by whom, when, and what was there before.

    ``kind`` is ``learn``, ``feedback``, ``undo``, ``label`` or ``model``. Of a document, ``before``
    is what the model had predicted or, where people had spoken already, what they had said.
    ``was_taught`` says which of the two. ``model_version`` is that of the model which predicted.
    What could not be done, and was not, has a ``refused``.
    """

    version: int
    at: float
    who: str
    kind: str
    id: str | None = None
    text: str | None = None
    before: Labels = None
    after: Labels = None
    was_taught: bool = False
    model_version: int | None = None
    action: Action | None = None
    label: str | None = None
    into: str | None = None
    refused: str | None = None


class Event(Struct, frozen=True, kw_only=True):
    """Something happened: see ``Engine.subscribe``."""

    number: int
    at: float
    kind: str
    data: dict[str, Any]
