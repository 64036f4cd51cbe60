"""add, sub, mul, fma, division and sqrt rounded as asked: the four IEEE modes, with and without flushing."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib.vec import Vec, like, where
from tilewright.tileir.enums import RoundingMode

# How PTX and the llvm.nvvm intrinsics name the IEEE modes.
SUFFIX = {RoundingMode.RN: "rn", RoundingMode.RZ: "rz", RoundingMode.RM: "rm", RoundingMode.RP: "rp"}
OPS = ("add", "sub", "mul", "fma", "truediv", "sqrt")
_WORD = {"add": "add", "mul": "mul", "fma": "fma", "truediv": "div", "sqrt": "sqrt"}


def rounded(op: str, args: tuple[Vec, ...], mode: RoundingMode, ftz: bool) -> Vec:
    """`op` of OPS on float or double, rounded by `mode`; `ftz` (float only) flushes subnormals to zero."""
    if op == "sub":
        return rounded("add", (args[0], -args[1]), mode, ftz)
    if mode is RoundingMode.RN and not ftz:
        return _nearest(op, args)
    kind = ("ftz." if ftz else "") + ("d" if args[0].elem == "double" else "f")
    return args[0].lanewise(f"llvm.nvvm.{_WORD[op]}.{SUFFIX[mode]}.{kind}", *args[1:])


def _nearest(op: str, args: tuple[Vec, ...]) -> Vec:
    """The vector forms: LLVM makes each `.rn` of them."""
    if op == "sqrt":
        return args[0].intrinsic("llvm.sqrt")
    b, vals = args[0].b, [a.val for a in args]
    method = {"add": b.fadd, "mul": b.fmul, "fma": b.fma, "truediv": b.fdiv}[op]
    return Vec(b, method(*vals))


def rounded_small(op: str, args: tuple[Vec, ...], mode: RoundingMode) -> Vec:
    """`op` on half or bfloat: in float, rounded there and then to the format in the same direction.

    Two directed roundings in one direction are one. Two nearest roundings are one for these ops, but for fma (a
    product of 22 bits and a far smaller addend may fall on a tie), which the hardware has.
    """
    if op == "fma" and mode is RoundingMode.RN:
        return _nearest(op, args)
    elem = args[0].elem
    wide = rounded(op, tuple(a.cast("fpext", "float") for a in args), mode, ftz=False)
    return narrow(wide, elem, mode)


def narrow(x: Vec, elem: str, mode: RoundingMode) -> Vec:
    """float x as half or bfloat, rounded by `mode`: to nearest, then one step back where that went the wrong way."""
    nearest = x.cast("fptrunc", elem)
    if mode is RoundingMode.RN:
        return nearest
    back = nearest.cast("fpext", "float")
    bits = nearest.bits()
    if mode is RoundingMode.RZ:
        wrong, step = abs(back).gt(abs(x)), like(bits, -1)
    else:
        # One step in value is one step of the magnitude, down or up by the sign.
        sign = 1 if mode is RoundingMode.RM else -1
        wrong = back.gt(x) if mode is RoundingMode.RM else back.lt(x)
        step = where(bits.lt(0), like(bits, sign), like(bits, -sign))
    return where(wrong, bits + step, bits).as_float(elem)
