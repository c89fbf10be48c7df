"""How much may wait: past that, others are sent away, so that memory is bounded."""

from __future__ import annotations

import threading
from concurrent.futures import InvalidStateError
from contextlib import suppress

from clasher.errors import BusyError
from clasher.service.writer import Request

RETRY_AFTER = 1.0  # seconds


class Admission:
    """Requests that were accepted and are not answered yet, bounded by number and bytes."""

    def __init__(self, requests: int, size: int) -> None:
        self.most = requests
        self._most_bytes = size
        self._lock = threading.Lock()
        self._inside: dict[Request, None] = {}
        self._bytes = 0

    def admit(self, request: Request) -> None:
        """Take a request in, or raise ``BusyError``; a single one always finds room."""
        with self._lock:
            full = len(self._inside) >= self.most or self._bytes + request.size > self._most_bytes
            if full and self._inside:
                raise BusyError(RETRY_AFTER)
            self._inside[request] = None
            self._bytes += request.size
        request.future.set_running_or_notify_cancel()  # what is written can no longer be cancelled
        request.future.add_done_callback(lambda _: self._leave(request))

    def reject_all(self, error: Exception) -> None:
        """Tell all who wait that nothing will come of it."""
        with self._lock:
            inside = list(self._inside)
        for request in inside:
            with suppress(InvalidStateError):  # it was answered meanwhile
                request.future.set_exception(error)

    def __len__(self) -> int:
        return len(self._inside)

    def _leave(self, request: Request) -> None:
        with self._lock:
            del self._inside[request]
            self._bytes -= request.size
