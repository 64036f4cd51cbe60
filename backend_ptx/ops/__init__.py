"""The machine ops: what the backend's passes put into Tile IR. Importing this package registers them all."""

from tilewright.backend_ptx.ops import async_copy, layout, matmul, reduce, shared

__all__ = ["async_copy", "layout", "matmul", "reduce", "shared"]
