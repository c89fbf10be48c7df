"""What the ``http`` backend of Annif asks for: subjects of a text, by a form.

Predictions and the reasons for them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.responses import Response

from clasher.errors import LabelError
from clasher.server.limits import FORM, LONGEST_EXPLAINED, MOST_EXPLAINED
from clasher.server.operations import Call, answer, encode_lines, lines, operation
from clasher.server.problems import HttpError
from clasher.server.schemas import (
    DocumentIn,
    Explain,
    Explanations,
    ForAnnif,
    Predictions,
    PredictQuery,
    Project,
    Suggestion,
    Suggestions,
    ToPredict,
)
from clasher.service.structs import Document, Explained, Prediction, Stretch

CLIENT_LEFT = 499  # as proxies note it
PREDICTED = Prediction(
    id="news-1", labels=["grain"], probabilities=[("grain", 0.93), ("sport", 0.02)], version=12
)


@operation(
    "POST", "/v1/predict", scope="predict", takes=ToPredict, takes_lines=DocumentIn,
    query=PredictQuery, gives=Predictions, gives_lines=Prediction,
    example={"documents": [{"id": "news-1", "text": "Wheat prices fell after a good harvest"}]},
    answers=Predictions(predictions=[PREDICTED]),
)  # fmt: skip
async def predict(call: Call) -> Response:
    """Predict the labels of one document, or of up to 10,000.

    Every prediction has an id, yours or one that is made up, which feedback can name later. Send
    JSON lines for large batches, and ask for JSON lines to get predictions as they are made.
    """
    query = call.query(PredictQuery)
    batch = await call.batch(ToPredict, DocumentIn)
    call.service.meters.add_documents(len(batch.documents))
    pieces = call.service.predictor.predict(
        batch.documents,
        query.top if batch.top is None else batch.top,
        query.keep if batch.keep is None else batch.keep,
    )
    if call.wants_lines:
        return lines(_encoded(pieces))
    return answer(Predictions(predictions=[one async for piece in pieces for one in piece]))


async def _encoded(pieces: AsyncIterator[list[Prediction]]) -> AsyncIterator[bytes]:
    async for piece in pieces:
        yield encode_lines(piece)


@operation(
    "POST", "/v1/explain", scope="predict", takes=Explain, gives=Explanations,
    example={"text": "Wheat prices fell", "labels": ["grain"]},
    answers=Explanations(
        explanations=[
            Explained(
                label="grain", is_predicted=True, probability=0.93,
                words=[Stretch(start=0, stop=5, evidence=1.8)], other={"bias": -0.4},
            )
        ]
    ),
)  # fmt: skip
async def explain(call: Call) -> Response:
    """Explain labels: which words of a text spoke for them and which against.

    Words are given by their first character and the one after their last, with signed evidence: the
    1,000 weightiest of each label, and the sum of the rest in ``other``. A text may have 100,000
    characters, and its characters times the labels may be 500,000.
    """
    body = await call.body(Explain)
    if len(body.text) > LONGEST_EXPLAINED:
        raise HttpError(
            422, "too-long",
            f"the text has {len(body.text):,} characters, and at most {LONGEST_EXPLAINED:,} are "
            f"explained", "send a shorter text", field="$.text",
        )  # fmt: skip
    run = call.service.workers.run
    names = body.labels
    if names is None:
        names = await run(call.engine.best, body.text, body.top)
    most = MOST_EXPLAINED // max(1, len(body.text))
    if len(names) > most:
        raise HttpError(
            422, "too-much",
            f"{len(body.text):,} characters for {len(names)} labels are more than "
            f"{MOST_EXPLAINED:,} characters times labels",
            f"ask for {most} labels of this text, or for a shorter one",
            field="$.top" if body.labels is None else "$.labels",
        )  # fmt: skip
    explained = []
    for name in names:
        if await call.request.is_disconnected():
            return Response(status_code=CLIENT_LEFT)  # nobody reads it
        try:
            explained.append(await run(call.engine.explain_one, body.text, name))
        except LabelError:
            if body.labels is not None:  # else it was retired a moment ago
                raise
    return answer(Explanations(explanations=explained))


@operation("GET", "/v1/annif", scope="predict", gives=Project, answers=Project(is_trained=True))
async def annif_project(call: Call) -> Response:
    """Tell Annif that suggestions can be asked for."""
    return answer(Project(is_trained=True))


@operation(
    "POST", "/v1/annif/suggest", scope="predict", takes=ForAnnif, takes_type=FORM,
    gives=Suggestions,
    example={"text": "Wheat prices fell", "limit": 10},
    answers=Suggestions(
        results=[Suggestion(uri="http://example.org/grain", label="grain", score=0.93)]
    ),
)  # fmt: skip
async def annif_suggest(call: Call) -> Response:
    """Suggest subjects to Annif: labels are their URIs.

    Nothing is kept of the text. A name for people is what follows the last ``/`` or ``#``.
    """
    asked = await call.form(ForAnnif)
    call.service.meters.add_documents(1)
    pieces = call.service.predictor.predict([Document(text=asked.text)], asked.limit, False)
    [predicted] = [one async for piece in pieces for one in piece]
    best = predicted.probabilities[: asked.limit]
    return answer(
        Suggestions(
            results=[
                Suggestion(uri=uri, label=_name(uri), score=probability)
                for uri, probability in best
            ]
        )
    )


def _name(uri: str) -> str:
    """The last part of a URI.

    >>> _name("http://example.org/topics#grain"), _name("grain")
    ('grain', 'grain')
    """
    return uri.replace("#", "/").rstrip("/").rpartition("/")[2] or uri
