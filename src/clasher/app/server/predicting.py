"""Predictions at the edge: those that are asked for at the same moment are made together.

A call of the engine costs more than a document in it. Under load many small requests wait in the
event loop at the same time: one call answers them all, and each is answered sooner.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from clasher.app.server.workers import Workers
from clasher.errors import ClasherError
from clasher.service.engine import Engine
from clasher.service.structs import Document, Prediction

SMALL = 8  # documents of a request that is made together with others
SMALL_TEXT = 16_384  # characters of such a document
TOGETHER = 64  # documents of one call
PIECE = 250  # documents of a call for a large request: others get their turn in between


class _Asked(NamedTuple):
    documents: Sequence[Document]
    future: asyncio.Future[list[Prediction]]


class Predictor:
    """Makes predictions for requests, small ones together."""

    def __init__(self, engine: Engine, workers: Workers) -> None:
        self._engine = engine
        self._workers = workers
        self._asked: dict[tuple[int, bool], list[_Asked]] = {}

    async def predict(
        self, documents: Sequence[Document], top: int, keep: bool
    ) -> AsyncIterator[list[Prediction]]:
        """The predictions, piece by piece."""
        if len(documents) <= SMALL and all(len(one.text) <= SMALL_TEXT for one in documents):
            yield await self._together(documents, top, keep)
            return
        for start in range(0, len(documents), PIECE):
            piece = documents[start : start + PIECE]
            yield await self._workers.run(self._engine.predict, piece, top, keep)

    def _together(
        self, documents: Sequence[Document], top: int, keep: bool
    ) -> asyncio.Future[list[Prediction]]:
        loop = asyncio.get_running_loop()
        asked = _Asked(documents, loop.create_future())
        waiting = self._asked.setdefault((top, keep), [])
        if not waiting:  # what else came with this one is asked for before the loop gets there
            loop.call_soon(self._flush, top, keep)
        waiting.append(asked)
        return asked.future

    def _flush(self, top: int, keep: bool) -> None:
        waiting = self._asked.pop((top, keep))
        while waiting:
            some, size = [], 0
            while waiting and size < TOGETHER:
                some.append(waiting.pop())
                size += len(some[-1].documents)
            self._answer(some, top, keep)

    def _answer(self, some: list[_Asked], top: int, keep: bool) -> None:
        try:
            documents = [document for asked in some for document in asked.documents]
            predictions = iter(self._engine.predict(documents, top, keep))
        except ClasherError as error:
            if len(some) > 1:  # one of them is at fault: the others are not to suffer
                for asked in some:
                    self._answer([asked], top, keep)
            elif not some[0].future.done():
                some[0].future.set_exception(error)
            return
        for asked in some:
            own = [next(predictions) for _ in asked.documents]
            if not asked.future.done():
                asked.future.set_result(own)
