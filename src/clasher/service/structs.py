"""The options of an ``Engine``, and its inputs and outputs: plain values for JSON."""

import dataclasses
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from clasher.errors import require_positive
from clasher.runtime.judged import Labels
from clasher.runtime.quality import Estimate, Measures

# why a document was picked for teaching
Reason: TypeAlias = Literal["uncertain", "diverse", "random"]
Action: TypeAlias = Literal["rename", "merge", "retire", "pin", "unpin"]  # on a label


@dataclasses.dataclass(frozen=True)
class QueueBounds:
    """How many predicted documents to keep, how many bytes, and for how many seconds."""

    documents: int = 10_000
    bytes: int = 64 * 2**20
    seconds: float = 7 * 86400.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The bounds of a service."""

    awaiting: QueueBounds = dataclasses.field(default_factory=QueueBounds)
    lease_seconds: float = 600.0  # how long a document is reserved for the person who teaches it
    # how much may wait to be written and learnt before further requests are refused
    waiting_requests: int = 4096
    waiting_bytes: int = 64 * 2**20
    # how much to learn and write between two snapshots: the most that a start has to replay
    snapshot_documents: int = 50_000
    snapshot_bytes: int = 64 * 2**20
    log_bytes: int = 10**9  # of the log, kept for export and replay
    keys: int = 100_000  # idempotency keys that are remembered
    key_seconds: float = 7 * 86400.0
    recent_documents: int = 50  # that a receipt compares

    def __post_init__(self) -> None:
        for name in ("waiting_requests", "waiting_bytes", "snapshot_documents", "snapshot_bytes"):
            require_positive("EngineOptions", name, getattr(self, name))


class Document(Struct, frozen=True, kw_only=True):
    """A text, with its labels as far as they are known."""

    text: str
    id: str | None = None
    labels: Labels = None


class Prediction(Struct, frozen=True, kw_only=True):
    """The predicted labels of a document; feedback names its ``id``.

    ``probabilities`` are pairs, best first: the predicted labels and the best others, as many as
    requested. ``version`` is the version of the model that predicted.
    """

    id: str
    labels: list[str]
    probabilities: list[tuple[str, float]]
    version: int


class ChangedPrediction(Struct, frozen=True, kw_only=True):
    """A recent document that would now get other labels."""

    id: str
    text: str
    before: list[str]
    after: list[str]


class Changes(Struct, frozen=True, kw_only=True):
    """The effect of an answer: values before and after; ``probabilities`` per label.

    Answers that are learnt together share the list of changed documents.
    """

    probabilities: list[tuple[str, float, float]]
    threshold: tuple[float, float]
    documents: list[ChangedPrediction]


class Receipt(Struct, frozen=True, kw_only=True):
    """The confirmation that a request was saved and learnt.

    ``version`` is the number of the log entry and of the model that has learnt it; undo names it.
    ``is_duplicate`` is set if a request with the same key was learnt before.
    """

    version: int
    documents: int = 0
    is_duplicate: bool = False
    id: str | None = None
    before: Labels = None
    after: Labels = None
    changes: Changes | None = None


class Passage(Struct, frozen=True, kw_only=True):
    """Part of a text, in characters, and its evidence for a label (negative: against it)."""

    start: int
    stop: int
    evidence: float


class Explained(Struct, frozen=True, kw_only=True):
    """The evidence for a label: ``words`` in the order of the text, ``other`` from elsewhere.

    ``words`` holds the 1,000 weightiest stretches; ``other["words left out"]`` sums up the rest.
    """

    label: str
    is_predicted: bool
    probability: float
    words: list[Passage]
    other: dict[str, float]


class LabelInfo(Struct, frozen=True, kw_only=True):
    """A label; its ``id`` survives renaming.

    ``support`` counts the documents that taught it. ``history`` is its F1 in each pane of the
    recent past, None where nothing was judged. ``has_drifted`` is set if a recent alarm names it.
    ``unseen`` counts the documents since it last occurred; ``weight`` is roughly the part that is
    left of its documents, 1 if nothing fades. ``is_next`` marks the label to be evicted next.
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
    """A page of labels, and the number of all that match."""

    labels: list[LabelInfo]
    total: int


class NameList(Struct, frozen=True, kw_only=True):
    """All labels, most frequent first: number, name, support, whether it is pinned."""

    version: int
    names: list[tuple[int, str, int, bool]]


class Recent(Struct, frozen=True, kw_only=True):
    """A recent document: its prediction, and the labels that people gave it.

    ``digest`` identifies its text: an answer that names it applies to this text.
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
    """Details of one label; ``recent`` is None for users who may not see texts."""

    label: LabelInfo
    neighbours: list[tuple[str, float]]
    recent: list[Recent] | None


class Metrics(Struct, frozen=True, kw_only=True):
    """Counts and measures of the service; byte counts are current."""

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
    model_dropped_values: int
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
    """A document to teach: suggested labels, best first, and why it was picked.

    ``digest`` identifies its text: send it with the answer, which then applies to this text.
    """

    id: str
    text: str
    digest: str
    labels: list[str]
    probabilities: list[tuple[str, float]]
    reason: Reason
    leased_until: float


class Leased(Struct, frozen=True, kw_only=True):
    """A lease: until when a document is reserved for the person who asked."""

    id: str
    digest: str
    leased_until: float


class DriftAlarm(Struct, frozen=True, kw_only=True):
    """A drift alarm of the model (see ``clasher.Alarm``); ``label`` None means all labels.

    ``at`` is its time, None if it came with a replaced model. ``frequency`` is the label's share of
    recent documents, ``frequency_before`` of earlier ones, None if too few were judged.
    ``recovered`` is its recent F1, None if too few were judged since.
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
    """A line of the export: what was taught, by whom and when.

    ``kind`` is ``learn``, ``feedback``, ``undo``, ``label`` or ``model``. ``before`` holds earlier
    labels from people, as in the receipt (``was_taught``: there are some); ``predicted`` those of
    the model of ``model_version``. ``refused`` says why the entry was not applied.
    """

    version: int
    at: float
    who: str
    kind: str
    id: str | None = None
    text: str | None = None
    predicted: list[str] | None = None
    before: Labels = None
    after: Labels = None
    was_taught: bool = False
    model_version: int | None = None
    action: Action | None = None
    label: str | None = None
    into: str | None = None
    refused: str | None = None


class Event(Struct, frozen=True, kw_only=True):
    """An event: see ``Engine.subscribe``."""

    number: int
    at: float
    kind: str
    data: dict[str, Any]
