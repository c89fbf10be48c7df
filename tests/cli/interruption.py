"""A standard input that presses Ctrl-C when a command has used its content."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest


class Interrupting(io.BufferedIOBase):
    """Yields its content, waits until it is ``used``, presses Ctrl-C, and then blocks.

    The content is used when ``method`` of ``owner`` returns for the first time.
    """

    def __init__(
        self, content: bytes, method: str, monkeypatch: pytest.MonkeyPatch, owner: type[Any]
    ) -> None:
        self.content = content
        self.silence = os.pipe()  # never has anything to read
        self.used = threading.Event()
        self.released = threading.Event()
        original: Callable[..., Any] = getattr(owner, method)

        def spy(model: Any, *args: Any, **how: Any) -> Any:
            found = original(model, *args, **how)
            if model.settings.dimensions > 2:  # not the model of the warm-up
                self.used.set()
            return found

        monkeypatch.setattr(owner, method, spy)

    def fileno(self) -> int:
        return self.silence[0]

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        return self.read1(-1 if size is None else size)

    def read1(self, size: int = -1) -> bytes:
        if size == 0:
            return b""
        if self.content:
            content, self.content = self.content, b""
            return content
        self.used.wait()
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        self.released.wait()
        return b""

    def release(self) -> None:
        """Let the reading thread run to its end."""
        self.released.set()
        for thread in threading.enumerate():
            if thread.name == "clasher-read-ahead":
                thread.join()
        for end in self.silence:
            os.close(end)
