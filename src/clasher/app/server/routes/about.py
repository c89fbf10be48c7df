"""What runs here."""

from __future__ import annotations

from dataclasses import asdict

from starlette.responses import Response

from clasher import __version__
from clasher.app.server import limits
from clasher.app.server.calls import Call, answer
from clasher.app.server.operation import operation
from clasher.app.server.shapes import About

BOUNDS = (
    "MOST_DOCUMENTS", "LONGEST_TEXT", "LONGEST_EXPLAINED", "MOST_EXPLAINED", "LONGEST_LABEL",
    "MOST_LABELS", "LONGEST_ID",
)  # fmt: skip


@operation("GET", "/v1/about", scope="predict", gives=About)
async def about(call: Call) -> Response:
    """Tell what runs here: its version, the settings of its model, its bounds, and who asks."""
    bounds = {name.lower(): getattr(limits, name) for name in BOUNDS}
    return answer(
        About(
            version=__version__,
            who=call.who,
            scope=call.holder.scope,
            settings=call.engine.settings.to_dict(),
            options=asdict(call.engine.options),
            limits=bounds | asdict(call.service.setup.limits),
        )
    )
