"""Who asks, by the token that a request carries."""

from __future__ import annotations

from starlette.requests import Request

from clasher.app.server.problems import HttpError
from clasher.app.server.tokens import Holder, Scope, TokenFile
from clasher.errors import StreamError

EVERYBODY = Holder("", "admin")
"""Who asks where there are no tokens: the machine's own users, who may do everything."""
NOBODY = Holder("", "predict")
CHALLENGE = {"www-authenticate": 'Bearer realm="clasher"'}


def holder_of(request: Request, tokens: TokenFile | None, scope: Scope | None) -> Holder:
    """Who asks; raises where they may not."""
    if tokens is None:
        return EVERYBODY
    if scope is None:
        return NOBODY
    holder = _known(request, tokens)
    if holder is None:
        raise HttpError(
            401, "no-token", "this needs a token that is known here",
            "send it as 'Authorization: Bearer TOKEN'; clasher token makes them",
            headers=CHALLENGE,
        )  # fmt: skip
    if not holder.may(scope):
        raise HttpError(
            403, "scope", f"this needs a token of scope {scope}, and yours is {holder.scope}",
            f"ask for one: clasher token NAME --scope {scope}",
        )  # fmt: skip
    return holder


def _known(request: Request, tokens: TokenFile) -> Holder | None:
    """Whose token a request carries, None where it is nobody's."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        return None
    try:
        return tokens.find(token.strip())
    except (StreamError, OSError, UnicodeDecodeError) as error:
        raise HttpError(
            503, "no-tokens", "the file of the tokens cannot be read",
            "look at it where the service runs",
        ) from error  # fmt: skip
