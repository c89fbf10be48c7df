"""The model as a file, and what was taught as a stream."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

from starlette.responses import Response, StreamingResponse

from clasher.server.limits import BYTES, LINES
from clasher.server.operations import Call, encode_lines, lines, operation, receipt
from clasher.server.problems import HttpError
from clasher.server.schemas import LogQuery
from clasher.service.structs import Lesson, Receipt

PIECE = 2**18
LESSONS = 500  # of a piece


@operation("GET", "/v1/log", scope="admin", query=LogQuery, gives=Lesson, gives_type=LINES)
async def log(call: Call) -> Response:
    """Export what was taught: who, when, before and after, and the version of the model.

    JSON lines, the oldest first; go on with ``after`` the last version that you have.
    """
    lessons = call.engine.log(call.query(LogQuery).after)

    async def pieces() -> AsyncIterator[bytes]:
        while some := await call.service.workers.take(lessons, LESSONS):
            yield encode_lines(some)

    return lines(pieces())


@operation("GET", "/v1/model", scope="admin", gives=Any, gives_type=BYTES)
async def download_model(call: Call) -> Response:
    """Download the model of now: ``clasher predict --model`` and ``Clasher.load`` read it."""
    file = await call.service.bridge.wait(call.engine.model_file())
    size = os.fstat(file.fileno()).st_size
    headers = {
        "content-length": str(size),
        "content-disposition": 'attachment; filename="model.clasher"',
    }
    return StreamingResponse(_pieces(call, file), media_type=BYTES, headers=headers)


async def _pieces(call: Call, file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await call.service.workers.run(file.read, PIECE):
            yield piece


@operation(
    "PUT", "/v1/model", scope="admin", takes=Any, takes_type=BYTES, gives=Receipt, problems=(409,),
    answers=Receipt(version=16),
)  # fmt: skip
async def replace_model(call: Call) -> Response:
    """Put another model in the place of this one: a file that clasher has written."""
    if not call.sends(BYTES):
        raise HttpError(415, "unsupported-type", "a model is a file", f"send it as {BYTES}")
    run = call.service.workers.run
    with tempfile.TemporaryFile(dir=call.engine.folder.path) as file:
        async for piece in call.request.stream():
            await run(file.write, piece)
        file.seek(0)
        future = await run(call.engine.replace_model, file, call.who, call.key)
    return await receipt(call, future)
