"""Compile kernels that only other kernels call.

Numba turns every function into machine code with a way in from Python, even if its callers contain
a copy. Here a function stays as it was translated: it is optimised once, in the kernel that Python
calls. That halves the time to compile.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.untyped_passes import IRProcessing


class _Library(JITCodeLibrary):
    """Code to link into other code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_specific(self) -> None:
        pass


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseLibrary(FunctionPass):
    """Let a function begin with such a library."""

    _name = "clasher_use_library"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class InnerCompiler(CompilerBase):
    """Numba's compiler, with this step before the others."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_UseLibrary, IRProcessing)
        passes.finalize()
        return [passes]


OPTIONS = {"pipeline_class": InnerCompiler, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
