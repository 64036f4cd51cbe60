"""One reciprocal for all elements that are divided by the same number, by `divide_by`. The rewriting is that of
`share_reciprocals` of Tile IR.

A division by IEEE's rules takes about twelve instructions for each element, a branch among them, and a subroutine for
a dividend of zero: for all columns beyond the end of a padded row.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.machine_ops.arith import LARGEST_DIVISOR, SMALLEST_DIVISOR, DivideBy
from tilewright.tileir.passes import share_reciprocals as shared


def share_reciprocals(c: Compilation) -> Preserved:
    """Before layouts, as it makes tiles."""
    return shared.share_reciprocals(c, DivideBy, (SMALLEST_DIVISOR, LARGEST_DIVISOR), ClusterGather)
