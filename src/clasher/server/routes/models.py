"""The model as a file, and the log of lessons."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator
from itertools import islice

from starlette.responses import Response, StreamingResponse

from clasher.server.limits import BYTES, LINES
from clasher.server.operations import Call, lines_response, operation, unsupported
from clasher.server.schemas import LogQuery
from clasher.service.structs import Lesson, Receipt

PIECE = 2**18  # bytes
LESSONS = 500  # of a piece


@operation("GET", "/v1/log", scope="admin", answer=Lesson, answer_type=LINES)
async def log(call: Call, query: LogQuery) -> Response:
    """Export the lessons: who, when, labels before and after, and the version of the model.

    JSON lines, oldest first; continue with ``after`` set to the last version that you have.
    """
    lessons = call.engine.log(query.after)

    async def pieces() -> AsyncIterator[list[Lesson]]:
        while some := await call.run(lambda: list(islice(lessons, LESSONS))):
            yield some

    return lines_response(pieces())


@operation("GET", "/v1/model", scope="admin", answer=bytes, answer_type=BYTES)
async def download_model(call: Call) -> Response:
    """Download the current model, for ``clasher predict --model`` and ``Clasher.load``."""
    file = await call.wait(call.engine.model_file())
    headers = {
        "content-length": str(os.fstat(file.fileno()).st_size),
        "content-disposition": 'attachment; filename="model.clasher"',
    }

    async def pieces() -> AsyncIterator[bytes]:
        with file:
            while piece := await call.run(file.read, PIECE):
                yield piece

    return StreamingResponse(pieces(), media_type=BYTES, headers=headers)


@operation(
    "PUT", "/v1/model", scope="admin", body=bytes, body_type=BYTES, problems=(409,),
    example_answer=Receipt(version=16),
)  # fmt: skip
async def replace_model(call: Call) -> Receipt:
    """Replace the model with a file written by clasher."""
    if call.media_type != BYTES:
        raise unsupported("a model is a binary file", BYTES)
    with tempfile.TemporaryFile(dir=call.engine.folder.path) as file:
        async for piece in call.request.stream():
            await call.run(file.write, piece)
        file.seek(0)
        future = await call.run(call.engine.replace_model, file, call.who, call.key)
    return await call.wait(future)
