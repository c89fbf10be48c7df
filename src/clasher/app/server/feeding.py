"""A service that feeds itself, so that a newcomer sees it alive."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from time import perf_counter

from clasher.app.docstrings import Docstring, collect
from clasher.app.server.serving import Service
from clasher.errors import BusyError
from clasher.service.structs import Document

WHO = "demo"
LIMIT = 12_000  # documents of a round
ROUNDS = 3
FIRST = 500  # documents that are learnt at once, so that there is something to see
TOP = 5  # probabilities of a prediction
PAUSE = 0.1  # seconds between two documents: as fast as people can follow
UNANSWERED = 0.3  # the share of documents that is left for people to teach


async def feed(service: Service, pause: float = PAUSE, limit: int = LIMIT) -> None:
    """Predict the docstrings of this Python one by one, and answer most of them; ends some day."""
    found = (await asyncio.to_thread(collect, limit)).documents
    engine = service.engine
    first = [Document(text=one.text, labels=one.labels) for one in found[:FIRST]]
    if first and not engine.metrics().documents_learned:
        await service.bridge.wait(engine.learn(first, WHO))
    chance = random.Random(0)
    for name, one in _rounds(found[FIRST:], engine.version):
        if service.is_stopping():
            return
        try:
            await _predict(service, Document(id=name, text=one.text))
            if chance.random() >= UNANSWERED:
                await service.bridge.wait(engine.feedback(name, one.labels, WHO))
        except BusyError:
            pass  # others come first
        await asyncio.sleep(pause)


async def _predict(service: Service, document: Document) -> None:
    """Predict as for a request, which the figures tell of."""
    start = perf_counter()
    async for _ in service.predictor.predict([document], TOP, True):
        service.meters.add_documents(1)
    service.meters.done("predict", 200, perf_counter() - start)


def _rounds(documents: Sequence[Docstring], run: int) -> Iterator[tuple[str, Docstring]]:
    """The documents again and again, but not for ever; each time and in each run anew."""
    for number in range(1, ROUNDS + 1):
        for place, one in enumerate(documents):
            yield f"{one.name[:200]} {run}.{number}.{place}", one
