"""What the ``http`` backend of Annif asks for: subjects of a text, by a form."""

from __future__ import annotations

from starlette.responses import Response

from clasher.app.server.calls import Call, answer
from clasher.app.server.limits import FORM
from clasher.app.server.operation import operation
from clasher.app.server.shapes import ForAnnif, Project, Suggestion, Suggestions
from clasher.service.structs import Document


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
