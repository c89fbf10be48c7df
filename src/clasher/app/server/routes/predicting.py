"""Predictions and the reasons for them."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.responses import Response

from clasher.app.server.calls import Call, answer, encode_lines, lines
from clasher.app.server.operation import operation
from clasher.app.server.shapes import (
    DocumentIn,
    Explain,
    Explanations,
    Predictions,
    PredictQuery,
    ToPredict,
)
from clasher.service.structs import Explained, Prediction, Stretch

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

    Words are given by their first character and the one after their last, with a signed weight.
    """
    body = await call.body(Explain)
    explained = await call.service.workers.run(
        call.engine.explain, body.text, body.labels, body.top
    )
    return answer(Explanations(explanations=explained))
