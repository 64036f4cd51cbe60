"""Where the depth of a product ends within the tiles of an iteration.

    %a = load(array=%x, index=(%i, %k), steps=(128, 64), padding="zero", ...)
    %b = load(array=%y, index=(%k, %j), steps=(64, 128), padding="zero", ...)
    %s = mma(a=%a, b=%b, acc=%t)

Of x [1000, 520] and y [520, 1032] the last tiles have 8 k of 64: behind them both are zeros, and add nothing.
"""

from __future__ import annotations

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.arrays import Extent
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Load

# Depths that are multiples of this end within a tile seldom, and by few of an instruction's steps. So do most of those
# of which nothing is known, such as those of an exported kernel.
WHOLE = 16


def depth_left(b: Builder, op: Mma) -> Value | None:
    """How many k the iteration's tiles have before both are zeros, which may be more than they hold, or less than one;
    None where that is not known, where the depth is known to be a multiple of WHOLE, or outside of a loop that adds up
    products."""
    if not isinstance(op.acc.owner, Block):
        return None
    ends: list[Value] = []
    places = set[tuple[Value, int]]()
    for value, axis in ((op.a, 1), (op.b, 0)):
        load = value.op
        if not isinstance(load, Load) or load.padding is not PaddingMode.ZERO or len(load.shape) != 2:
            return None
        along, type_ = load.order[axis], load.array.type
        places.add((load.index[axis], load.steps[axis]))
        known = type_.extents[along] or type_.extent_div[along]
        if known == 1 or known % WHOLE == 0 or load.steps[axis] != load.shape[axis]:
            return None
        ends.append(b.cast(b.value(Extent(array=load.array, axis=along)), int32))
    [(index, step), *others] = places
    if others or index.type.dtype is not int32:
        return None
    end = b.value(arith.Max(lhs=ends[0], rhs=ends[1]))
    return b.value(arith.Sub(lhs=end, rhs=b.value(arith.Mul(lhs=index, rhs=b.number(step)))))
