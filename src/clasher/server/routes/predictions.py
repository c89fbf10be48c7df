"""Predictions, explanations, and suggestions for Annif's ``http`` backend."""

from __future__ import annotations

from starlette.responses import Response

from clasher.errors import LabelError
from clasher.server import schemas
from clasher.server.limits import FORM, LONGEST_EXPLAINED, MOST_EXPLAINED
from clasher.server.operations import Call, json_response, lines_response, operation
from clasher.server.problems import HttpError
from clasher.service.structs import Document, Explained, Prediction, Stretch

TRAINED = schemas.AnnifProject(is_trained=True)
PREDICTION = Prediction(
    id="news-1", labels=["grain"], probabilities=[("grain", 0.93), ("sport", 0.02)], version=12
)


@operation(
    "POST", "/v1/predict", scope="predict", line=schemas.DocumentIn, answer=schemas.Predictions,
    answer_line=Prediction,
    example={"documents": [{"id": "news-1", "text": "Wheat prices fell after a good harvest"}]},
    example_answer=schemas.Predictions(predictions=[PREDICTION]),
)  # fmt: skip
async def predict(
    call: Call, query: schemas.PredictQuery, body: schemas.PredictRequest
) -> Response:
    """Predict the labels of up to 10,000 documents.

    Every prediction has an id, yours or a generated one, that feedback can refer to. For large
    batches send JSON lines, and accept JSON lines to get predictions as they are made.
    """
    call.service.meters.add_documents(len(body.documents))
    pieces = call.service.predictor.predict(
        body.documents,
        query.top if body.top is None else body.top,
        query.keep if body.keep is None else body.keep,
    )
    if call.wants_lines:
        return lines_response(pieces)
    predictions = [one async for piece in pieces for one in piece]
    return json_response(schemas.Predictions(predictions=predictions))


@operation(
    "POST", "/v1/explain", scope="predict",
    example={"text": "Wheat prices fell", "labels": ["grain"]},
    example_answer=schemas.Explanations(
        explanations=[
            Explained(
                label="grain", is_predicted=True, probability=0.93,
                words=[Stretch(start=0, stop=5, evidence=1.8)], other={"bias": -0.4},
            )
        ]
    ),
    answer=schemas.Explanations,
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


@operation("GET", "/v1/annif", scope="predict", example_answer=TRAINED)
async def annif_project(call: Call) -> schemas.AnnifProject:
    """Tell Annif that it can ask for suggestions."""
    return TRAINED


@operation(
    "POST", "/v1/annif/suggest", scope="predict", body_type=FORM,
    example={"text": "Wheat prices fell", "limit": 10},
    example_answer=schemas.Suggestions(
        results=[schemas.Suggestion(uri="http://example.org/grain", label="grain", score=0.93)]
    ),
)  # fmt: skip
async def annif_suggest(call: Call, body: schemas.AnnifForm) -> schemas.Suggestions:
    """Suggest subjects to Annif; labels serve as URIs.

    The text is not kept. The readable name is the part after the last ``/`` or ``#``.
    """
    call.service.meters.add_documents(1)
    pieces = call.service.predictor.predict([Document(text=body.text)], body.limit, False)
    [prediction] = [one async for piece in pieces for one in piece]
    results = []
    for uri, probability in prediction.probabilities[: body.limit]:
        name = uri.replace("#", "/").rstrip("/").rpartition("/")[2] or uri
        results.append(schemas.Suggestion(uri=uri, label=name, score=probability))
    return schemas.Suggestions(results=results)
