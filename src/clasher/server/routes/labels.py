"""The labels, and what can be done to them."""

from __future__ import annotations

from msgspec.structs import replace
from starlette.responses import Response

from clasher.errors import LabelError
from clasher.runtime.quality import Estimate
from clasher.server.operations import Call, answer, operation, receipt
from clasher.server.problems import HttpError
from clasher.server.schemas import Change, LabelPath, LabelsQuery
from clasher.service.structs import LabelInfo, LabelList, LabelPage, NameList, Receipt

_F1 = Estimate(value=0.8, low=0.7, high=0.87, observations=120, is_enough=True)
GRAIN = LabelInfo(
    id=3, name="grain", support=120, precision=_F1, recall=_F1, f1=_F1, words=[("wheat", 2.1)]
)


@operation(
    "GET", "/v1/labels", scope="read", query=LabelsQuery, gives=LabelList,
    answers=LabelList(labels=[GRAIN], total=1),
)  # fmt: skip
async def labels(call: Call) -> Response:
    """List labels: support, precision, recall and F1 with intervals, top words."""
    asked = call.query(LabelsQuery)
    descending = None if asked.order is None else asked.order == "desc"
    found = await call.service.workers.run(
        call.engine.labels, asked.query, asked.sort, asked.start, asked.most, asked.words,
        descending=descending,
    )  # fmt: skip
    return answer(found)


@operation(
    "GET", "/v1/names", scope="read", gives=NameList,
    answers=NameList(version=15, names=[(3, "grain", 120, False)]),
)  # fmt: skip
async def names(call: Call) -> Response:
    """List the names of all labels, for those who search in them."""
    return answer(await call.service.workers.run(call.engine.names))


@operation(
    "GET", "/v1/labels/{id}", scope="read", path_shape=LabelPath, gives=LabelPage, problems=(404,),
    answers=LabelPage(label=GRAIN, neighbours=[("corn", 0.4)], recent=[]),
)  # fmt: skip
async def label(call: Call) -> Response:
    """Tell all about a label: its words, its neighbours, its recent documents.

    Texts are for those who may teach; others get null in place of the documents.
    """
    number = call.path(LabelPath).id
    try:
        page = await call.service.workers.run(call.engine.label, number)
    except LabelError as error:
        raise _unknown(number) from error
    return answer(page if call.holder.may("teach") else replace(page, recent=None))


@operation(
    "POST", "/v1/labels/{id}", scope="admin", path_shape=LabelPath, takes=Change, gives=Receipt,
    problems=(404, 409), example={"action": "rename", "into": "cereals"},
    answers=Receipt(version=15),
)  # fmt: skip
async def change_label(call: Call) -> Response:
    """Rename, merge, retire, pin or unpin a label.

    ``into`` is the new name, or the label that it becomes one with. A label keeps its number
    through a renaming, and its former names go on to mean it. Pinned ones are never given up for
    others.
    """
    number, body = call.path(LabelPath).id, await call.body(Change)
    if (body.into is None) == (body.action in ("rename", "merge")):
        needs = "needs" if body.into is None else "takes no"
        detail = f"to {body.action} a label {needs} 'into'"
        raise HttpError(422, "invalid", detail, "see /docs", field="$.into")
    try:
        future = call.engine.relabel(body.action, number, body.into, call.who, call.key)
    except LabelError as error:
        raise _unknown(number) from error
    return await receipt(call, future)


def _unknown(number: int) -> HttpError:
    return HttpError(404, "unknown-label", f"no label has the number {number}", "see /v1/labels")
