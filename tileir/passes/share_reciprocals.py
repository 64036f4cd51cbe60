"""One reciprocal for all elements that are divided by the same number; the quotients stay those of the division.

    before: %b: tile<1x1024xf32> = broadcast(src=%s, shape=(1, 1024))      // %s: tile<1x1xf32>
            %q: tile<1x1024xf32> = div(lhs=%x, rhs=%b)
    after:  %0: tile<1x1xf32> = div(lhs=1.0, rhs=%s)
            %1: tile<1x1xf32> = select(cond=..., lhs=%0, rhs=nan)          // within 2**-40 <= %s <= 2**40
            %2: tile<1x1024xf32> = broadcast(src=%1, shape=(1, 1024))
            %q: tile<1x1024xf32> = divide_by(lhs=%x, rhs=%b, reciprocal=%2)

The caller says which op divides with a reciprocal, and within which divisors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tilewright.tileir.analysis.bounded import is_bounded
from tilewright.tileir.analysis.divisors import divides_many
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops.arith import And, Div, Ge, Le, Select
from tilewright.tileir.ops.shape import Broadcast
from tilewright.tileir.rewrite import Rewriter, only, rewrite


def share_reciprocals(
    unit: Unit, divide: Callable[..., Op], divisors: tuple[float, float], gathers: type[Op],
) -> Preserved:
    """Afterwards no `div` of float32 to nearest divides many elements by a number that is the same for them: what
    `divide(lhs=, rhs=, reciprocal=, bounded=)` makes does, whose reciprocal is NaN but for `divisors` within these two.
    `gathers`: an op that brings the parts of a sum together (see `is_bounded`)."""
    chosen = {op for op in unit.function.walk() if isinstance(op, Div) and divides_many(unit, op)}
    if not chosen:
        return ALL
    shared = {op.rhs for op in chosen}
    reciprocals: dict[Value, Value] = {}

    def keep_broadcast(rewriter: Rewriter, op: Broadcast) -> None:
        rewriter.keep(op)
        if op.result in shared:
            reciprocal = _reciprocal(rewriter, op.src, divisors)
            reciprocals[op.result] = rewriter.value(Broadcast(src=reciprocal, shape=op.shape))

    def by_reciprocal(rewriter: Rewriter, op: Div) -> None:
        assert isinstance(op.rhs.op, Broadcast)
        bounded = is_bounded(op.lhs, op.rhs.op.src, gathers)
        made = divide(lhs=op.lhs, rhs=op.rhs, reciprocal=reciprocals[op.rhs], bounded=bounded)
        rewriter.replace(op.result, rewriter.value(made))

    rewrite(unit.function, {Broadcast: keep_broadcast, Div: only(chosen, by_reciprocal)})
    return NONE


def _reciprocal(b: Rewriter, divisor: Value, divisors: tuple[float, float]) -> Value:
    """1 / divisor; NaN, which every quotient made with it shows, for other divisors than those within two numbers."""
    type_ = divisor.type.erased()
    smallest, largest = (b.constant(n, type_) for n in divisors)
    inside = b.value(And(lhs=b.value(Ge(lhs=divisor, rhs=smallest)), rhs=b.value(Le(lhs=divisor, rhs=largest))))
    exact = b.value(Div(lhs=b.constant(1.0, type_), rhs=divisor))
    return b.value(Select(cond=inside, lhs=exact, rhs=b.constant(math.nan, type_)))
