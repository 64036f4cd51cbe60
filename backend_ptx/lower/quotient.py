"""Quotients of many elements by one number, from its reciprocal: correctly rounded, as a division is.

With r = 1 / d rounded to nearest, and q = x r rounded, the fused remainder e = d q - x corrects q to q - e r. This is
the rounded quotient while nothing underflows or overflows: q - e r is so near to x / d before its rounding that it
could round otherwise only where x / d lies next to the middle of two floats. There are 34,887,893 such pairs of
significands, all of which were tried (`tests/backend_ptx/lower/test_quotient.py`).

Zeros come out with their signs. A thread divides where it has dividends so small that a remainder or a quotient leaves
the normal numbers, so large that one may overflow, or not finite, or a divisor that has no reciprocal here. It looks at
all of its dividends first: a quotient then takes the register of its dividend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.floats import extreme
from tilewright.backend_ptx.lower.registry import elementwise
from tilewright.tileir.machine_ops.arith import DivideBy

# Without their sign and one to the left, the bits of 2**-80: by a divisor of 2**40, the quotient is at least 2**-120,
# and the remainder, a multiple of 2**-46 times the dividend, has all its bits above the least subnormal.
SMALLEST_DIVIDEND = (127 - 80) << 24
LARGEST_DIVIDEND = 2.0**80
FEW = 8


@elementwise(DivideBy)
def divide_by(b: Builder, op: DivideBy, x: Val, d: Val, r: Val) -> Val:
    unusual = _unusual(b, x, r, op.bounded)
    return b.join(b.branch(unusual, lambda: b.fdiv(x, d), lambda: _quotient(b, x, d, r), ("divide", "multiply")))


def _quotient(b: Builder, x: Val, d: Val, r: Val) -> Val:
    return b.concat([_few(b, *(b.shuffle(v, part) for v in (x, d, r))) for part in _parts(x)])


def _few(b: Builder, x: Val, d: Val, r: Val) -> Val:
    first = b.fmul(x, r)
    remainder = b.fma(d, first, b.fneg(x))
    return b.fma(b.fneg(remainder), r, first)


def _parts(x: Val) -> list[range]:
    """Lanes that go together: few, as what is computed of all of them would take as many registers."""
    return [range(first, min(first + FEW, x.n)) for first in range(0, x.n, FEW)]


def _unusual(b: Builder, x: Val, r: Val, bounded: bool) -> Val:
    """Whether a dividend is tiny, huge or not finite (unless all are `bounded`), or a reciprocal NaN."""
    parts = [b.shuffle(x, part) for part in _parts(x)]
    smallest = _combined(b, [_doubled(b, part) for part in parts], lambda v, w: b.intrinsic("llvm.umin", [v, w]))
    outside = b.or_(b.icmp("ult", smallest, SMALLEST_DIVIDEND - 1), _combined(b, [b.fcmp("uno", r, r)], b.or_))
    if bounded:
        return outside
    sizes = [b.intrinsic("llvm.fabs", [part]) for part in parts]
    return b.or_(outside, b.fcmp("ugt", _combined(b, sizes, partial(extreme, b, "max", True)), LARGEST_DIVIDEND))


def _doubled(b: Builder, x: Val) -> Val:
    """The bits of floats without their signs, one to the left; minus 1, so that zeros are the largest number."""
    bits = b.bitcast(x, "i32")
    return b.sub(b.add(bits, bits), 1)


def _combined(b: Builder, parts: Sequence[Val], combine: Callable[[Val, Val], Val]) -> Val:
    """All lanes as one scalar, by a tree."""
    return b.reduced(reduce(combine, parts), combine)
