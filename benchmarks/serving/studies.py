"""Studies of the service under load."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.runner import say
from benchmarks.serving.client import Load, load, request, send_all
from benchmarks.serving.servers import Server, bare, service
from support.corpora import Corpus

TAUGHT = 20_000  # documents that the model learns before a measurement
CLIENTS = 64
BATCH = 100
TOGETHER = 500  # documents per request while teaching
BARE_PORT = 18731
LOGS = (1_000, 5_000, 20_000)  # documents after the last snapshot


class Plan:
    """The documents, and the duration of each study."""

    def __init__(self, corpus: Corpus, seconds: float, minutes: float) -> None:
        self.seconds = seconds
        self.minutes = minutes
        texts, labels = corpus.texts.to_pylist(), corpus.labels.to_pylist()
        self.documents = [
            {"text": text, "labels": some} for text, some in zip(texts, labels, strict=True)
        ]
        self.texts = [{"text": text} for text in texts]

    def batches(self, path: str, documents: list[dict[str, Any]], size: int) -> list[bytes]:
        """Encode requests of ``size`` documents each."""
        return [
            request(path, documents[at : at + size])
            for at in range(0, len(documents) - size + 1, size)
        ]

    def teach(self, server: Server, documents: int) -> None:
        """Teach documents; fail unless the service learns them all."""
        requests = self.batches("/v1/learn", self.documents[:documents], TOGETHER)
        asyncio.run(send_all(server.port, requests))
        if (learned := server.documents_learned()) != documents:
            raise SystemExit(f"taught {documents:,} documents, but {learned:,} were learnt")


def single(plan: Plan) -> dict[str, Any]:
    """Compare single predictions with endpoints that return nothing, taking turns."""
    requests = plan.batches("/v1/predict", plan.texts[:2000], 1)
    nothing = plan.batches("/", plan.texts[:2000], 1)
    with (
        _taught(plan) as server,
        bare("starlette", BARE_PORT) as starlette,
        bare("fastapi", BARE_PORT + 1) as fastapi,
    ):
        rounds = [
            (
                _load(fastapi.port, nothing, CLIENTS, plan.seconds),
                _load(server.port, requests, CLIENTS, plan.seconds),
                _load(starlette.port, nothing, CLIENTS, plan.seconds),
            )
            for _ in range(3)
        ]
    rounds.sort(key=lambda loads: loads[1].per_second / loads[0].per_second)
    against, own, framework = rounds[len(rounds) // 2]  # the round of the median ratio
    return {
        "clients": CLIENTS,
        "bare": against.figures(),
        "starlette": framework.figures(),
        "predict": own.figures(),
        "ratio": own.per_second / against.per_second,
        "ratios": [own.per_second / against.per_second for against, own, _ in rounds],
    }


def batches(plan: Plan) -> dict[str, Any]:
    """Predict in batches of 100 while the service learns."""
    predicted = plan.batches("/v1/predict", plan.texts, BATCH)
    learnt = plan.batches("/v1/learn", plan.documents, 1)

    async def both(port: int) -> tuple[Load, Load]:
        return await asyncio.gather(
            load(port, predicted, 4, plan.seconds), load(port, learnt, 8, plan.seconds)
        )

    with _taught(plan) as server:
        predictions, lessons = asyncio.run(both(server.port))
    return {
        "documents_per_second": BATCH * predictions.per_second,
        "learnt_per_second": lessons.per_second,
        **predictions.figures(),
    }


def learning(plan: Plan) -> dict[str, Any]:
    """Learn durably, one document per request."""
    requests = plan.batches("/v1/learn", plan.documents, 1)
    with _taught(plan) as server:
        return {
            "clients": CLIENTS,
            **_load(server.port, requests, CLIENTS, plan.seconds).figures(),
        }


def soak(plan: Plan) -> dict[str, Any]:
    """Predict and learn at a moderate rate for minutes; record latencies and memory."""
    predicted = plan.batches("/v1/predict", plan.texts, 1)
    learnt = plan.batches("/v1/learn", plan.documents, 1)
    memory: list[tuple[float, int]] = []

    async def mixture(server: Server) -> tuple[Load, Load]:
        seconds = 60 * plan.minutes

        async def look() -> None:
            start = time.perf_counter()
            while time.perf_counter() - start < seconds:
                memory.append((time.perf_counter() - start, server.memory))
                await asyncio.sleep(max(1.0, seconds / 100))

        loads = await asyncio.gather(
            load(server.port, predicted, 16, seconds, pause=0.05),
            load(server.port, learnt, 4, seconds, pause=0.05),
            look(),
        )
        return loads[0], loads[1]

    with _taught(plan) as server:
        predictions, lessons = asyncio.run(mixture(server))
    return {
        "minutes": plan.minutes,
        "predict": predictions.figures(),
        "learn": lessons.figures(),
        "memory": memory,
    }


def recovery(plan: Plan) -> dict[str, Any]:
    """Measure the start after a kill, by length of the log since the last snapshot."""
    rows = []
    for documents in LOGS:
        if documents > len(plan.documents):
            break
        with tempfile.TemporaryDirectory() as folder:
            with service(Path(folder, "data")) as server:
                plan.teach(server, documents)
                server.kill()
            with service(Path(folder, "data")) as server:
                rows.append({"documents": documents, "seconds": server.ready_seconds})
        say(f"    {rows[-1]}")
    with tempfile.TemporaryDirectory() as folder, service(Path(folder, "data")) as server:
        empty = server.ready_seconds
    return {"empty_seconds": empty, "rows": rows}


STUDIES: dict[str, Callable[[Plan], dict[str, Any]]] = {
    "single": single,
    "batches": batches,
    "learning": learning,
    "soak": soak,
    "recovery": recovery,
}


@contextmanager
def _taught(plan: Plan) -> Iterator[Server]:
    """Run a service with a taught model in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder, service(Path(folder, "data")) as server:
        plan.teach(server, min(TAUGHT, len(plan.documents) // TOGETHER * TOGETHER))
        yield server


def _load(port: int, requests: list[bytes], clients: int, seconds: float) -> Load:
    return asyncio.run(load(port, requests, clients, seconds))
