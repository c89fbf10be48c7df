"""What requests and answers look like, beside the structs of the engine.

Bounds stand in the types: the decoder holds requests to them, and the OpenAPI document tells them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from clasher.server.limits import (
    LONGEST_ID,
    LONGEST_LABEL,
    LONGEST_TEXT,
    MOST_ANSWERS,
    MOST_DOCUMENTS,
    MOST_LABELS,
)
from clasher.server.problems import Problem
from clasher.server.tokens import Scope
from clasher.service.structs import (
    Action,
    Alarmed,
    Document,
    Explained,
    Leased,
    Metrics,
    Prediction,
    Receipt,
    Recent,
    TeachItem,
)

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_LABEL)]
Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Text: TypeAlias = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Top: TypeAlias = Annotated[int, Meta(ge=0, le=1000)]
Whole: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Digest: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
Given: TypeAlias = (
    Annotated[list[Name], Meta(max_length=MOST_LABELS)]
    | Annotated[dict[Name, bool], Meta(max_length=MOST_LABELS)]
)
"""A list: these labels and no others; a mapping: yes and no, the rest unknown."""

# ── in ───────────────────────────────────────────────────────────────────────────────────────


class DocumentIn(Document, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document to predict or to learn.

    ``labels`` as a list: these and no others; as a mapping: yes and no, the rest unknown; null or
    left out: unlabelled. Without an ``id`` it gets one.
    """

    text: Text
    id: Id | None = None
    labels: Given | None = None


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The labels of a document that was predicted under this id.

    ``digest`` is that of the text that was shown (``/v1/teach`` and ``/v1/documents/{id}`` tell
    it): the answer is learnt on this text, or refused, but never learnt on another one.
    """

    id: Id
    labels: Given
    digest: Digest | None = None


class Batch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Documents, one or many."""

    documents: list[Any]


class Documents(Batch, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Documents to learn."""

    documents: Annotated[list[DocumentIn], Meta(min_length=1, max_length=MOST_DOCUMENTS)]


class ToPredict(Documents, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Documents to predict: give the ``top`` probabilities; ``keep`` them for feedback, or not."""

    top: Top | None = None
    keep: bool | None = None


class Answers(Batch, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Labels of documents that were predicted."""

    documents: Annotated[list[Answer], Meta(min_length=1, max_length=MOST_ANSWERS)]


class Explain(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text, and the labels to explain: these, or the ``top`` best ones."""

    text: Text
    labels: Annotated[list[Name], Meta(max_length=100)] | None = None
    top: Annotated[int, Meta(ge=1, le=100)] = 3


class ForAnnif(Struct, frozen=True, kw_only=True):
    """A text, and how many subjects Annif wants of it; what else Annif tells does not matter."""

    text: Text
    limit: Annotated[int, Meta(ge=1, le=1000)] = 10


class Undo(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The version of the answer that is to be taken back: see its receipt."""

    version: Whole


class Lease(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many documents somebody wants to teach, or which."""

    most: Annotated[int, Meta(ge=1, le=100)] = 1
    ids: Annotated[list[Id], Meta(min_length=1, max_length=100)] | None = None


class Renew(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Documents whose leases are to be prolonged."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=100)]


class Release(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Documents that are given back unanswered."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=100)]


class Change(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to do to a label; ``into`` is its new name, or the label that it becomes one with."""

    action: Action
    into: Name | None = None


# ── asked for in the address ─────────────────────────────────────────────────────────────────


class PredictQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``top``: probabilities of how many labels; ``keep``: whether feedback may follow."""

    top: Top = 5
    keep: bool = True


class LabelsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of the labels whose names contain ``query``, ``words`` of each.

    Without an ``order``, names ascend, and the largest figures come first.
    """

    query: Annotated[str, Meta(max_length=LONGEST_LABEL)] = ""
    sort: Literal["support", "name", "precision", "recall", "f1", "unseen"] = "support"
    order: Literal["asc", "desc"] | None = None
    start: Whole = 0
    most: Annotated[int, Meta(ge=1, le=10_000)] = 100
    words: Annotated[int, Meta(ge=0, le=100)] = 5


class LabelPath(Struct, frozen=True, kw_only=True):
    """The number of a label, which stays through renamings."""

    id: Whole


class DocumentPath(Struct, frozen=True, kw_only=True):
    """The id of a document, as it was sent or given out."""

    id: Id


class RecentQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of the last documents."""

    most: Annotated[int, Meta(ge=1, le=1000)] = 50


class LogQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was taught after this version."""

    after: Whole = 0


# ── out ──────────────────────────────────────────────────────────────────────────────────────


class Predictions(Struct, frozen=True, kw_only=True):
    """The predictions, in the order of the documents."""

    predictions: list[Prediction]


class NotTaken(Problem, frozen=True, kw_only=True):
    """Why an answer was not taken: that of document number ``index``, counted from 0."""

    index: int


class Receipts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The receipts of the answers that were taken, in their order; why others were not."""

    receipts: list[Receipt]
    problems: list[NotTaken] = []


class Explanations(Struct, frozen=True, kw_only=True):
    """Why these labels, the best first; offsets are characters of the text."""

    explanations: list[Explained]


class Suggestion(Struct, frozen=True, kw_only=True):
    """A subject, by its URI and by a name, and how probable it is."""

    uri: str
    label: str
    score: float


class Suggestions(Struct, frozen=True, kw_only=True):
    """Subjects, the best first."""

    results: list[Suggestion]


class Project(Struct, frozen=True, kw_only=True):
    """What Annif asks of a project before it asks for suggestions."""

    is_trained: bool


class RecentList(Struct, frozen=True, kw_only=True):
    """The last documents, the newest first."""

    documents: list[Recent]


class AlarmList(Struct, frozen=True, kw_only=True):
    """The changes that the model noticed, the newest first."""

    alarms: list[Alarmed]


class Items(Struct, frozen=True, kw_only=True):
    """Documents to teach, leased."""

    items: list[TeachItem]


class Renewed(Struct, frozen=True, kw_only=True):
    """The leases as they are now, and the ids of documents that are no longer leased to you."""

    leases: list[Leased]
    lost: list[str]


class Figures(Metrics, frozen=True, kw_only=True):
    """How the service is doing.

    ``latency_ms`` has the median and the 99th percentile, in the last minute, of requests to
    predict and to learn; null where there were none.
    """

    documents_per_second: float
    requests: int
    latency_ms: dict[str, tuple[float, float] | None]
    awaiting_seconds: float
    settings: dict[str, Any]


class About(Struct, frozen=True, kw_only=True):
    """What runs here: its version, the settings of its model, its bounds; and who asks."""

    version: str
    who: str
    scope: Scope
    settings: dict[str, Any]
    options: dict[str, Any]
    limits: dict[str, Any]


class Health(Struct, frozen=True, kw_only=True):
    """Whether it runs, or is ready: ``ok``, ``recovering`` or ``stopping``."""

    status: Literal["ok", "recovering", "stopping"]
