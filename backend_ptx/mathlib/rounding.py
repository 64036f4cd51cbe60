"""add, sub, mul, fma, division and sqrt rounded as asked: the four IEEE modes, FULL and APPROX, with or without ftz."""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.tileir.enums import RoundingMode

# How PTX and the llvm.nvvm intrinsics name the IEEE modes.
SUFFIX = {RoundingMode.RN: "rn", RoundingMode.RZ: "rz", RoundingMode.RM: "rm", RoundingMode.RP: "rp"}
WORDS = ("add", "sub", "mul", "fma", "div", "sqrt")
# (word, mode, ftz) of float: the hardware's own approximations.
_APPROXIMATE = {
    ("div", RoundingMode.FULL, False): "llvm.nvvm.div.full",
    ("div", RoundingMode.FULL, True): "llvm.nvvm.div.full.ftz",
    ("div", RoundingMode.APPROX, False): "llvm.nvvm.div.approx.f",
    ("div", RoundingMode.APPROX, True): "llvm.nvvm.div.approx.ftz.f",
    ("sqrt", RoundingMode.APPROX, False): "llvm.nvvm.sqrt.approx.f",
    ("sqrt", RoundingMode.APPROX, True): "llvm.nvvm.sqrt.approx.ftz.f",
}


def rounded(b: Builder, word: str, mode: RoundingMode, ftz: bool, *operands: Val) -> Val:
    """`word` of WORDS on float or double operands, rounded by `mode`.

    RN RZ RM RP round correctly; FULL (div: 2 ulp) and APPROX (div, sqrt) are for float only, and so is `ftz`, which
    flushes subnormal operands and results to zero.
    """
    if word == "sub":
        return rounded(b, "add", mode, ftz, operands[0], b.fneg(operands[1]))
    if mode is RoundingMode.RN and not ftz:
        return _nearest(b, word, operands)
    elem = operands[0].elem
    name = _APPROXIMATE.get((word, mode, ftz))
    if name is None:
        name = f"llvm.nvvm.{word}.{SUFFIX[mode]}.{'ftz.' if ftz else ''}{'d' if elem == 'double' else 'f'}"
    return b.each(lambda *lane: b.value_call(name, elem, lane), *operands)


def _nearest(b: Builder, word: str, operands: tuple[Val, ...]) -> Val:
    """The vector forms: each becomes the PTX instruction's `.rn`."""
    if word == "sqrt":
        return b.intrinsic("llvm.sqrt", operands)
    if word == "fma":
        return b.fma(*operands)
    x, y = operands
    return b.fadd(x, y) if word == "add" else b.fmul(x, y) if word == "mul" else b.fdiv(x, y)
