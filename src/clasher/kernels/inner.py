"""Turn only those kernels into machine code that Python calls.

Numba turns every function into machine code with a way in from Python, links all that it calls into
it, and optimises the whole, even if its callers do the same again. Here a function that only
kernels call stays as it was translated. It is linked once, into the kernel that Python calls.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.untyped_passes import IRProcessing


class _NoEngine:
    """Takes the environment of a function that nobody runs."""

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: environments serve errors, and kernels never raise."""


class _Part(JITCodeLibrary):
    """Code to link into other code."""

    codegen = _NoEngine()

    def finalize(self) -> None:
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _Whole(JITCodeLibrary):
    """Code with all that it calls."""

    def finalize(self) -> None:
        found: dict[Any, None] = {}  # all that these call too, in order
        waiting = list(reversed(self._linking_libraries))
        while waiting:
            library = waiting.pop()
            if library not in found:
                found[library] = None
                waiting += reversed(library._linking_libraries)
        self._linking_libraries = list(found)
        super().finalize()


class _Begin(FunctionPass):
    """Let a function begin with a library of our own."""

    library: type[JITCodeLibrary]

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _BeginPart(_Begin):
    _name, library = "clasher_begin_part", _Part


@register_pass(mutates_CFG=False, analysis_only=True)
class _BeginWhole(_Begin):
    _name, library = "clasher_begin_whole", _Whole


class PartCompiler(CompilerBase):
    """Numba's compiler for parts."""

    first_pass = _BeginPart

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.first_pass, IRProcessing)
        passes.finalize()
        return [passes]


class WholeCompiler(PartCompiler):
    """Numba's compiler for wholes."""

    first_pass = _BeginWhole


PART = {"pipeline_class": PartCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
WHOLE = {"pipeline_class": WholeCompiler, "no_cfunc_wrapper": True}
