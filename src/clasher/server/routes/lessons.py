"""Lessons: learn documents, give feedback, undo it, get documents to teach."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import msgspec
from starlette.responses import Response

from clasher.errors import ClasherError
from clasher.server import schemas
from clasher.server.operations import Call, operation
from clasher.server.problems import as_http
from clasher.service.documents import digest_of
from clasher.service.structs import Leased, Receipt, TeachItem

DIGEST = digest_of("Wheat prices fell")
SMALL = 8  # most documents that the event loop passes on itself
SMALL_TEXT = 65_536  # most characters of them together


@operation(
    "POST", "/v1/learn", scope="teach", line=schemas.DocumentIn, problems=(409,),
    example={"documents": [{"text": "Wheat prices fell", "labels": ["grain", "economy"]}]},
    example_answer=Receipt(version=12, documents=1),
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
    example_answer=schemas.Receipts(
        receipts=[Receipt(version=13, documents=1, id="news-1", after={"grain": True})]
    ),
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
    example_answer=Receipt(version=14, documents=1, id="news-1"),
)  # fmt: skip
async def undo(call: Call, body: schemas.UndoRequest) -> Receipt:
    """Take an answer back, by the version in its receipt; an undo can be undone."""
    return await call.wait(call.engine.undo(body.version, call.who, call.key))


@operation(
    "POST", "/v1/teach", scope="teach", example={"most": 1},
    example_answer=schemas.TeachItems(
        items=[
            TeachItem(
                id="news-1", text="Wheat prices fell", digest=DIGEST, labels=["grain"],
                probabilities=[("grain", 0.52)], reason="uncertain", leased_until=1.8e9,
            )
        ]
    ),
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
    example_answer=schemas.Renewed(
        leases=[Leased(id="news-1", digest=DIGEST, leased_until=1.8e9)], lost=["news-2"]
    ),
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
