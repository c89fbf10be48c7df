"""All operations of the service, in the order of the OpenAPI document."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response, StreamingResponse

from clasher import __version__
from clasher.errors import ClasherError, LabelError
from clasher.server import limits, schemas
from clasher.server.limits import BYTES, FORM, LINES, LONGEST_EXPLAINED, MOST_EXPLAINED
from clasher.server.metrics import exposition
from clasher.server.operations import Call, Operation, json_response, lines_response, operation
from clasher.server.problems import HttpError, as_http
from clasher.server.schemas import Id, Top, Whole
from clasher.service import structs
from clasher.service.documents import digest_of
from clasher.service.structs import Receipt

SMALL = 8  # most documents to learn that the event loop passes on itself
SMALL_TEXT = 65_536  # most characters of them together
TOP_LABELS = 20  # labels that Prometheus gets
LESSONS = 500  # in a piece of the log
PIECE = 2**18  # bytes of a model
EVENT_STREAM = "text/event-stream"
UNBUFFERED = {"x-accel-buffering": "no", "cache-control": "no-store, no-transform"}


@operation(
    "POST", "/v1/predict", scope="predict", line=schemas.DocumentIn, answer=schemas.Predictions,
    answer_line=structs.Prediction,
    example={"documents": [{"id": "news-1", "text": "Wheat prices fell after a good harvest"}]},
    example_answer={"predictions": [{
        "id": "news-1", "labels": ["grain"], "probabilities": [("grain", 0.93), ("sport", 0.02)],
        "version": 12,
    }]},
)  # fmt: skip
async def predict(
    call: Call, body: schemas.PredictRequest, top: Top = 5, keep: bool = True
) -> Response:
    """Predict the labels of up to 10,000 documents.

    Every prediction has an id, yours or a generated one, that feedback can refer to. For large
    batches send JSON lines, and accept JSON lines to get predictions as they are made.
    """
    call.service.meters.add_documents(len(body.documents))
    top = top if body.top is None else body.top
    keep = keep if body.keep is None else body.keep
    pieces = call.service.predictor.predict(body.documents, top, keep)
    if call.wants_lines:
        return lines_response(pieces)
    predictions = [one async for piece in pieces for one in piece]
    return json_response(schemas.Predictions(predictions=predictions))


@operation(
    "POST", "/v1/explain", scope="predict", answer=schemas.Explanations,
    example={"text": "Wheat prices fell", "labels": ["grain"]},
    example_answer={"explanations": [{
        "label": "grain", "is_predicted": True, "probability": 0.93,
        "words": [{"start": 0, "stop": 5, "evidence": 1.8}], "other": {"bias": -0.4},
    }]},
)  # fmt: skip
async def explain(call: Call, body: schemas.ExplainRequest) -> Response:
    """Explain labels: which words of a text speak for them and which against.

    Each word has the offsets of its first character and of the one after its last, and signed
    evidence: the 1,000 strongest of each label, and the sum of the others in ``other``. A text may
    have 100,000 characters; its characters times the labels may be 500,000.
    """
    size = len(body.text)
    if size > LONGEST_EXPLAINED:
        raise HttpError(
            422, "too-long",
            f"the text has {size:,} characters; at most {LONGEST_EXPLAINED:,} can be explained",
            "send a shorter text", field="$.text",
        )  # fmt: skip
    names = body.labels
    if names is None:
        names = await call.run(call.engine.best, body.text, body.top)
    most = MOST_EXPLAINED // max(1, size)
    if len(names) > most:
        raise HttpError(
            422, "too-much",
            f"{size:,} characters times {len(names)} labels are more than {MOST_EXPLAINED:,}",
            f"ask for {most} labels, or send a shorter text",
            field="$.top" if body.labels is None else "$.labels",
        )  # fmt: skip
    explained = []
    for name in names:
        if await call.request.is_disconnected():
            return Response(status_code=499)  # proxies log it: the client left
        try:
            explained.append(await call.run(call.engine.explain_one, body.text, name))
        except LabelError:
            if body.labels is not None:  # otherwise somebody has just retired it
                raise
    return json_response(schemas.Explanations(explanations=explained))


@operation("GET", "/v1/annif", scope="predict", example_answer={"is_trained": True})
async def annif_project(call: Call) -> schemas.AnnifProject:
    """Tell Annif that it can ask for suggestions."""
    return schemas.AnnifProject(is_trained=True)


@operation(
    "POST", "/v1/annif/suggest", scope="predict", body_type=FORM,
    example={"text": "Wheat prices fell", "limit": 10},
    example_answer={
        "results": [{"uri": "http://example.org/grain", "label": "grain", "score": 0.93}]
    },
)  # fmt: skip
async def annif_suggest(call: Call, body: schemas.AnnifForm) -> schemas.Suggestions:
    """Suggest subjects to Annif; labels serve as URIs.

    The text is not kept. The readable name is the part after the last ``/`` or ``#``.
    """
    call.service.meters.add_documents(1)
    pieces = call.service.predictor.predict([structs.Document(text=body.text)], body.limit, False)
    [prediction] = [one async for piece in pieces for one in piece]
    results = []
    for uri, probability in prediction.probabilities[: body.limit]:
        name = uri.replace("#", "/").rstrip("/").rpartition("/")[2] or uri
        results.append(schemas.Suggestion(uri=uri, label=name, score=probability))
    return schemas.Suggestions(results=results)


DIGEST = digest_of("Wheat prices fell")


@operation(
    "POST", "/v1/learn", scope="teach", line=schemas.DocumentIn, problems=(409,),
    example={"documents": [{"text": "Wheat prices fell", "labels": ["grain", "economy"]}]},
    example_answer={"version": 12, "documents": 1},
)  # fmt: skip
async def learn(call: Call, body: schemas.Documents) -> Receipt:
    """Learn documents, all of them or none.

    The answer arrives when they are on disk and learnt. Of unlabelled documents, the model only
    counts the words. Documents sent again with the same Idempotency-Key are learnt once.
    """
    documents = body.documents
    if len(documents) <= SMALL and sum(len(one.text) for one in documents) <= SMALL_TEXT:
        future = call.engine.learn(documents, call.who, call.key)
    else:
        future = await call.run(call.engine.learn, documents, call.who, call.key)
    call.service.meters.add_documents(len(documents))
    return await call.wait(future)


@operation(
    "POST", "/v1/feedback", scope="teach", line=schemas.Answer, problems=(404, 409),
    example={"documents": [{"id": "news-1", "labels": {"grain": True, "sport": False}}]},
    example_answer={
        "receipts": [{"version": 13, "documents": 1, "id": "news-1", "after": {"grain": True}}]
    },
)  # fmt: skip
async def feedback(call: Call, body: schemas.Answers) -> schemas.Receipts:
    """Send the correct labels of predicted documents: all or some of them, now or later.

    A list gives all labels; a mapping gives yes or no for some and adds to earlier answers. The
    receipt shows what changed. With the ``digest`` of the text that was shown, the model learns the
    answer on that text, even if the id was predicted again with another text. A single answer that
    is refused is an error; of several, the others are accepted and ``problems`` lists the refused.
    """
    answers = body.documents
    futures: list[Future[Receipt] | ClasherError] = []
    for index, answer in enumerate(answers):
        key = call.key if call.key is None or len(answers) == 1 else f"{call.key}#{index}"
        try:
            futures.append(
                call.engine.feedback(answer.id, answer.labels, call.who, key, answer.digest)
            )
        except ClasherError as error:
            futures.append(error)
        if not index % 100:
            await asyncio.sleep(0)
    receipts, problems = [], []
    for index, future in enumerate(futures):
        try:
            if isinstance(future, ClasherError):
                raise future
            receipts.append(await call.wait(future))
        except ClasherError as error:
            if len(answers) == 1:
                raise
            problem = msgspec.structs.asdict(as_http(error).problem)
            problems.append(schemas.AnswerProblem(index=index, **problem))
    call.service.meters.add_documents(len(receipts))
    return schemas.Receipts(receipts=receipts, problems=problems)


@operation(
    "POST", "/v1/undo", scope="teach", problems=(404, 409), example={"version": 13},
    example_answer={"version": 14, "documents": 1, "id": "news-1"},
)  # fmt: skip
async def undo(call: Call, body: schemas.UndoRequest) -> Receipt:
    """Take an answer back, by the version in its receipt; an undo can be undone."""
    return await call.wait(call.engine.undo(body.version, call.who, call.key))


@operation(
    "POST", "/v1/teach", scope="teach", example={"most": 1},
    example_answer={"items": [{
        "id": "news-1", "text": "Wheat prices fell", "digest": DIGEST, "labels": ["grain"],
        "probabilities": [("grain", 0.52)], "reason": "uncertain", "leased_until": 1.8e9,
    }]},
)  # fmt: skip
async def teach(call: Call, body: schemas.LeaseRequest) -> schemas.TeachItems:
    """Get documents to teach: uncertain, diverse and random ones, each with its reason.

    The service draws up to 200 documents from the queue, predicts them and picks from them. Nobody
    else gets them until the lease expires. With ``ids``: these documents, if nobody holds them. The
    caller is the token's name, or the header X-Clasher-Who if the service has no tokens.
    """
    return schemas.TeachItems(
        items=await call.run(call.engine.teach, call.who, body.most, body.ids)
    )


@operation(
    "POST", "/v1/teach/renew", scope="teach", example={"ids": ["news-1"]},
    example_answer={
        "leases": [{"id": "news-1", "digest": DIGEST, "leased_until": 1.8e9}], "lost": ["news-2"],
    },
)  # fmt: skip
async def renew(call: Call, body: schemas.LeasedIds) -> schemas.Renewed:
    """Renew your leases, also expired ones unless somebody else holds the document."""
    leases = call.engine.renew(body.ids, call.who)
    kept = {lease.id for lease in leases}
    return schemas.Renewed(leases=leases, lost=[one for one in body.ids if one not in kept])


@operation(
    "POST", "/v1/teach/release", scope="teach", status=204, problems=(404,),
    example={"ids": ["news-1"]},
)  # fmt: skip
async def release(call: Call, body: schemas.LeasedIds) -> Response:
    """Give documents back without an answer."""
    for one in body.ids:
        call.engine.release(one, call.who)
    return Response(status_code=204)


F1 = {"value": 0.8, "low": 0.7, "high": 0.87, "observations": 120, "is_enough": True}
GRAIN = {
    "id": 3, "name": "grain", "support": 120, "precision": F1, "recall": F1, "f1": F1,
    "words": [("wheat", 2.1)],
}  # fmt: skip


@operation("GET", "/v1/labels", scope="read", example_answer={"labels": [GRAIN], "total": 1})
async def labels(
    call: Call,
    query: Annotated[str, Meta(max_length=limits.LONGEST_LABEL)] = "",
    sort: Literal["support", "name", "precision", "recall", "f1", "unseen"] = "support",
    order: Literal["asc", "desc"] | None = None,  # None: names ascend and numbers descend
    start: Whole = 0,
    most: Annotated[int, Meta(ge=1, le=10_000)] = 100,
    words: Annotated[int, Meta(ge=0, le=100)] = 5,
) -> structs.LabelList:
    """List labels: support, precision, recall and F1 with confidence intervals, top words."""
    descending = None if order is None else order == "desc"
    return await call.run(call.engine.labels, query, sort, start, most, words, descending)


@operation(
    "GET", "/v1/names", scope="read",
    example_answer={"version": 15, "names": [(3, "grain", 120, False)]},
)  # fmt: skip
async def names(call: Call) -> structs.NameList:
    """List the names of all labels, for search."""
    return await call.run(call.engine.names)


@operation(
    "GET", "/v1/labels/{id}", scope="read", problems=(404,),
    example_answer={"label": GRAIN, "neighbours": [("corn", 0.4)], "recent": []},
)  # fmt: skip
async def label(call: Call, id: Whole) -> structs.LabelPage:  # noqa: A002
    """Show a label: its words, its neighbours, its recent documents.

    Tokens without scope ``teach`` get null instead of the documents.
    """
    try:
        page = await call.run(call.engine.label, id)
    except LabelError as error:
        raise _unknown(id) from error
    return page if call.holder.may("teach") else replace(page, recent=None)


@operation(
    "POST", "/v1/labels/{id}", scope="admin", problems=(404, 409),
    example={"action": "rename", "into": "cereals"}, example_answer={"version": 15},
)  # fmt: skip
async def change_label(call: Call, id: Whole, body: schemas.LabelChange) -> Receipt:  # noqa: A002
    """Rename, merge, retire, pin or unpin a label.

    ``into`` is the new name, or the label to merge it into. A label keeps its number when renamed,
    and its former names still refer to it. Pinned labels never make room for others.
    """
    if (body.into is None) == (body.action in ("rename", "merge")):
        needs = "needs" if body.into is None else "takes no"
        detail = f"the action {body.action!r} {needs} 'into'"
        raise HttpError(422, "invalid", detail, "see /docs", field="$.into")
    try:
        future = call.engine.relabel(body.action, id, body.into, call.who, call.key)
    except LabelError as error:
        raise _unknown(id) from error
    return await call.wait(future)


def _unknown(number: int) -> HttpError:
    return HttpError(404, "unknown-label", f"no label has the number {number}", "see /v1/labels")


@operation("GET", "/v1/about", scope="predict")
async def about(call: Call) -> schemas.About:
    """Show the version, the model's settings, the limits, and the caller's name and scope."""
    known = vars(limits).items()
    fixed = {name.lower(): most for name, most in known if name.startswith(("MOST_", "LONGEST_"))}
    return schemas.About(
        version=__version__,
        who=call.who,
        scope=call.holder.scope,
        settings=call.engine.settings.to_dict(),
        options=asdict(call.engine.options),
        limits=fixed | asdict(call.service.setup.limits),
    )


@operation("GET", "/v1/metrics", scope="read")
async def metrics(call: Call) -> schemas.ServiceMetrics:
    """Show documents, quality with confidence intervals, memory, disk and latency."""
    return await call.service.metrics()


@operation("GET", "/v1/history", scope="read")
async def history(call: Call) -> schemas.PointList:
    """List metrics since the start for charts: 600 points at most."""
    return schemas.PointList(points=call.service.history.points)


@operation("GET", "/v1/recent", scope="teach")
async def recent(call: Call, most: Annotated[int, Meta(ge=1, le=1000)] = 50) -> schemas.RecentList:
    """List the last predicted documents and their corrections."""
    return schemas.RecentList(documents=await call.run(call.engine.recent, most))


@operation("GET", "/v1/documents/{id}", scope="teach", problems=(404,))
async def document(call: Call, id: Id) -> structs.Recent:  # noqa: A002
    """Show a predicted document: its text, its labels and its corrections."""
    return call.engine.document(id)


@operation("GET", "/v1/alarms", scope="read")
async def alarms(call: Call) -> schemas.AlarmList:
    """List the changes that the model noticed, and documents worth teaching."""
    return schemas.AlarmList(alarms=await call.run(call.engine.alarms))


@operation("GET", "/v1/events", scope="read", answer=bytes, answer_type=EVENT_STREAM)
async def events(call: Call) -> Response:
    """Stream events (server-sent events).

    Kinds: ``learned``, ``feedback``, ``label``, ``model``, ``snapshot``, and ``metrics`` every
    second. A client that reconnects with a Last-Event-ID gets the events it missed, up to 1,024.
    Only tokens with scope ``teach`` get ``who``.
    """
    last = call.request.headers.get("last-event-id")
    stream = call.service.hub.watch(last, sees_people=call.holder.may("teach"))
    return StreamingResponse(stream, media_type=EVENT_STREAM, headers=UNBUFFERED)


@operation("GET", "/metrics", scope="read", answer=bytes, answer_type="text/plain")
async def prometheus(call: Call) -> Response:
    """Show metrics for Prometheus: totals, and the most frequent labels only."""
    current = await call.service.metrics()
    top = await call.run(call.engine.labels, "", "support", 0, TOP_LABELS, 0)
    text = exposition(call.service.meters.registry, current, top.labels)
    return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


@operation("GET", "/healthz", scope=None, needs_engine=False, example_answer={"status": "ok"})
async def healthz(call: Call) -> schemas.Health:
    """Check that the process runs."""
    return schemas.Health(status="ok")


@operation(
    "GET", "/readyz", scope=None, answer=schemas.Health, problems=(503,), needs_engine=False,
    example_answer={"status": "ok"},
)  # fmt: skip
async def readyz(call: Call) -> Response:
    """Check that the service answers requests: not while it starts or stops."""
    status = call.service.status
    return json_response(schemas.Health(status=status), 200 if status == "ok" else 503)


@operation("GET", "/v1/log", scope="admin", answer=structs.Lesson, answer_type=LINES)
async def log(call: Call, after: Whole = 0) -> Response:
    """Export the lessons: who, when, labels before and after, and the version of the model.

    JSON lines, oldest first; continue with ``after`` set to the last version that you have.
    """
    lessons = call.engine.log(after)

    async def pieces() -> AsyncIterator[list[structs.Lesson]]:
        while some := await call.run(lambda: list(islice(lessons, LESSONS))):
            yield some

    return lines_response(pieces())


@operation("GET", "/v1/model", scope="admin", answer=bytes, answer_type=BYTES)
async def download_model(call: Call) -> Response:
    """Download the current model, for ``clasher predict --model`` and ``Clasher.load``."""
    file = await call.wait(call.engine.model_file())
    headers = {
        "content-length": str(os.fstat(file.fileno()).st_size),
        "content-disposition": 'attachment; filename="model.clasher"',
    }

    async def pieces() -> AsyncIterator[bytes]:
        with file:
            while piece := await call.run(file.read, PIECE):
                yield piece

    return StreamingResponse(pieces(), media_type=BYTES, headers=headers)


@operation(
    "PUT", "/v1/model", scope="admin", body=bytes, body_type=BYTES, problems=(409,),
    example_answer={"version": 16},
)  # fmt: skip
async def replace_model(call: Call) -> Receipt:
    """Replace the model with a file written by clasher."""
    if call.media_type != BYTES:
        raise HttpError(415, "unsupported-type", "a model is a binary file", f"send {BYTES}")
    with tempfile.TemporaryFile(dir=call.engine.folder.path) as file:
        async for piece in call.request.stream():
            await call.run(file.write, piece)
        file.seek(0)
        future = await call.run(call.engine.replace_model, file, call.who, call.key)
    return await call.wait(future)


OPERATIONS = tuple(one for one in list(globals().values()) if isinstance(one, Operation))
