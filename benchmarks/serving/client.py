"""Send load over a few connections, one request at a time on each.

The client speaks minimal HTTP/1.1, to leave the machine to the server.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Load:
    """The result of a load."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    refused: int = 0

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        """Return a percentile of the latencies, in milliseconds."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def figures(self) -> dict[str, Any]:
        """Return the figures to report."""
        return {
            "requests": len(self.latencies),
            "refused": self.refused,
            "per_second": self.per_second,
            "p50_ms": self.percentile(0.5),
            "p99_ms": self.percentile(0.99),
            "p999_ms": self.percentile(0.999),
        }


def request(path: str, documents: Sequence[dict[str, Any]]) -> bytes:
    """Encode a request with documents."""
    body = json.dumps({"documents": documents}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def send_all(port: int, requests: Sequence[bytes]) -> None:
    """Send each request once, in order; none may fail."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for one in requests:
            writer.write(one)
            if (status := await _answer(reader)) >= 300:
                raise SystemExit(f"the service answered {status}")
    finally:
        writer.close()


async def load(
    port: int, requests: Sequence[bytes], clients: int, seconds: float, pause: float = 0.0
) -> Load:
    """Send requests over several connections for a number of seconds."""
    result = Load()
    turns = itertools.cycle(requests)
    start = time.perf_counter()
    await asyncio.gather(
        *(_client(port, turns, start + seconds, pause, result) for _ in range(clients))
    )
    result.seconds = time.perf_counter() - start
    if not result.latencies:
        raise SystemExit("no request was answered in time")
    return result


async def _client(
    port: int, turns: Iterator[bytes], until: float, pause: float, result: Load
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while (start := time.perf_counter()) < until:
            writer.write(next(turns))
            status = await _answer(reader)
            if status < 300:
                result.latencies.append(time.perf_counter() - start)
            elif status == 503:
                result.refused += 1
                await asyncio.sleep(0.1)
            else:
                raise SystemExit(f"the service answered {status}")
            if pause:
                await asyncio.sleep(pause)
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    place = head.lower().find(b"content-length: ")
    size = 0 if place < 0 else int(head[place + 16 : head.index(b"\r", place)])
    if size:
        await reader.readexactly(size)
    return int(head[9:12])
