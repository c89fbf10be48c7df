"""How it is doing: figures, recent documents, alarms, events, health.

What runs here.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response, StreamingResponse

from clasher import __version__
from clasher.server import limits
from clasher.server.metrics import Point, exposition
from clasher.server.operations import Call, answer, operation
from clasher.server.schemas import (
    About,
    AlarmList,
    DocumentPath,
    Figures,
    Health,
    RecentList,
    RecentQuery,
)
from clasher.service.structs import Recent

BOUNDS = (
    "MOST_DOCUMENTS", "LONGEST_TEXT", "LONGEST_EXPLAINED", "MOST_EXPLAINED", "LONGEST_LABEL",
    "MOST_LABELS", "LONGEST_ID",
)  # fmt: skip


@operation("GET", "/v1/about", scope="predict", gives=About)
async def about(call: Call) -> Response:
    """Tell what runs here: its version, the settings of its model, its bounds, and who asks."""
    bounds = {name.lower(): getattr(limits, name) for name in BOUNDS}
    return answer(
        About(
            version=__version__,
            who=call.who,
            scope=call.holder.scope,
            settings=call.engine.settings.to_dict(),
            options=asdict(call.engine.options),
            limits=bounds | asdict(call.service.setup.limits),
        )
    )


class Past(Struct, frozen=True, kw_only=True):
    """The figures since the start, the oldest first."""

    points: list[Point]


EVENT_STREAM = "text/event-stream"
UNBUFFERED = {"x-accel-buffering": "no", "cache-control": "no-store, no-transform"}


@operation("GET", "/v1/metrics", scope="read", gives=Figures)
async def metrics(call: Call) -> Response:
    """Tell how the service is doing: documents, quality with intervals, memory, disk, latency."""
    return answer(await call.service.figures())


@operation("GET", "/v1/history", scope="read", gives=Past)
async def history(call: Call) -> Response:
    """List the figures since the start, for curves: 600 points at most."""
    return answer(Past(points=call.service.history.points))


@operation("GET", "/v1/recent", scope="teach", query=RecentQuery, gives=RecentList)
async def recent(call: Call) -> Response:
    """List the last documents that were predicted, and what people said of them."""
    most = call.query(RecentQuery).most
    return answer(RecentList(documents=await call.service.workers.run(call.engine.recent, most)))


@operation(
    "GET", "/v1/documents/{id}", scope="teach", path_shape=DocumentPath, gives=Recent,
    problems=(404,),
)  # fmt: skip
async def document(call: Call) -> Response:
    """Show a document that was predicted: its text, its labels, and what people said of it."""
    return answer(call.engine.document(call.path(DocumentPath).id))


@operation("GET", "/v1/alarms", scope="read", gives=AlarmList)
async def alarms(call: Call) -> Response:
    """List the changes that the model noticed, in words, and what would help to teach."""
    return answer(AlarmList(alarms=await call.service.workers.run(call.engine.alarms)))


@operation("GET", "/v1/events", scope="read", gives=Any, gives_type=EVENT_STREAM)
async def events(call: Call) -> Response:
    """Watch what happens, as server-sent events.

    Kinds: ``learned``, ``feedback``, ``label``, ``model``, ``snapshot``, and ``metrics`` every
    second. Whoever comes back with a Last-Event-ID misses nothing of the last thousand or so.
    Only those who may teach get ``who``.
    """
    last, sees_people = call.request.headers.get("last-event-id"), call.holder.may("teach")
    stream = call.service.hub.watch(last, sees_people=sees_people)
    return StreamingResponse(stream, media_type=EVENT_STREAM, headers=UNBUFFERED)


@operation("GET", "/metrics", scope="read", gives=Any, gives_type="text/plain")
async def prometheus(call: Call) -> Response:
    """Tell Prometheus how the service is doing: aggregates, and the most frequent labels only."""
    figures = await call.service.figures()
    top = await call.service.workers.run(call.engine.labels, "", "support", 0, 20, 0)
    text = exposition(call.service.meters.registry, figures, top.labels)
    return Response(text, headers={"content-type": CONTENT_TYPE_LATEST})


@operation("GET", "/healthz", scope=None, gives=Health, is_needy=False, answers=Health(status="ok"))
async def healthz(call: Call) -> Response:
    """Tell that the process runs."""
    return answer(Health(status="ok"))


@operation(
    "GET", "/readyz", scope=None, gives=Health, problems=(503,), is_needy=False,
    answers=Health(status="ok"),
)  # fmt: skip
async def readyz(call: Call) -> Response:
    """Tell whether requests are answered: not while it recovers, nor while it stops."""
    if call.service.is_ready:
        return answer(Health(status="ok"))
    stopping = call.service.is_stopping()
    return answer(Health(status="stopping" if stopping else "recovering"), 503)
