from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clasher.model import Clasher
from tests.cli.interruption import Interrupting


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Interrupting]]:
    """Make a standard input that presses Ctrl-C, where Python's own handler hears it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    monkeypatch.setattr("clasher.io.read_ahead.PATIENCE", 0.01)
    made: list[Interrupting] = []

    def make(content: bytes, method: str, owner: type[Any] = Clasher) -> Interrupting:
        made.append(Interrupting(content, method, monkeypatch, owner))
        return made[-1]

    yield make
    for stdin in made:
        stdin.release()
    signal.signal(signal.SIGINT, before)
