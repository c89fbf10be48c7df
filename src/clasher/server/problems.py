"""Whatever goes wrong, as a client is told: RFC 9457 problem details, never a traceback."""

from __future__ import annotations

import math
import re
from http import HTTPStatus

import msgspec
from msgspec import Struct
from starlette.responses import Response

from clasher.errors import (
    BusyError,
    ClasherError,
    ConflictError,
    ModelFileError,
    RefusedError,
    StoppedError,
    UnknownDocumentError,
)

MEDIA_TYPE = "application/problem+json"
TYPE = "urn:clasher:problem:"
_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")
_encoder = msgspec.json.Encoder()


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong, where, and what to do about it.

    ``field`` is the path to the value that is wrong: ``$.documents[2].labels``; of JSON lines it
    starts with the line, counted from 1.
    """

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    remedy: str | None = None


class HttpError(ClasherError):
    """A request that is answered with a problem.

    ``retry_after`` says after how many seconds to come again.

    >>> print(HttpError(413, "too-large", "the body has more than 5 bytes", "send less").problem)
    ... # doctest: +NORMALIZE_WHITESPACE
    Problem(type='urn:clasher:problem:too-large', title='Content Too Large', status=413,
            detail='the body has more than 5 bytes', field=None, remedy='send less')
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        remedy: str | None = None,
        *,
        field: str | None = None,
        retry_after: float | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(
            type=TYPE + kind, title=title(status), status=status, detail=detail, field=field,
            remedy=remedy,
        )  # fmt: skip
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["retry-after"] = str(max(1, math.ceil(retry_after)))


def title(status: int) -> str:
    """The words of a status, as RFC 9110 has them (Python's are older)."""
    newer = {413: "Content Too Large", 422: "Unprocessable Content"}
    return newer.get(status) or HTTPStatus(status).phrase


_KINDS: tuple[tuple[type[ClasherError], int, str, str | None], ...] = (
    (UnknownDocumentError, 404, "unknown-document", None),
    (ConflictError, 409, "conflict", None),
    (RefusedError, 409, "refused", None),
    (StoppedError, 503, "stopped", "try again when the service has been started again"),
    (ModelFileError, 422, "not-a-model", "send a file that clasher has written"),
    (ClasherError, 422, "invalid", None),
)


def as_http(error: ClasherError) -> HttpError:
    """An error of the engine as an answer; its sentence was made for users.

    >>> as_http(BusyError(1.0)).headers
    {'retry-after': '1'}
    """
    if isinstance(error, HttpError):
        return error
    if isinstance(error, BusyError):
        return HttpError(503, "busy", str(error), "try again later", retry_after=error.retry_after)
    _, status, kind, remedy = next(row for row in _KINDS if isinstance(error, row[0]))
    detail, _, advice = str(error).partition("; ")
    return HttpError(status, kind, detail, advice or remedy)


def invalid(error: Exception, where: str = "$") -> HttpError:
    """JSON that cannot be read, or is not what was asked for, with the path to what is wrong.

    >>> invalid(msgspec.ValidationError("Expected `str`, got `int` - at `$.text`")).problem.field
    '$.text'
    """
    if isinstance(error, RecursionError):
        return HttpError(422, "too-deep", "the JSON is nested too deeply", field=where)
    message = str(error)
    if not isinstance(error, msgspec.ValidationError):
        detail = f"the JSON cannot be read: {message.removeprefix('JSON is malformed: ')}"
        return HttpError(400, "malformed", detail, "send JSON in UTF-8", field=where)
    found = _PATH.search(message)
    path = where + found["path"].removeprefix("$") if found else where
    detail = _PATH.sub("", message)
    return HttpError(422, "invalid", detail, "see /docs for what is expected here", field=path)


def respond(error: HttpError) -> Response:
    """A problem as an answer."""
    return Response(
        _encoder.encode(error.problem),
        error.problem.status,
        media_type=MEDIA_TYPE,
        headers=error.headers,
    )
