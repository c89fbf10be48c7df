"""Say that the loops are being compiled, so that a first call that takes long explains itself."""

from __future__ import annotations

import functools
import logging
import threading
from time import monotonic
from typing import Any

logger = logging.getLogger(__name__)

KERNELS = "clasher.kernels."
PATIENCE = 2.0  # seconds of compiling before anything is said
TEXT = "clasher: compiling its loops for this machine; this takes about a minute, once"


class Notice:
    """One warning per process, when compiling has taken ``PATIENCE`` in all.

    Numba compiles under a lock: one thread at a time calls ``started`` and ``ended``.
    """

    def __init__(self) -> None:
        self._depth = 0  # kernels compile those that they call
        self._spent = 0.0
        self._begun = 0.0
        self._timer: threading.Timer | None = None
        self._said = threading.Lock()

    def started(self) -> None:
        """Note that a kernel is being compiled."""
        self._depth += 1
        if self._depth > 1 or self._said.locked():
            return
        self._begun = monotonic()
        left = PATIENCE - self._spent
        if left <= 0:
            self._say()
            return
        self._timer = threading.Timer(left, self._say)
        self._timer.daemon = True
        self._timer.start()

    def ended(self) -> None:
        """Note that it is compiled, or cannot be."""
        self._depth -= 1
        if self._depth or self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._spent += monotonic() - self._begun

    def _say(self) -> None:
        if self._said.acquire(blocking=False):  # never released: once is enough
            logger.warning(TEXT)


notice = Notice()


@functools.cache
def watch() -> None:
    """Have Numba tell ``notice`` of the kernels it compiles; it loads others from its cache."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            if _is_ours(event):
                notice.started()

        def on_end(self, event: Any) -> None:
            if _is_ours(event):
                notice.ended()

    event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith(KERNELS)
