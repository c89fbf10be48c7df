"""Errors as clients see them: RFC 9457 problem details, never a traceback."""

import math
import re
from http import HTTPStatus

import msgspec
from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from clasher import errors

MEDIA_TYPE = "application/problem+json"
_PATH = re.compile(r" - at `(?P<path>[^`]*)`$")


class Problem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error: what is wrong, where, and how to fix it.

    ``field`` is the path to the wrong value, such as ``$.documents[2].labels``. In JSON lines it
    starts with the line number, counted from 1.
    """

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    remedy: str | None = None


class HttpError(errors.ClasherError):
    """An error that becomes a problem response."""

    def __init__(
        self, status: int, kind: str, detail: str, remedy: str | None = None, *,
        field: str | None = None, headers: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.problem = Problem(
            type=f"urn:clasher:problem:{kind}", title=title(status), status=status, detail=detail,
            field=field, remedy=remedy,
        )  # fmt: skip
        self.headers = headers

    @property
    def response(self) -> Response:
        content = msgspec.json.encode(self.problem)
        return Response(content, self.problem.status, self.headers, MEDIA_TYPE)


def busy(
    detail: str, remedy: str = "try again later", seconds: float = 1.0, kind: str = "busy"
) -> HttpError:
    """Ask the client to try again after some seconds (503)."""
    headers = {"retry-after": str(max(1, math.ceil(seconds)))}
    return HttpError(503, kind, detail, remedy, headers=headers)


def title(status: int) -> str:
    """Return the reason phrase of a status by RFC 9110 (Python's are older)."""
    newer = {413: "Content Too Large", 422: "Unprocessable Content"}
    return newer.get(status) or HTTPStatus(status).phrase


_KINDS: tuple[tuple[type[errors.ClasherError], int, str, str | None], ...] = (
    (errors.UnknownDocumentError, 404, "unknown-document", None),
    (errors.ConflictError, 409, "conflict", None),
    (errors.RefusedError, 409, "refused", None),
    (errors.StoppedError, 503, "stopped", "try again after the service has restarted"),
    (errors.ModelFileError, 422, "not-a-model", "send a model file written by clasher"),
    (errors.ClasherError, 422, "invalid", None),
)


def as_http(error: errors.ClasherError) -> HttpError:
    """Convert an error of the engine; its message becomes the detail and the remedy."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, errors.BusyError):
        return busy(str(error), seconds=error.retry_after)
    _, status, kind, remedy = next(row for row in _KINDS if isinstance(error, row[0]))
    detail, _, advice = str(error).partition("; ")
    return HttpError(status, kind, detail, advice or remedy)


def invalid(error: Exception, where: str = "$") -> HttpError:
    """Convert an error of msgspec: malformed JSON (400) or an invalid value (422)."""
    if isinstance(error, RecursionError):
        return HttpError(422, "too-deep", "the JSON is nested too deeply", field=where)
    message = str(error)
    if not isinstance(error, msgspec.ValidationError):
        detail = f"the JSON cannot be read: {message.removeprefix('JSON is malformed: ')}"
        return HttpError(400, "malformed", detail, "send JSON in UTF-8", field=where)
    found = _PATH.search(message)
    path = where + found["path"].removeprefix("$") if found else where
    remedy = "see /docs for what is expected here"
    return HttpError(422, "invalid", _PATH.sub("", message), remedy, field=path)


async def unrouted(request: Request, error: Exception) -> Response:
    """Answer unknown paths and methods (404, 405)."""
    assert isinstance(error, HTTPException)
    path = request.url.path
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return HttpError(
            405, "no-method", f"{path} does not support {request.method}", f"use {allowed}",
            headers={"allow": allowed},
        ).response  # fmt: skip
    return HttpError(error.status_code, "not-found", f"{path} does not exist", "see /docs").response
