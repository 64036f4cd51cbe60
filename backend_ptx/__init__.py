"""Tile IR to LLVM NVPTX to PTX, and its launch through the CUDA driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.backend_ptx.compile import Compiled, backend_dumps, compile_kernel
    from tilewright.backend_ptx.lower import lower_function

__all__ = ["Compiled", "backend_dumps", "compile_kernel", "lower_function"]


def __getattr__(name: str) -> Any:
    # Loaded at first use: a user who never compiles for a GPU does not pay for it.
    if name in ("Compiled", "backend_dumps", "compile_kernel"):
        from tilewright.backend_ptx import compile as module

        return getattr(module, name)
    if name == "lower_function":
        from tilewright.backend_ptx.lower import lower_function

        return lower_function
    raise AttributeError(name)
