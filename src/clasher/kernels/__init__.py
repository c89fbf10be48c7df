"""Compiled loops: arrays in, arrays out, no Python object inside.

Every kernel is a plain function over arrays: it never raises, allocates nothing per document and
releases the GIL. ``NUMBA_DISABLE_JIT=1`` runs the same code interpreted.
"""

import functools
import hashlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from clasher.kernels.compile_notice import watch

_COMPILING = threading.RLock()  # a kernel compiles the kernels that it calls


@functools.cache
def _sources() -> str | None:
    """Return a digest of all kernels; None where they are no files, as in a zip archive."""
    digest = hashlib.blake2b(digest_size=16)
    paths = sorted(Path(__file__).parent.glob("*.py"))
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest() if paths else None


class Kernel:
    """A function that imports Numba and compiles on first use.

    Importing Numba takes longer than all other imports together.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._options = options
        self._variants: dict[tuple[tuple[str, int], ...], Kernel] = {}

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)

    @functools.cached_property
    def compiled(self) -> Any:
        """Numba's dispatcher, or the function itself if compiling is disabled."""
        with _COMPILING:
            if "compiled" in vars(self):  # another thread was faster
                return vars(self)["compiled"]
            import numpy as np
            from numba import config, njit

            function: Callable[..., Any] = self.__wrapped__  # type: ignore[attr-defined]
            if config.DISABLE_JIT:  # let hashes overflow silently, as compiled code does
                return np.errstate(all="ignore")(function)
            watch()
            from clasher.kernels import inner
            from clasher.kernels.cache import Kept

            compiled = njit(**inner.WHOLE, **self._options)(function)
            compiled._cache = Kept(function, _sources())
            return compiled

    def variant(self, constants: Mapping[str, int]) -> "Kernel":
        """Return the kernel with other values of module constants, in all kernels that it calls.

        Branches that these values exclude are not compiled.
        """
        key = tuple(constants.items())
        if key not in self._variants:
            self._variants[key] = self._with(constants)
        return self._variants[key]

    def _with(self, constants: Mapping[str, int]) -> "Kernel":
        function: Any = self.__wrapped__  # type: ignore[attr-defined]
        changed: dict[str, Any] = {}
        for name in function.__code__.co_names:
            known = function.__globals__.get(name)
            if name in constants:
                changed[name] = constants[name]
            elif isinstance(known, Kernel) and (other := known.variant(constants)) is not known:
                changed[name] = other
        if not changed:
            return self
        values = function.__globals__ | changed
        copy = FunctionType(function.__code__, values, function.__name__, function.__defaults__)
        # the name of the file in Numba's cache
        copy.__qualname__ = "_".join([function.__qualname__, *map(str, constants.values())])
        copy.__module__ = function.__module__
        return Kernel(copy, self._options)

    @functools.cached_property
    def _inside(self) -> Any:
        """Numba's dispatcher for calls from other kernels, which need no way in from Python."""
        from numba import njit

        from clasher.kernels import inner

        function: Callable[..., Any] = self.__wrapped__  # type: ignore[attr-defined]
        return njit(**inner.PART, **self._options)(function)

    @property
    def _numba_type_(self) -> Any:
        """The type that Numba asks for when a kernel calls this one."""
        return self._inside._numba_type_


def kernel(
    function: Callable[..., Any] | None = None, *, allocating: bool = False, **options: Any
) -> Any:
    """Compile a function on first use, and keep the result on disk.

    Kernels work on arrays of the caller, so Numba's reference counting is off: it would take as
    long as the arithmetic. A kernel that creates an array must be ``allocating``, or it does not
    compile.

    Numba recompiles when the file of a function changes, but kernels are inlined across files:
    a change to any kernel recompiles all of them.
    """
    if function is None:
        return functools.partial(kernel, allocating=allocating, **options)
    return Kernel(function, {"nogil": True, "error_model": "numpy", "_nrt": allocating, **options})


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into the kernels that call it.

    Passing the state, a tuple of many arrays, costs as much as a short loop.
    """
    return kernel(function, forceinline=True)
