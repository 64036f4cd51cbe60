"""Integers that are compared as floats are compared as integers: part of `simplify_ranges`.

    before: %a: tile<128xf32> = cast(src=%n, dtype=f32)            // %n: tile<128xu32>, 24 random bits
            %b: tile<128xf32> = mul(lhs=%a, rhs=%small)            // 2 ** -24
            %c: tile<128xi1> = ge(lhs=%b, rhs=%rate)               // rate: a scalar, repeated
    after:  %s: f32 = mul(lhs=%rate, rhs=%large)                   // 2 ** 24
            %k: i32 = ceil(%s), between 0 and 2 ** 24              // once, not for each element
            %c: tile<128xi1> = ge(lhs=%n, rhs=%k)

A conversion takes a GPU as long as eight sums. All is exact: the float format holds every value that the integers can
have, and the factor is a power of two. Where a shift made these integers (%n = %m >> 8), what it took is compared with
the shifted limit. The one above them all may become that below them all, and its comparison the opposite:

            %l: u32 = shl(lhs=%k, rhs=%eight) ; %f: i1 = ge(lhs=%k, rhs=%most)       // 2 ** 24
            %c: tile<128xi1> = xor(lhs=ge(lhs=%m, rhs=%l), rhs=%f)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.floats import Format, float_format
from tilewright.tileir.core import Value
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.math import Ceil, Floor
from tilewright.tileir.ops.shape import Broadcast
from tilewright.tileir.rewrite import Rewriter, constant_value
from tilewright.tileir.types import TileType

MIRRORED = {arith.Lt: arith.Gt, arith.Gt: arith.Lt, arith.Le: arith.Ge, arith.Ge: arith.Le}


class Whole(NamedTuple):
    """A float tile that is `integers` * 2 ** -`shift`, exactly: these are in low..high, and `taken` >> `dropped`."""

    integers: Value
    shift: int
    low: int
    high: int
    taken: Value
    dropped: int


class Compared(NamedTuple):
    """A comparison of the class `cls` of such a tile with `limit`, for which fewer elements are computed."""

    whole: Whole
    cls: type[Any]
    limit: Value

    @property
    def few(self) -> Value:
        """What the limit repeats."""
        return self.limit.op.src if isinstance(self.limit.op, Broadcast) else self.limit


def compared(op: Any, known: Facts) -> Compared | None:
    """What can be compared as integers, None for everything else."""
    cls = type(op)
    if cls not in MIRRORED or not op.lhs.type.dtype.is_float:
        return None
    for value, limit, turned in ((op.lhs, op.rhs, cls), (op.rhs, op.lhs, MIRRORED[cls])):
        whole = _whole(value, known)
        if whole is not None:
            found = Compared(whole, turned, limit)
            fewer = found.few.type.size < value.type.size or constant_value(limit) is not None
            return found if fewer else None
    return None


def as_integers(op: Compared, rewriter: Rewriter) -> Value:
    """What stands for the comparison."""
    whole, cls = op.whole, arith.Ge if op.cls in (arith.Ge, arith.Gt) else arith.Lt

    def each(value: Value) -> Value:
        same = op.few is op.limit
        return value if same else rewriter.value(Broadcast(src=value, shape=op.limit.type.shape))

    least = _least(op, rewriter)
    if not whole.dropped:
        return rewriter.value(cls(lhs=whole.taken, rhs=each(least)))
    shift, beyond = (rewriter.constant(n, least.type.erased()) for n in (whole.dropped, whole.high + 1))
    found = rewriter.value(cls(lhs=whole.taken, rhs=each(rewriter.value(arith.Shl(lhs=least, rhs=shift)))))
    if (whole.high + 1) << whole.dropped <= whole.taken.type.dtype.int_range[1]:
        return found
    # An exclusive or, as LLVM makes two choices of each one by a disjunction.
    return rewriter.value(arith.Xor(lhs=found, rhs=each(rewriter.value(arith.Ge(lhs=least, rhs=beyond)))))


def _whole(value: Value, known: Facts) -> Whole | None:
    dtype, shift = value.type.dtype, 0
    if isinstance(value.op, arith.Mul):
        factor = constant_value(value.op.rhs)
        fraction, exponent = math.frexp(factor or 0.0)
        if fraction != 0.5 or exponent > 1:
            return None
        value, shift = value.op.lhs, 1 - exponent
    if not isinstance(value.op, Cast) or not value.op.src.type.dtype.is_int:
        return None
    integers = value.op.src
    fact = known[integers]
    fits = fact.high < integers.type.dtype.int_range[1] and _exact(fact.low, fact.high, shift, float_format(dtype))
    return Whole(integers, shift, fact.low, fact.high, *_before_shift(integers)) if fits else None


def _before_shift(value: Value) -> tuple[Value, int]:
    """Of which value a shift drops how many bits."""
    if not isinstance(value.op, arith.Shr):
        return value, 0
    bits = constant_value(value.op.rhs)
    if not isinstance(bits, int) or not 0 <= bits < value.type.dtype.bitwidth:
        return value, 0
    return value.op.lhs, bits


def _exact(low: int, high: int, shift: int, form: Format) -> bool:
    """Whether a format holds the integers of a range, the next one, and all of them shifted."""
    most = min(form.mantissa + 1, form.max_exponent)
    return max(-low, high + 1) <= 1 << most and shift <= -form.min_exponent


def _least(op: Compared, rewriter: Rewriter) -> Value:
    """The least integer from low to high + 1 that is not below the limit, or that is above it for > and <=; for a NaN
    one for which the comparison is false everywhere."""
    whole, least = op.whole, op.few
    type_: TileType = least.type.erased()

    def number(value: float) -> Value:
        return rewriter.constant(value, type_)

    if whole.shift:
        least = rewriter.value(arith.Mul(lhs=least, rhs=number(2.0**whole.shift)))
    if op.cls in (arith.Ge, arith.Lt):
        least = rewriter.value(Ceil(src=least))
    else:
        least = rewriter.value(arith.Add(lhs=rewriter.value(Floor(src=least)), rhs=number(1.0)))
    bounds = [(arith.Min, whole.high + 1), (arith.Max, whole.low)]  # the first one takes the place of a NaN
    for bound, end in bounds if op.cls in (arith.Ge, arith.Gt) else reversed(bounds):
        least = rewriter.value(bound(lhs=least, rhs=number(float(end))))
    return rewriter.value(Cast(src=least, dtype=whole.integers.type.dtype))
