"""Float arithmetic on fragments: narrow formats through float32 where that rounds once, minima, powers, remainders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.integers import clamped, raised

INT_OF = {"half": "i16", "bfloat": "i16", "float": "i32", "double": "i64"}
NARROW = ("half", "bfloat")


def extended(b: Builder, v: Val) -> Val:
    """float16 and bfloat16 as float32 (exact); others unchanged."""
    return b.cast("fpext", v, "float") if v.elem in NARROW else v


def through_f32(b: Builder, function: Callable[..., Val], *operands: Val) -> Val:
    """Compute in float32 and round once to the operands' format (float32 and float64 are computed as they are)."""
    elem = operands[0].elem
    out = function(*(extended(b, v) for v in operands))
    return b.cast("fptrunc", out, elem) if elem in NARROW else out


def arithmetic(b: Builder, op: str, x: Val, y: Val) -> Val:
    """fadd, fsub, fmul or fdiv, to nearest even.

    float32 has more than twice the bits of float16 and bfloat16, so that rounding its result once more is the same as
    rounding the exact result; LLVM does just that where the target lacks the narrow instruction. Only where float32
    itself is subnormal, and bfloat16 with it, that would round twice.
    """
    if op == "fmul" and x.elem == "bfloat":
        return b.fma(x, y, -0.0)  # every target has it, rounding once
    if op != "fdiv" or x.elem not in NARROW:
        return b.binary(op, x, y)
    wide, other = extended(b, x), extended(b, y)
    quotient = b.fdiv(wide, other)
    if x.elem == "bfloat":
        quotient = _odd_if_subnormal(b, quotient, wide, other)
    return b.cast("fptrunc", quotient, x.elem)


def _odd_if_subnormal(b: Builder, quotient: Val, x: Val, y: Val) -> Val:
    """A subnormal float32 quotient rounded to odd instead of to nearest, so that the next rounding is the only one."""
    scale = 2.0**64  # brings the remainder into range
    rest = b.fma(b.fneg(b.fmul(quotient, scale)), y, b.fmul(x, scale))
    bits = b.bitcast(quotient, "i32")
    even = b.icmp("eq", b.and_(bits, 1), 0)
    subnormal = b.fcmp("olt", b.intrinsic("llvm.fabs", [quotient]), 2.0**-126)
    wrong = b.and_(b.and_(even, subnormal), b.fcmp("one", rest, 0.0))
    # The exact quotient is larger in magnitude if the remainder has the sign of x.
    outward = b.icmp("sge", b.xor(b.bitcast(rest, "i32"), b.bitcast(x, "i32")), 0)
    step = b.select(outward, b.like(bits, 1), b.like(bits, -1))
    return b.bitcast(b.select(wrong, b.add(bits, step), bits), "float")


def isnan(b: Builder, v: Val) -> Val:
    return b.fcmp("uno", v, v)


def extreme(b: Builder, word: str, propagate_nan: bool, x: Val, y: Val) -> Val:
    """`word` is min or max; -0.0 is less than 0.0. NaNs lose, or win with `propagate_nan`."""
    if not propagate_nan:
        return b.intrinsic(f"llvm.{word}num", [x, y])
    if x.elem != "double":
        return b.intrinsic(f"llvm.{word}imum", [x, y])
    # PTX has no min.NaN.f64. A sum with a NaN is a NaN.
    nan = b.fcmp("uno", x, y)
    return b.select(nan, b.fadd(x, y), b.intrinsic(f"llvm.{word}num", [x, y]))


def float_power_of_int(b: Builder, x: Val, y: Val, signed: bool) -> Val:
    """x ** y for an integer exponent, from its lowest bit up; a negative one gives the reciprocal of the power."""
    one = b.like(x, 1.0)
    if y.const is not None:
        power = _constant_power(b, x, abs(int(y.const)))
        return arithmetic(b, "fdiv", one, power) if y.const < 0 else power
    magnitude = b.intrinsic("llvm.abs", [y, b.const("i1", 0)]) if signed else y
    result = raised(b, x, magnitude, int(y.elem[1:]), partial(arithmetic, b, "fmul"))
    if not signed:
        return result
    return b.select(b.icmp("slt", y, 0), arithmetic(b, "fdiv", one, result), result)


def _constant_power(b: Builder, x: Val, exponent: int) -> Val:
    result: Val | None = None
    square = x
    while exponent:
        if exponent & 1:
            result = square if result is None else arithmetic(b, "fmul", result, square)
        exponent >>= 1
        if exponent:
            square = arithmetic(b, "fmul", square, square)
    return b.like(x, 1.0) if result is None else result


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
    def step(values: Sequence[Val]) -> tuple[Val, Sequence[Val]]:
        new = _one_step(b, values[0], divisor)
        return _unfinished(b, new, divisor), [new]

    [result] = b.repeat(_unfinished(b, size, divisor), [size], step, ("mod", "reduced"))
    return b.join(result)


def _unfinished(b: Builder, size: Val, divisor: Val) -> Val:
    """Whether a lane is still at least its divisor; lanes without a finite answer count as finished."""
    sane = b.and_(b.fcmp("olt", size, math.inf), b.fcmp("ogt", divisor, 0.0))
    return b.reduced(b.and_(sane, b.fcmp("oge", size, divisor)), b.or_)


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


def widened_again(b: Builder, value: Val, number: int) -> Val:
    """bfloat16 lanes as float32 by byte permutations, in a way that depends on the number. What ptxas recognises (it
    does so with shifts and masks) it would compute once and keep: RMS norm of rows of 16384 then takes 231 registers in
    place of 95."""
    pairs = b.shuffle(value, range(value.n) if value.n > 1 else (0, 0))
    words, zero, variant = b.bitcast(pairs, "i32", pairs.n // 2), b.const("i32", 0), 0x11 * (number % 4)
    made = [b.call("llvm.nvvm.prmt", "i32", [b.extract(words, i), zero, b.const("i32", selector + variant)])
            for i in range(words.n) for selector in (0x1044, 0x3244)]
    return b.shuffle(b.bitcast(b.vector(made), "float"), range(value.n))
