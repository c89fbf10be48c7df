"""The bridge passes results and errors of threads to the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from clasher.errors import StoppedError
from clasher.server.service import Bridge

MANY = 500


def test_results_of_all_threads_arrive() -> None:
    futures: list[Future[int]] = [Future() for _ in range(MANY)]

    async def arrived() -> list[int]:
        bridge = Bridge()
        waiting = [bridge.wait(future) for future in futures]
        with ThreadPoolExecutor(4) as threads:
            for number, future in enumerate(futures):
                threads.submit(future.set_result, number)
            return await asyncio.gather(*waiting)

    assert asyncio.run(arrived()) == list(range(MANY))


def test_errors_arrive_and_cancelled_waits_are_skipped() -> None:
    futures: list[Future[int]] = [Future() for _ in range(3)]

    async def arrived() -> int:
        bridge = Bridge()
        failing, left, good = (bridge.wait(future) for future in futures)
        left.cancel()
        futures[0].set_exception(StoppedError("the disk is full"))
        for future in futures[1:]:
            future.set_result(7)
        with pytest.raises(StoppedError, match="the disk is full"):
            await failing
        return await good

    assert asyncio.run(arrived()) == 7


def test_simultaneous_results_wake_the_loop_once() -> None:
    async def woken() -> int:
        loop, bridge, calls = asyncio.get_running_loop(), Bridge(), 0
        plain = loop.call_soon_threadsafe

        def counting(*work: object) -> asyncio.Handle:
            nonlocal calls
            calls += 1
            return plain(*work)  # type: ignore[arg-type]

        loop.call_soon_threadsafe = counting  # type: ignore[method-assign, assignment]
        futures: list[Future[None]] = [Future() for _ in range(MANY)]
        waiting = [bridge.wait(future) for future in futures]
        for future in futures:
            future.set_result(None)
        await asyncio.gather(*waiting)
        return calls

    assert asyncio.run(woken()) == 1
