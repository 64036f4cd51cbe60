"""add, sub, mul, fma, division and sqrt rounded as asked: the four IEEE modes, FULL and APPROX, with or without ftz."""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.tileir.enums import RoundingMode

# How PTX and the llvm.nvvm intrinsics name the modes.
_NAMES = {RoundingMode.RN: "rn", RoundingMode.RZ: "rz", RoundingMode.RM: "rm", RoundingMode.RP: "rp",
          RoundingMode.FULL: "full", RoundingMode.APPROX: "approx"}


def rounded(b: Builder, word: str, mode: RoundingMode, ftz: bool, *operands: Val) -> Val:
    """`word` (add, sub, mul, fma, div or sqrt) of float or double operands, rounded by `mode`.

    RN RZ RM RP round correctly; FULL (div: 2 ulp) and APPROX (div, sqrt) are for float only, and so is `ftz`, which
    flushes subnormal operands and results to zero.
    """
    if word == "sub":
        return rounded(b, "add", mode, ftz, operands[0], b.fneg(operands[1]))
    if mode is RoundingMode.RN and not ftz:
        return _nearest(b, word, operands)
    elem = operands[0].elem
    name = f"llvm.nvvm.{word}.{_NAMES[mode]}{'.ftz' if ftz else ''}"
    if mode is not RoundingMode.FULL:  # which is for float alone
        name += ".d" if elem == "double" else ".f"
    return b.each(lambda *lane: b.call(name, elem, lane), *operands)


def _nearest(b: Builder, word: str, operands: tuple[Val, ...]) -> Val:
    """The vector forms: each becomes the PTX instruction's `.rn`."""
    if word == "sqrt":
        return b.intrinsic("llvm.sqrt", operands)
    if word == "fma":
        return b.fma(*operands)
    x, y = operands
    return b.fadd(x, y) if word == "add" else b.fmul(x, y) if word == "mul" else b.fdiv(x, y)
