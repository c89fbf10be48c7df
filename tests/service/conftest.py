from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clasher.service.engine import Engine
from clasher.service.structs import EngineOptions
from clasher.settings import Settings

SMALL = Settings(dimensions=256, max_labels=16, words=True)


class Clock:
    """A clock that tests move; ``now`` is the time of day, which may jump."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.passed = 0.0

    def __call__(self) -> float:
        return self.now

    def timer(self) -> float:
        """Return the seconds that have really passed."""
        return self.passed

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.passed += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def opened(folder: Path, clock: Clock) -> Iterator[Callable[..., Engine]]:
    """Open the folder, again and again; close every engine at the end."""
    with ExitStack() as stack:

        def opening(settings: Settings | None = None, **options: Any) -> Engine:
            failing = options.pop("on_failure", None)
            given = {} if failing is None else {"on_failure": failing}
            engine = Engine(
                folder,
                settings,
                options=EngineOptions(**options),
                clock=clock,
                timer=clock.timer,
                **given,
            )
            return stack.enter_context(engine)

        yield opening


@pytest.fixture
def engine(opened: Callable[..., Engine]) -> Engine:
    return opened(SMALL)
