"""Labels: list, show, rename, merge, retire, pin."""

from __future__ import annotations

from msgspec.structs import replace

from clasher.errors import LabelError
from clasher.runtime.quality import Estimate
from clasher.server.operations import Call, operation
from clasher.server.problems import HttpError
from clasher.server.schemas import LabelChange, LabelPath, LabelsQuery
from clasher.service.structs import LabelInfo, LabelList, LabelPage, NameList, Receipt

_F1 = Estimate(value=0.8, low=0.7, high=0.87, observations=120, is_enough=True)
GRAIN = LabelInfo(
    id=3, name="grain", support=120, precision=_F1, recall=_F1, f1=_F1, words=[("wheat", 2.1)]
)


@operation("GET", "/v1/labels", scope="read", example_answer=LabelList(labels=[GRAIN], total=1))
async def labels(call: Call, query: LabelsQuery) -> LabelList:
    """List labels: support, precision, recall and F1 with confidence intervals, top words."""
    return await call.run(
        call.engine.labels, query.query, query.sort, query.start, query.most, query.words,
        descending=None if query.order is None else query.order == "desc",
    )  # fmt: skip


@operation(
    "GET", "/v1/names", scope="read",
    example_answer=NameList(version=15, names=[(3, "grain", 120, False)]),
)  # fmt: skip
async def names(call: Call) -> NameList:
    """List the names of all labels, for search."""
    return await call.run(call.engine.names)


@operation(
    "GET", "/v1/labels/{id}", scope="read", problems=(404,),
    example_answer=LabelPage(label=GRAIN, neighbours=[("corn", 0.4)], recent=[]),
)  # fmt: skip
async def label(call: Call, path: LabelPath) -> LabelPage:
    """Show a label: its words, its neighbours, its recent documents.

    Tokens without scope ``teach`` get null instead of the documents.
    """
    try:
        page = await call.run(call.engine.label, path.id)
    except LabelError as error:
        raise _unknown(path.id) from error
    return page if call.holder.may("teach") else replace(page, recent=None)


@operation(
    "POST", "/v1/labels/{id}", scope="admin", problems=(404, 409),
    example={"action": "rename", "into": "cereals"}, example_answer=Receipt(version=15),
)  # fmt: skip
async def change_label(call: Call, path: LabelPath, body: LabelChange) -> Receipt:
    """Rename, merge, retire, pin or unpin a label.

    ``into`` is the new name, or the label to merge it into. A label keeps its number when renamed,
    and its former names still refer to it. Pinned labels never make room for others.
    """
    if (body.into is None) == (body.action in ("rename", "merge")):
        needs = "needs" if body.into is None else "takes no"
        detail = f"the action {body.action!r} {needs} 'into'"
        raise HttpError(422, "invalid", detail, "see /docs", field="$.into")
    try:
        future = call.engine.relabel(body.action, path.id, body.into, call.who, call.key)
    except LabelError as error:
        raise _unknown(path.id) from error
    return await call.wait(future)


def _unknown(number: int) -> HttpError:
    return HttpError(404, "unknown-label", f"no label has the number {number}", "see /v1/labels")
