"""One reciprocal for all elements that are divided by the same number; the quotients stay those of the division.

    before: %b: tile<1x1024xf32> = broadcast(src=%s, shape=(1, 1024))      // %s: tile<1x1xf32>
            %q: tile<1x1024xf32> = div(lhs=%x, rhs=%b)
    after:  %0: tile<1x1xf32> = div(lhs=1.0, rhs=%s)
            %1: tile<1x1xf32> = select(cond=..., lhs=%0, rhs=nan)          // within 2**-40 <= %s <= 2**40
            %2: tile<1x1024xf32> = broadcast(src=%1, shape=(1, 1024))
            %q: tile<1x1024xf32> = divide_by(lhs=%x, rhs=%b, reciprocal=%2)

A division by IEEE's rules takes about twelve instructions for each element, a branch among them, and a subroutine for
a dividend of zero: for all columns beyond the end of a padded row.
"""

from __future__ import annotations

import math

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.arith import LARGEST_DIVISOR, SMALLEST_DIVISOR, DivideBy
from tilewright.backend_ptx.ops.cluster import ClusterGather
from tilewright.tileir.analysis.bounded import is_bounded
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops.arith import And, Div, Ge, Le, Select
from tilewright.tileir.ops.shape import Broadcast
from tilewright.tileir.rewrite import Rewriter, rewrite

ENOUGH = 8  # elements for each divisor: a thread then has several of one divisor in most layouts


def share_reciprocals(c: Compilation) -> Preserved:
    """Afterwards no `div` of float32 to nearest divides many elements by a number that is the same for them."""
    chosen = {op for op in c.function.walk() if isinstance(op, Div) and _qualifies(c, op)}
    if not chosen:
        return ALL
    shared = {op.rhs for op in chosen}
    reciprocals: dict[Value, Value] = {}

    def keep_broadcast(rewriter: Rewriter, op: Broadcast) -> None:
        rewriter.keep(op)
        if op.result in shared:
            reciprocals[op.result] = rewriter.value(Broadcast(src=_reciprocal(rewriter, op.src), shape=op.shape))

    def divide(rewriter: Rewriter, op: Div) -> None:
        if op not in chosen:
            rewriter.keep(op)
            return
        assert isinstance(op.rhs.op, Broadcast)
        bounded = is_bounded(op.lhs, op.rhs.op.src, ClusterGather)
        made = DivideBy(lhs=op.lhs, rhs=op.rhs, reciprocal=reciprocals[op.rhs], bounded=bounded)
        rewriter.replace(op.result, rewriter.value(made))

    rewrite(c.function, {Broadcast: keep_broadcast, Div: divide})
    return NONE


def _qualifies(c: Compilation, op: Div) -> bool:
    """Whether many elements of a tile have one divisor, or few in each of many iterations."""
    nearest = op.rounding is RoundingMode.RN and not op.ftz and op.lhs.type.dtype is float32
    spread = op.rhs.op
    if not nearest or not isinstance(spread, Broadcast):
        return False
    again = op.lhs.type.size > 1 and any(o.repeats for o in c.around(op) if o not in c.around(spread))
    return again or op.lhs.type.size >= ENOUGH * spread.src.type.size


def _reciprocal(b: Rewriter, divisor: Value) -> Value:
    """1 / divisor; NaN, which every quotient made with it shows, where `divide_by` does not take the divisor."""
    type_ = divisor.type.erased()
    smallest, largest = (b.constant(n, type_) for n in (SMALLEST_DIVISOR, LARGEST_DIVISOR))
    inside = b.value(And(lhs=b.value(Ge(lhs=divisor, rhs=smallest)), rhs=b.value(Le(lhs=divisor, rhs=largest))))
    exact = b.value(Div(lhs=b.constant(1.0, type_), rhs=divisor))
    return b.value(Select(cond=inside, lhs=exact, rhs=b.constant(math.nan, type_)))
