"""The machine ops: what the backend's passes put into Tile IR. Importing this package registers them all."""

from tilewright.backend_ptx.ops import async_copy, bulk, cluster, grids, matmul, shared, warpgroup
from tilewright.tileir.machine_ops import arith, layout, reduce

__all__ = ["arith", "async_copy", "bulk", "cluster", "grids", "layout", "matmul", "reduce", "shared", "warpgroup"]
