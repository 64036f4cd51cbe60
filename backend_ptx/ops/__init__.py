"""The machine ops: what the backend's passes put into Tile IR. Importing this package registers them all."""

from tilewright.backend_ptx.ops import (
    arith,
    async_copy,
    bulk,
    cluster,
    grids,
    layout,
    matmul,
    reduce,
    shared,
    warpgroup,
)

__all__ = ["arith", "async_copy", "bulk", "cluster", "grids", "layout", "matmul", "reduce", "shared", "warpgroup"]
