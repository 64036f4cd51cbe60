"""Lowering of Tile IR with layouts to LLVM text: one function per op, found by the op's class."""

from tilewright.backend_ptx.lower.function import emit_function

__all__ = ["emit_function"]
