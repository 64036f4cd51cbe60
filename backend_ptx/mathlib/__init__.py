"""Math functions of the language as LLVM IR for NVPTX, without libdevice.

    from tilewright.backend_ptx.mathlib import emit
    value = emit(builder, "exp", x)                                     # default: accurate
    value = emit(builder, "exp", x, mode=RoundingMode.APPROX)           # the hardware's approximation
    value = emit(builder, "truediv", x, y, mode=RoundingMode.RZ, ftz=True)

`x` is a `Val` of the builder, scalar or `<N x elem>`, elem half, bfloat, float or double; the result has its type. One
emitted instruction serves all lanes, but for the llvm.nvvm intrinsics, which are called lane by lane. sin, cos and tan
may end the current block (their arguments beyond 1e5 are reduced in a rarely taken loop).

Names: exp exp2 log log2 sqrt rsqrt sin cos tan sinh cosh tanh, atan2(y, x), pow(x, y), truediv(x, y), and, for their
rounding modes, add sub mul fma. Modes: None (accurate), FULL, APPROX, and RN RZ RM RP for add sub mul fma truediv sqrt.

Accuracy: float32 within 2 ulp (tan sinh cosh pow atan2: 4) of the correctly rounded result for all arguments;
sqrt, truediv, add, sub, mul and fma correctly rounded; half and bfloat computed in float and rounded once; float64
within 2 ulp (tan sinh cosh pow atan2: 4). FULL division is within 2 ulp, APPROX is what the hardware gives.
"""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.mathlib import functions, rounding
from tilewright.backend_ptx.mathlib.vec import Vec
from tilewright.tileir.enums import RoundingMode

__all__ = ["emit"]


def emit(b: Builder, name: str, *args: Val, mode: RoundingMode | None = None, ftz: bool = False) -> Val:
    """Emit the function `name` of `args`; see the module for names, modes and accuracy.

    `ftz` (float32 only) flushes subnormal arguments and results to zero.
    """
    vecs = tuple(Vec(b, a) for a in args)
    if name in rounding.OPS and (mode in rounding.SUFFIX or name not in functions.FULL32):
        return _arithmetic(name, vecs, mode or RoundingMode.RN, ftz).val
    if vecs[0].elem in ("half", "bfloat"):
        wide = [a.cast("fpext", "float") for a in vecs]
        return _function32(name, mode, ftz)(*wide).cast("fptrunc", vecs[0].elem).val
    if vecs[0].elem == "double":
        return functions.FULL64[name](*vecs).val
    return _function32(name, mode, ftz)(*vecs).val


def _arithmetic(name: str, args: tuple[Vec, ...], mode: RoundingMode, ftz: bool) -> Vec:
    if args[0].elem in ("half", "bfloat"):
        return rounding.rounded_small(name, args, mode)
    return rounding.rounded(name, args, mode, ftz)


def _function32(name: str, mode: RoundingMode | None, ftz: bool) -> functions.Formula:
    """The formula for float; a mode or flushing that a function has no form of means the accurate one."""
    if mode is RoundingMode.APPROX and (name, ftz) in functions.APPROX32:
        return functions.APPROX32[name, ftz]
    if mode is RoundingMode.FULL and (name, ftz) in functions.FAST32:
        return functions.FAST32[name, ftz]
    if ftz and name in functions.FLUSHED32:
        return functions.FLUSHED32[name]
    return functions.FULL32[name]
