"""Requests and answers, besides the structs of the engine.

Limits are part of the types: the decoder enforces them and the OpenAPI document shows them.
"""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from clasher.server import limits
from clasher.server.problems import Problem
from clasher.server.tokens import Scope
from clasher.service import structs

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.LONGEST_LABEL)]
Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.LONGEST_ID)]
Ids: TypeAlias = Annotated[list[Id], Meta(min_length=1, max_length=100)]
Text: TypeAlias = Annotated[str, Meta(max_length=limits.LONGEST_TEXT)]
Top: TypeAlias = Annotated[int, Meta(ge=0, le=1000)]
Whole: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
GivenLabels: TypeAlias = (
    Annotated[list[Name], Meta(max_length=limits.MOST_LABELS)]
    | Annotated[dict[Name, bool], Meta(max_length=limits.MOST_LABELS)]
)


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request body; undeclared fields are errors."""


class DocumentIn(structs.Document, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A document to predict or to learn.

    ``labels`` as a list: exactly these labels; as a mapping: yes or no for some labels, the others
    unknown; null or absent: unlabelled. A document without an ``id`` gets one.
    """

    text: Text
    id: Id | None = None
    labels: GivenLabels | None = None


class Answer(Request, frozen=True, kw_only=True):
    """The correct labels of a document that was predicted under this id.

    ``digest`` identifies the text that was shown (``/v1/teach`` and ``/v1/documents/{id}`` return
    it): the model learns the answer on this text or not at all.
    """

    id: Id
    labels: GivenLabels
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | None = None


class Documents(Request, frozen=True, kw_only=True):
    """Documents to learn."""

    documents: Annotated[list[DocumentIn], Meta(min_length=1, max_length=limits.MOST_DOCUMENTS)]


class PredictRequest(Documents, frozen=True, kw_only=True):
    """Documents to predict: return the ``top`` probabilities; ``keep`` the texts for feedback."""

    top: Top | None = None
    keep: bool | None = None


class Answers(Request, frozen=True, kw_only=True):
    """Correct labels of documents that were predicted."""

    documents: Annotated[list[Answer], Meta(min_length=1, max_length=limits.MOST_ANSWERS)]


class ExplainRequest(Request, frozen=True, kw_only=True):
    """A text, and the labels to explain: these, or the ``top`` most probable ones."""

    text: Text
    labels: Annotated[list[Name], Meta(max_length=100)] | None = None
    top: Annotated[int, Meta(ge=1, le=100)] = 3


class AnnifForm(Struct, frozen=True, kw_only=True):
    """A text, and how many subjects Annif wants; other fields are ignored."""

    text: Text
    limit: Annotated[int, Meta(ge=1, le=1000)] = 10


class UndoRequest(Request, frozen=True, kw_only=True):
    """The version of the answer to take back, from its receipt."""

    version: Whole


class LeaseRequest(Request, frozen=True, kw_only=True):
    """How many documents to lease for teaching, or which ones."""

    most: Annotated[int, Meta(ge=1, le=100)] = 1
    ids: Ids | None = None


class LeasedIds(Request, frozen=True, kw_only=True):
    """Documents whose leases to renew or to end."""

    ids: Ids


class LabelChange(Request, frozen=True, kw_only=True):
    """A change to a label; ``into`` is its new name, or the label to merge it into."""

    action: structs.Action
    into: Name | None = None


class Predictions(Struct, frozen=True, kw_only=True):
    """The predictions, in the order of the documents."""

    predictions: list[structs.Prediction]


class AnswerProblem(Problem, frozen=True, kw_only=True):
    """Why document number ``index``, counted from 0, was refused."""

    index: int


class Receipts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Receipts of the accepted answers in their order, and problems of the others."""

    receipts: list[structs.Receipt]
    problems: list[AnswerProblem] = []


class Explanations(Struct, frozen=True, kw_only=True):
    """Explanations of labels, the most probable first; offsets count characters of the text."""

    explanations: list[structs.Explained]


class Suggestion(Struct, frozen=True, kw_only=True):
    """A subject for Annif: its URI, a readable name and its probability."""

    uri: str
    label: str
    score: float


class Suggestions(Struct, frozen=True, kw_only=True):
    """Subjects for Annif, the most probable first."""

    results: list[Suggestion]


class AnnifProject(Struct, frozen=True, kw_only=True):
    """The project that Annif asks about before it requests suggestions."""

    is_trained: bool


class RecentList(Struct, frozen=True, kw_only=True):
    """Recent documents, newest first."""

    documents: list[structs.Recent]


class AlarmList(Struct, frozen=True, kw_only=True):
    """Changes that the model noticed, newest first."""

    alarms: list[structs.DriftAlarm]


class TeachItems(Struct, frozen=True, kw_only=True):
    """Documents leased for teaching."""

    items: list[structs.TeachItem]


class Renewed(Struct, frozen=True, kw_only=True):
    """Your current leases, and the ids of documents that you no longer hold."""

    leases: list[structs.Leased]
    lost: list[str]


class ServiceMetrics(structs.Metrics, frozen=True, kw_only=True):
    """The state of the service.

    ``latency_ms`` has the median and the 99th percentile of the last minute's requests to predict
    and to learn; null if there were none.
    """

    documents_per_second: float
    requests: int
    latency_ms: dict[str, tuple[float, float] | None]
    awaiting_seconds: float
    settings: dict[str, Any]


class Point(Struct, frozen=True, array_like=True):
    """The metrics of one moment; a measure is null when too few documents were judged."""

    at: float
    documents_learned: int
    documents_predicted: int
    macro_f1: float | None
    micro_f1: float | None
    recent_macro_f1: float | None
    recent_micro_f1: float | None
    memory_bytes: int
    labels: int
    predict_p50_ms: float | None
    predict_p99_ms: float | None


class PointList(Struct, frozen=True, kw_only=True):
    """Metrics since the start, oldest first."""

    points: list[Point]


class About(Struct, frozen=True, kw_only=True):
    """The version, the model's settings, the limits, and the caller's name and scope."""

    version: str
    who: str
    scope: Scope
    settings: dict[str, Any]
    options: dict[str, Any]
    limits: dict[str, Any]


class Health(Struct, frozen=True, kw_only=True):
    """The state of the process."""

    status: Literal["ok", "recovering", "stopping"]
