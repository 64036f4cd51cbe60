"""Matrix multiply-accumulate."""

from __future__ import annotations

from tilewright.backend_ptx.lower.registry import refuse
from tilewright.tileir.ops import matmul as ops

refuse(ops.Mma, "matrix multiplication is not available on the GPU yet")
