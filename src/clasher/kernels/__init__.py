"""The compiled loops: arrays in, arrays out, no Python object inside.

Every kernel is a plain function over arrays: it never raises, allocates nothing per document and
releases the GIL. ``NUMBA_DISABLE_JIT=1`` runs the same code interpreted.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clasher.kernels.compile_notice import watch

_COMPILING = threading.RLock()  # kernels ask for the kernels that they call


@functools.cache
def _sources() -> str:
    """A digest of all kernels."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Kernel:
    """A function that is compiled on first use, and so is Numba imported.

    That takes longer than all other imports together, and nobody waits for it who only looks.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop."""
        return self.compiled(*arguments)

    @functools.cached_property
    def compiled(self) -> Any:
        """Numba's dispatcher; the function itself where nothing is compiled."""
        with _COMPILING:
            if "compiled" in vars(self):  # by another thread, meanwhile
                return vars(self)["compiled"]
            return _compiled(self.__wrapped__, self._options)  # type: ignore[attr-defined]

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks for where a kernel calls this one."""
        return self.compiled._numba_type_


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numpy as np
    from numba import config, njit

    if config.DISABLE_JIT:  # hashes wrap around silently, as they do compiled, in every thread
        return np.errstate(all="ignore")(function)
    watch()
    compiled = njit(cache=True, **options)(function)
    cache = compiled._cache
    if hasattr(cache, "_cache_file"):
        cache._cache_file._source_stamp = _sources()
    return compiled


def kernel(
    function: Callable[..., Any] | None = None, *, allocating: bool = False, **options: Any
) -> Any:
    """Compile a function on first use, and keep the result on disk.

    Arrays belong to the caller and outlive the call, and a kernel makes none of its own: so nobody
    counts who refers to them, which would take as long as the arithmetic. What has to make an
    array says that it is ``allocating``; without it, it does not compile.

    Numba discards a kept result when the function's own file changes, but kernels are inlined
    into each other across files: so any change to any kernel discards them all.
    """
    if function is None:
        return functools.partial(kernel, allocating=allocating, **options)
    return Kernel(function, {"nogil": True, "error_model": "numpy", "_nrt": allocating, **options})


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel that is compiled into those that call it, on the way of every document.

    To hand over the state, a tuple of many arrays, costs as much as a short loop does.
    """
    return kernel(function, forceinline=True)
