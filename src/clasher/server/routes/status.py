"""The state of the service: version, metrics, recent documents, alarms, events, health."""

from __future__ import annotations

from dataclasses import asdict

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response, StreamingResponse

from clasher import __version__
from clasher.server import limits, schemas
from clasher.server.metrics import exposition
from clasher.server.operations import Call, json_response, operation
from clasher.service.structs import Recent

LIMITS = (
    "MOST_DOCUMENTS", "LONGEST_TEXT", "LONGEST_EXPLAINED", "MOST_EXPLAINED", "LONGEST_LABEL",
    "MOST_LABELS", "LONGEST_ID",
)  # fmt: skip
EVENT_STREAM = "text/event-stream"
UNBUFFERED = {"x-accel-buffering": "no", "cache-control": "no-store, no-transform"}
OK = schemas.Health(status="ok")
TOP_LABELS = 20  # labels that Prometheus gets


@operation("GET", "/v1/about", scope="predict")
async def about(call: Call) -> schemas.About:
    """Show the version, the model's settings, the limits, and the caller's name and scope."""
    fixed = {name.lower(): getattr(limits, name) for name in LIMITS}
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
async def recent(call: Call, query: schemas.RecentQuery) -> schemas.RecentList:
    """List the last predicted documents and their corrections."""
    return schemas.RecentList(documents=await call.run(call.engine.recent, query.most))


@operation("GET", "/v1/documents/{id}", scope="teach", problems=(404,))
async def document(call: Call, path: schemas.DocumentPath) -> Recent:
    """Show a predicted document: its text, its labels and its corrections."""
    return call.engine.document(path.id)


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


@operation("GET", "/healthz", scope=None, needs_engine=False, example_answer=OK)
async def healthz(call: Call) -> schemas.Health:
    """Check that the process runs."""
    return OK


@operation(
    "GET", "/readyz", scope=None, answer=schemas.Health, problems=(503,), needs_engine=False,
    example_answer=OK,
)  # fmt: skip
async def readyz(call: Call) -> Response:
    """Check that the service answers requests: not while it starts or stops."""
    if call.service.is_ready:
        return json_response(OK)
    stopping = call.service.is_stopping()
    return json_response(schemas.Health(status="stopping" if stopping else "recovering"), 503)
