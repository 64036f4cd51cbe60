"""Lowering of Tile IR with layouts to LLVM text: one function per op, found by the op's class."""

from tilewright.backend_ptx.lower.function import Lowered, emit_function, lower_function

__all__ = ["Lowered", "emit_function", "lower_function"]
