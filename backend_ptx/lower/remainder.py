"""The float remainder with the sign of the divisor, exact, by a loop that takes 26 bits of the quotient at a time."""

from __future__ import annotations

import math

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.integers import clamped
from tilewright.backend_ptx.mathlib.lanes import any_of

STEP = 26


def float_mod(b: Builder, x: Val, y: Val) -> Val:
    """x mod y for float32 or float64: fmod, moved by y where the signs differ (that sum is rounded)."""
    rest = _fmod(b, x, y)
    zero = b.fcmp("oeq", rest, 0.0)
    differ = b.fcmp("olt", b.fmul(b.intrinsic("llvm.copysign", [b.like(x, 1.0), rest]),
                                  b.intrinsic("llvm.copysign", [b.like(x, 1.0), y])), 0.0)
    moved = b.select(differ, b.fadd(rest, y), rest)
    return b.select(zero, b.intrinsic("llvm.copysign", [b.like(x, 0.0), y]), moved)


def _fmod(b: Builder, x: Val, y: Val) -> Val:
    """x - trunc(x / y) * y, exact; the sign of x."""
    size, other = (_magnitude(b, v) for v in (x, y))
    rest = _reduced(b, size, other)
    if x.elem == "float":
        rest = b.cast("fptrunc", rest, "float")
    rest = b.intrinsic("llvm.copysign", [rest, x])
    infinite = b.fcmp("oeq", b.intrinsic("llvm.fabs", [y]), math.inf)
    rest = b.select(infinite, x, rest)
    # Infinity mod anything, and anything mod zero, is no number; so is what involves a NaN.
    sum_of_bad = b.fadd(b.fsub(x, x), b.fmul(y, 0.0))
    bad = b.or_(b.fcmp("uno", b.fsub(x, x), y), b.fcmp("oeq", y, 0.0))
    return b.select(bad, b.fadd(sum_of_bad, math.nan), rest)


def _magnitude(b: Builder, v: Val) -> Val:
    """|v| in float64, where quotients of float32 need few steps."""
    wide = b.cast("fpext", v, "double") if v.elem == "float" else v
    return b.intrinsic("llvm.fabs", [wide])


def _reduced(b: Builder, size: Val, divisor: Val) -> Val:
    """size mod divisor, both at least 0, as a loop over all lanes until none has size >= divisor."""
    start = _unfinished(b, size, divisor)
    before, body, done = b.block, b.label("mod"), b.label("reduced")
    b.cbr(start, body, done)
    b.start(body)
    current = b.phi("double", size.n)
    new = _one_step(b, current.value, divisor)
    more = _unfinished(b, new, divisor)
    last = b.block
    b.cbr(more, body, done)
    current.add(size, before)
    current.add(new, last)
    b.start(done)
    result = b.phi("double", size.n)
    result.add(size, before)
    result.add(new, last)
    return result.value


def _unfinished(b: Builder, size: Val, divisor: Val) -> Val:
    """Whether a lane is still at least its divisor; lanes without a finite answer count as finished."""
    sane = b.and_(b.fcmp("olt", size, math.inf), b.fcmp("ogt", divisor, 0.0))
    wanted = b.and_(sane, b.fcmp("oge", size, divisor))
    return any_of(b, wanted) if wanted.n else wanted


def _one_step(b: Builder, size: Val, divisor: Val) -> Val:
    """Subtract a multiple of divisor * 2**s that leaves less than it: all products and differences are exact."""
    shift = b.sub(_exponent(b, size), b.add(_exponent(b, divisor), STEP))
    # Two factors of at most 2**1023 reach 2**2046; beyond it the quotient has up to 51 bits, which is as exact.
    shift = clamped(b, shift, 0, 2046)
    first = b.lshr(shift, 1)
    scaled = b.fmul(b.fmul(divisor, _two_to(b, first)), _two_to(b, b.sub(shift, first)))
    quotient = b.intrinsic("llvm.trunc", [b.fdiv(size, scaled)])
    rest = b.fma(b.fneg(quotient), scaled, size)
    rest = b.select(b.fcmp("olt", rest, 0.0), b.fadd(rest, scaled), rest)
    return b.select(b.fcmp("oge", size, divisor), rest, size)


def _exponent(b: Builder, v: Val) -> Val:
    """The biased exponent (i64) of a positive float64, continued below 1 for subnormals."""
    small = b.fcmp("olt", v, 2.0**-1022)
    field = b.lshr(b.bitcast(b.select(small, b.fmul(v, 2.0**54), v), "i64"), 52)
    return b.sub(field, b.select(small, b.like(field, 54), b.like(field, 0)))


def _two_to(b: Builder, n: Val) -> Val:
    """2**n for -1022 <= n <= 1023."""
    return b.bitcast(b.shl(b.add(n, 1023), 52), "double")
