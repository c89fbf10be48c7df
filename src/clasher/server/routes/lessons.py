"""Learning, answers of people, and what they are asked."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import msgspec
from starlette.responses import Response

from clasher.errors import ClasherError
from clasher.server.operations import Call, answer, operation, receipt
from clasher.server.problems import as_http
from clasher.server.schemas import (
    Answer,
    Answers,
    DocumentIn,
    Documents,
    Items,
    Lease,
    NotTaken,
    Receipts,
    Release,
    Renew,
    Renewed,
    Undo,
)
from clasher.service.documents import digest_of
from clasher.service.structs import Leased, Receipt, TeachItem

DIGEST = digest_of("Wheat prices fell")
INLINE = 8  # documents that are handed over without a thread
INLINE_TEXT = 65_536  # characters


@operation(
    "POST", "/v1/learn", scope="teach", takes=Documents, takes_lines=DocumentIn,
    gives=Receipt, problems=(409,),
    example={"documents": [{"text": "Wheat prices fell", "labels": ["grain", "economy"]}]},
    answers=Receipt(version=12, documents=1),
)  # fmt: skip
async def learn(call: Call) -> Response:
    """Learn from documents, all of them or none.

    The answer comes when they are on disk and learnt. Those without labels have their words counted
    only. Under the same Idempotency-Key they are learnt once, however often they are sent.
    """
    documents = (await call.batch(Documents, DocumentIn)).documents
    if len(documents) <= INLINE and sum(len(one.text) for one in documents) <= INLINE_TEXT:
        future = call.engine.learn(documents, call.who, call.key)
    else:
        future = await call.service.workers.run(call.engine.learn, documents, call.who, call.key)
    call.service.meters.add_documents(len(documents))
    return await receipt(call, future)


@operation(
    "POST", "/v1/feedback", scope="teach", takes=Answers, takes_lines=Answer,
    gives=Receipts, problems=(404, 409),
    example={"documents": [{"id": "news-1", "labels": {"grain": True, "sport": False}}]},
    answers=Receipts(
        receipts=[Receipt(version=13, documents=1, id="news-1", after={"grain": True})]
    ),
)  # fmt: skip
async def feedback(call: Call) -> Response:
    """Say which labels predicted documents really have, in full or in part, now or late.

    A list says all labels; a mapping says yes or no to some and adds to what was said before. The
    receipt tells what changed. With the ``digest`` of the text that was shown, the answer is learnt
    on that text, also when the id was predicted again with another one. One answer that cannot be
    taken is a problem of its own; of several, those that can be are taken, and ``problems`` tells
    of the others.
    """
    said = (await call.batch(Answers, Answer)).documents
    taken: list[Future[Receipt] | ClasherError] = []
    for place, one in enumerate(said):
        taken.append(_begin(call, one, place if len(said) > 1 else None))
        if not place % 100:
            await asyncio.sleep(0)
    receipts, problems = [], []
    for index, future in enumerate(taken):
        try:
            receipts.append(await _finished(call, future))
        except ClasherError as error:
            if len(said) == 1:
                raise
            problem = as_http(error).problem
            problems.append(NotTaken(index=index, **msgspec.structs.asdict(problem)))
    call.service.meters.add_documents(len(receipts))
    return answer(Receipts(receipts=receipts, problems=problems))


def _begin(call: Call, one: Answer, place: int | None) -> Future[Receipt] | ClasherError:
    key = call.key if place is None or call.key is None else f"{call.key}#{place}"
    try:
        return call.engine.feedback(one.id, one.labels, call.who, key, one.digest)
    except ClasherError as error:
        return error


async def _finished(call: Call, begun: Future[Receipt] | ClasherError) -> Receipt:
    if isinstance(begun, ClasherError):
        raise begun
    return await call.service.bridge.wait(begun)


@operation(
    "POST", "/v1/undo", scope="teach", takes=Undo, gives=Receipt, problems=(404, 409),
    example={"version": 13}, answers=Receipt(version=14, documents=1, id="news-1"),
)  # fmt: skip
async def undo(call: Call) -> Response:
    """Take an answer back, by the version of its receipt; an undo can be undone."""
    body = await call.body(Undo)
    future = call.engine.undo(body.version, call.who, call.key)
    return await receipt(call, future)


@operation(
    "POST", "/v1/teach", scope="teach", takes=Lease, gives=Items, example={"most": 1},
    answers=Items(
        items=[
            TeachItem(
                id="news-1", text="Wheat prices fell", digest=DIGEST, labels=["grain"],
                probabilities=[("grain", 0.52)], reason="uncertain", leased_until=1.8e9,
            )
        ]
    ),
)  # fmt: skip
async def teach(call: Call) -> Response:
    """Get documents to teach: uncertain, diverse and random ones; each says why.

    They are predicted now: 200 documents at most, drawn from the queue at random, from which these
    are picked. Nobody else gets them before the lease expires; with ``ids``, those of these
    documents that nobody has. Who asks is the token, and the header X-Clasher-Who where none is
    needed.
    """
    body = await call.body(Lease)
    items = await call.service.workers.run(call.engine.teach, call.who, body.most, body.ids)
    return answer(Items(items=items))


@operation(
    "POST", "/v1/teach/renew", scope="teach", takes=Renew, gives=Renewed,
    example={"ids": ["news-1"]},
    answers=Renewed(
        leases=[Leased(id="news-1", digest=DIGEST, leased_until=1.8e9)], lost=["news-2"]
    ),
)  # fmt: skip
async def renew(call: Call) -> Response:
    """Prolong your leases, also those that ran out if nobody else has the document by now."""
    ids = (await call.body(Renew)).ids
    leases = call.engine.renew(ids, call.who)
    kept = {lease.id for lease in leases}
    return answer(Renewed(leases=leases, lost=[one for one in ids if one not in kept]))


@operation(
    "POST", "/v1/teach/release", scope="teach", takes=Release, status=204, problems=(404,),
    example={"ids": ["news-1"]},
)  # fmt: skip
async def release(call: Call) -> Response:
    """Give documents back unanswered."""
    body = await call.body(Release)
    for name in body.ids:
        call.engine.release(name, call.who)
    return Response(status_code=204)
