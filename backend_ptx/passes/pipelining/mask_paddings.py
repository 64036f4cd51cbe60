"""Load zeros outside the array, and select the padding afterwards, where `pipeline_loops` may prefetch: asynchronous
copies can only fill zeros. The rewriting is that of `select_paddings`."""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.pipelining.depth import ENOUGH_BYTES
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.passes.select_paddings import select_paddings


def mask_paddings(c: Compilation) -> Preserved:
    """Loads that are large enough to pay. No ring takes rows whose elements are moved one by one."""
    rings = c.has(Mma) or not moves_elements(c.function)
    return select_paddings(c, lambda op: rings and op.latency != 1 and op.result.type.dtype.bitwidth >= 16
                           and op.result.type.bytes >= ENOUGH_BYTES)
