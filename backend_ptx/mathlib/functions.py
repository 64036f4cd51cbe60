"""The table of the library: which formula makes a function, by name, element type and mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.backend_ptx.mathlib import (
    atan,
    erf32,
    erf64,
    exp32,
    exp64,
    hyperbolic32,
    hyperbolic64,
    inverse_hyperbolic,
    inverse_trig,
    log32,
    log64,
    near_one,
    pow32,
    pow64,
    root64,
    sigmoid,
    trig32,
    trig64,
)
from tilewright.backend_ptx.mathlib.vec import Vec

Formula = Callable[..., Vec]


def _hardware(name: str) -> Formula:
    """One instruction per lane."""
    return lambda *args: args[0].lanewise(name, *args[1:])


# The accurate functions, which also serve half and bfloat.
FULL32: Final[dict[str, Formula]] = {
    "exp": exp32.exp, "exp2": exp32.exp2, "log": log32.log, "log2": log32.log2,
    "rsqrt": _hardware("llvm.nvvm.rsqrt.approx.f"),  # within 2 ulp, subnormals included
    "sin": trig32.sin, "cos": trig32.cos, "tan": trig32.tan,
    "sinh": hyperbolic32.sinh, "cosh": hyperbolic32.cosh, "tanh": hyperbolic32.tanh,
    "atan2": atan.atan2_32, "pow": pow32.pow,
    "asin": inverse_trig.asin_32, "acos": inverse_trig.acos_32, "atan": inverse_trig.atan_32,
    "asinh": inverse_hyperbolic.asinh_32, "acosh": inverse_hyperbolic.acosh_32,
    "atanh": inverse_hyperbolic.atanh_32, "log1p": near_one.log1p_32, "expm1": near_one.expm1_32,
    "erf": erf32.erf, "erfc": erf32.erfc, "sigmoid": sigmoid.sigmoid_32,
}
# half has no argument that needs the long reduction.
HALF: Final[dict[str, Formula]] = {
    "sin": trig32.sin_small, "cos": trig32.cos_small, "tan": trig32.tan_small,
}
APPROX32: Final[dict[str, Formula]] = {"exp": exp32.exp_approx, "tanh": hyperbolic32.tanh_approx}
FLUSHED32: Final[dict[str, Formula]] = {
    "exp2": exp32.ex2, "rsqrt": _hardware("llvm.nvvm.rsqrt.approx.ftz.f"),
}
FULL64: Final[dict[str, Formula]] = {
    "exp": exp64.exp, "exp2": exp64.exp2, "log": log64.log, "log2": log64.log2, "rsqrt": root64.rsqrt,
    "sin": trig64.sin, "cos": trig64.cos, "tan": trig64.tan,
    "sinh": hyperbolic64.sinh, "cosh": hyperbolic64.cosh, "tanh": hyperbolic64.tanh,
    "atan2": atan.atan2_64, "pow": pow64.pow,
    "asin": inverse_trig.asin_64, "acos": inverse_trig.acos_64, "atan": inverse_trig.atan_64,
    "asinh": inverse_hyperbolic.asinh_64, "acosh": inverse_hyperbolic.acosh_64,
    "atanh": inverse_hyperbolic.atanh_64, "log1p": near_one.log1p_64, "expm1": near_one.expm1_64,
    "erf": erf64.erf, "erfc": erf64.erfc, "sigmoid": sigmoid.sigmoid_64,
}
