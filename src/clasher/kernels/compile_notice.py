"""Tell users that kernels are being compiled when the first call takes long."""

import functools
import logging
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

logger = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds of compiling before the warning
TEXT = "clasher: compiling its loops for this machine; this takes 10 to 30 s, once"


class Notice:
    """Log one warning per process, after ``PATIENCE`` seconds of compiling.

    Numba compiles under a lock: one thread at a time calls ``started`` and ``ended``.
    """

    def __init__(self) -> None:
        self._depth = 0  # kernels compile the kernels that they call
        self._spent = 0.0
        self._started_at = 0.0
        self._timer: threading.Timer | None = None
        self._warned = threading.Lock()

    def started(self) -> None:
        self._depth += 1
        if self._depth > 1 or self._warned.locked():
            return
        self._started_at = monotonic()
        left = PATIENCE - self._spent
        if left <= 0:
            self._warn()
            return
        self._timer = threading.Timer(left, self._warn)
        self._timer.daemon = True
        self._timer.start()

    def ended(self) -> None:
        self._depth -= 1
        if self._depth or self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._spent += monotonic() - self._started_at

    def _warn(self) -> None:
        if self._warned.acquire(blocking=False):  # never released: once is enough
            logger.warning(TEXT)


notice = Notice()


@functools.cache
def watch() -> None:
    """Let Numba report to ``notice`` when it compiles a kernel, instead of loading it."""
    from numba.core import event

    def tell(event: Any, then: Callable[[], None]) -> None:
        if str(event.data["dispatcher"].py_func.__module__).startswith("clasher.kernels."):
            then()

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            tell(event, notice.started)

        def on_end(self, event: Any) -> None:
            tell(event, notice.ended)

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
