"""Float arithmetic on fragments: narrow formats through float32 where that rounds once, minima, bits."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.backend_ptx.llvm.builder import Builder, Val

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
