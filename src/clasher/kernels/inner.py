"""Compile kernels in half the time: only those that Python calls become machine code.

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
        found: dict[Any, None] = {}
        waiting = list(reversed(self._linking_libraries))
        while waiting:
            library = waiting.pop()
            if library not in found:
                found[library] = None
                waiting += reversed(library._linking_libraries)
        self._linking_libraries = list(found)
        super().finalize()


@register_pass(mutates_CFG=False, analysis_only=True)
class _UsePart(FunctionPass):
    """Let a function that kernels call begin with a part."""

    _name = "clasher_use_part"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseWhole(FunctionPass):
    """Let a kernel that Python calls begin as a whole."""

    _name = "clasher_use_whole"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _Whole(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class PartCompiler(CompilerBase):
    """Numba's compiler for parts."""

    first_pass = _UsePart

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.first_pass, IRProcessing)
        passes.finalize()
        return [passes]


class WholeCompiler(PartCompiler):
    """Numba's compiler for wholes."""

    first_pass = _UseWhole


PART = {"pipeline_class": PartCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
WHOLE = {"pipeline_class": WholeCompiler, "no_cfunc_wrapper": True}
