"""Rounding in a chosen direction: conversions to a narrower float, and through float32 rounded to odd."""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.floats import INT_OF, NARROW, arithmetic
from tilewright.backend_ptx.mathlib import rounded
from tilewright.tileir.enums import RoundingMode

RM = RoundingMode


def narrow(b: Builder, v: Val, elem: str, rounding: RoundingMode) -> Val:
    """Convert to the narrower float `elem`: round to nearest, then step by one where that went the wrong way."""
    nearest = round_to_nearest(b, v, elem)
    if rounding is RM.RN:
        return nearest
    back = b.cast("fpext", nearest, v.elem)
    bits = b.bitcast(nearest, INT_OF[elem])
    if rounding is RM.RZ:
        outside = b.fcmp("ogt", b.intrinsic("llvm.fabs", [back]), b.intrinsic("llvm.fabs", [v]))
        stepped = b.sub(bits, 1)
    elif rounding is RM.RA:
        return _nearest_away(b, v, nearest, back, bits)
    else:
        outside = b.fcmp("ogt" if rounding is RM.RM else "olt", back, v)
        stepped = _step(b, bits, down=rounding is RM.RM)
    return b.bitcast(b.select(outside, stepped, bits), elem)


def _step(b: Builder, bits: Val, down: bool) -> Val:
    """The next float below (above). A zero has the sign of what was rounded to it, so it needs no case of its own."""
    negative = b.icmp("slt", bits, 0)
    away, toward = b.add(bits, 1), b.sub(bits, 1)
    return b.select(negative, away, toward) if down else b.select(negative, toward, away)


def _nearest_away(b: Builder, v: Val, nearest: Val, back: Val, bits: Val) -> Val:
    """Ties that went toward zero (to an even neighbour) step away from it."""
    elem = nearest.elem
    outer = b.add(bits, 1)
    outer_back = b.cast("fpext", b.bitcast(outer, elem), v.elem)
    # Both differences are exact: neighbours share all but their last bits. Infinity as a neighbour is no tie.
    tie = b.fcmp("oeq", b.fsub(v, back), b.fsub(outer_back, v))
    inside = b.fcmp("olt", b.intrinsic("llvm.fabs", [back]), b.intrinsic("llvm.fabs", [v]))
    return b.bitcast(b.select(b.and_(tie, inside), outer, bits), elem)


def round_to_nearest(b: Builder, v: Val, elem: str) -> Val:
    """fptrunc, with float64 to bfloat16 through a float32 rounded to odd ."""
    if v.elem == "double" and elem == "bfloat":
        v = round_to_odd(b, v)
    return b.cast("fptrunc", v, elem)


def round_to_odd(b: Builder, v: Val) -> Val:
    """float64 to float32: toward zero, then the last bit set if anything was lost."""
    chopped = b.each(lambda x: b.call("llvm.nvvm.d2f.rz", "float", [x]), v)
    return _odd(b, chopped, b.fcmp("ueq", b.cast("fpext", chopped, "double"), v))


def int_to_odd(b: Builder, v: Val, signed: bool) -> Val:
    """i32 or i64 to float32, rounded to odd."""
    name = f"llvm.nvvm.{int_word(v.elem, signed)}2f.rz"
    chopped = b.each(lambda x: b.call(name, "float", [x]), v)
    # Rounding toward zero never leaves the range, so the way back is exact.
    return _odd(b, chopped, b.icmp("eq", b.cast("fptosi" if signed else "fptoui", chopped, v.elem), v))


def _odd(b: Builder, chopped: Val, exact: Val) -> Val:
    """A float32 rounded toward zero, with its last bit set where that was not exact."""
    bits = b.bitcast(chopped, "i32")
    return b.bitcast(b.select(exact, bits, b.or_(bits, 1)), "float")


def int_word(elem: str, signed: bool) -> str:
    """How llvm.nvvm's conversions call i32 and i64."""
    return ("" if signed else "u") + ("ll" if elem == "i64" else "i")


def directed_operation(b: Builder, word: str, rounding: RoundingMode, ftz: bool, *operands: Val) -> Val:
    """add, sub, mul, div, fma or sqrt with options. Narrow formats go through float32: two roundings in one direction
    are one, and two to nearest are one for all of these but fma, which the hardware has."""
    elem = operands[0].elem
    if rounding is RM.RN and not ftz and word != "sqrt":
        return b.fma(*operands) if word == "fma" else arithmetic(b, f"f{word}", *operands)
    if elem not in NARROW:
        return rounded(b, word, rounding, ftz, *operands)
    wide = rounded(b, word, rounding, False, *(b.cast("fpext", v, "float") for v in operands))
    return narrow(b, wide, elem, rounding)
