"""float64 rsqrt: the hardware's 20 bits and one step of third order."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib.vec import Vec, choose, fma, where

TINY = 2.0**-1022


def rsqrt(x: Vec) -> Vec:
    """1 / sqrt(x); of -0: -inf."""
    subnormal = abs(x).lt(TINY)
    a = x * choose(subnormal, x, 2.0**108, 1.0)
    y = a.lanewise("llvm.nvvm.rsqrt.approx.ftz.d")
    error = fma(-(a * y), y, 1.0)  # y is off by the factor 1 - error/2 - 3/8 error**2
    refined = fma(fma(error, 0.375, 0.5) * error, y, y)
    # At 0, inf and NaN the approximation is the answer and the error NaN.
    return where(error.isnan(), y, refined) * choose(subnormal, x, 2.0**54, 1.0)
