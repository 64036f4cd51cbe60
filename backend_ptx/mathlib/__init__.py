"""Math functions of the language as LLVM IR for NVPTX, without libdevice.

    from tilewright.backend_ptx.mathlib import emit, rounded
    value = emit(builder, "exp", x)                                     # default: accurate
    value = emit(builder, "exp", x, mode=RoundingMode.APPROX)           # the hardware's approximation
    value = rounded(builder, "div", RoundingMode.RZ, True, x, y)        # ftz

`x` is a `Val` of the builder, scalar or `<N x elem>`; the result has its type. One emitted instruction serves all
lanes, but for the llvm.nvvm intrinsics, which are called lane by lane. sin, cos and tan may end the current block
(arguments beyond 1e5 are reduced in a rarely taken loop).

Names: exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh log1p expm1 erf erfc
sigmoid, atan2(y, x), pow(x, y), truediv(x, y) on half, bfloat,
float and double. `rounded` serves add sub mul fma div sqrt in the modes RN RZ RM RP, and div and sqrt in FULL and
APPROX, on float and double.

Accuracy in the default mode: float within 2 ulp (tan sinh cosh pow atan2 asinh acosh atanh erfc sigmoid: 4) of the
correctly rounded result for all arguments; half and bfloat computed in float and rounded once; double the same.
"""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.mathlib import functions
from tilewright.backend_ptx.mathlib.rounding import rounded
from tilewright.backend_ptx.mathlib.vec import Vec
from tilewright.tileir.enums import RoundingMode

__all__ = ["emit", "rounded"]

_WORDS = {"sqrt": "sqrt", "truediv": "div"}


def emit(b: Builder, name: str, *args: Val, mode: RoundingMode | None = None, ftz: bool = False) -> Val:
    """Emit the function `name` of `args`; see the module for names and accuracy.

    `mode` APPROX chooses the hardware's approximation where there is one (exp tanh sqrt truediv, float only), FULL
    means the accurate function (truediv: the fast division of 2 ulp). `ftz` (float only) flushes subnormal arguments
    and results to zero.
    """
    elem = args[0].elem
    if elem in ("half", "bfloat"):
        wide = tuple(b.cast("fpext", a, "float") for a in args)
        return b.cast("fptrunc", _function(b, name, elem, mode, False, wide), elem)
    return _function(b, name, elem, mode, ftz, args)


def _function(b: Builder, name: str, elem: str, mode: RoundingMode | None, ftz: bool, args: tuple[Val, ...]) -> Val:
    """`name` of float or double arguments; `elem` is the type that the result is meant for."""
    if name in _WORDS:
        if mode is None or (name == "sqrt" and mode is RoundingMode.FULL):
            mode = RoundingMode.RN
        return rounded(b, _WORDS[name], mode, ftz, *args)
    return _formula(name, elem, mode, ftz)(*(Vec(b, a) for a in args)).val


def _formula(name: str, elem: str, mode: RoundingMode | None, ftz: bool) -> functions.Formula:
    """A mode, or flushing, that a function has no form of means the accurate one."""
    tables = [functions.FULL64] if elem == "double" else [
        functions.NARROW.get(elem, {}), functions.APPROX32 if mode is RoundingMode.APPROX else {},
        functions.FLUSHED32 if ftz else {}, functions.FULL32]
    return next(table[name] for table in tables if name in table)
