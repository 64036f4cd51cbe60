"""What divisors of its bounds say of a slice: a part of `simplify_ranges`.

Before:

    %n: i32 = extent(array=%x, axis=1)                 // %x: array<?x?xbf16, extent_div=16x16, align=16>
    %y: array<?x?xbf16> = slice_array(array=%x, start=%n, stop=%m, axis=1, ...)

After, where %m is a multiple of 16, too:

    %y: array<?x?xbf16, extent_div=16x16, align=16> = slice_array(array=%x, start=%n, stop=%m, axis=1, ...)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op
from tilewright.tileir.ops.arrays import SliceArray
from tilewright.tileir.types import ArrayType


def sharpen_slices(unit: Unit) -> bool:
    """Give slices the alignment and the divisors of extents that follow from their bounds. Gives whether any did."""
    changed = False
    for op in unit.function.walk():
        if isinstance(op, SliceArray) and not _handed_on(unit.uses.get(op.result, ())):
            sharper = _sharper(op, unit.facts)
            if sharper != op.type:
                op.type = sharper
                op.result.become(sharper)
                changed = True
    return changed


def _handed_on(users: Sequence[Op]) -> bool:
    """Whether a value meets others of its type at the end of a body or at a loop."""
    return any(user.terminator or user.blocks for user in users)


def _sharper(op: SliceArray, known: Facts) -> ArrayType:
    """The type of the slice, with what is known of its bounds. A divisor of 0 is that of a bound which is 0."""
    source, view, axis = op.array.type, op.type, op.axis
    first, stop = known[op.start].divisor, known[op.stop].divisor
    step = source.strides[axis]
    offset = first * (source.stride_div[axis] if step is None else step) * source.dtype.bytes
    extent_div = list(view.extent_div)
    extent_div[axis] = math.lcm(extent_div[axis], math.gcd(first, stop) or 1)
    return replace(view, extent_div=tuple(extent_div), align=math.lcm(view.align, math.gcd(source.align, offset)))
