"""The table of the library: which formula makes a function, by name, element type and mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from tilewright.backend_ptx.mathlib import erf, exp32, exp64, hyperbolic, inverse_trig, log, near_one, root64
from tilewright.backend_ptx.mathlib.inverse_trig import ATAN32, ATAN64, PI32, PI64, atan2
from tilewright.backend_ptx.mathlib.pow import POW32, POW64
from tilewright.backend_ptx.mathlib.trig32 import TRIG32
from tilewright.backend_ptx.mathlib.trig64 import TRIG64
from tilewright.backend_ptx.mathlib.vec import Vec

Formula = Callable[..., Vec]


def _hardware(name: str) -> Formula:
    """One instruction per lane."""
    return lambda *args: args[0].lanewise(name, *args[1:])


# The accurate functions, which also serve half and bfloat.
FULL32: Final[dict[str, Formula]] = {
    "exp": exp32.exp, "exp2": exp32.exp2, "log": log.log_32, "log2": log.log2_32,
    "exp_relative": exp32.exp_relative, "exp_flushed": exp32.exp_approx, "exp2_flushed": exp32.ex2,
    "quotient_normal": exp32.quotient_normal, "quotient_from_one": exp32.quotient_from_one,
    "rsqrt": _hardware("llvm.nvvm.rsqrt.approx.f"),  # within 2 ulp, subnormals included
    **TRIG32.functions(), "pow": POW32.pow, "atan2": partial(atan2, coefficients=ATAN32, pi=PI32),
    "sinh": hyperbolic.sinh32, "cosh": hyperbolic.cosh32, "tanh": hyperbolic.tanh32,
    **inverse_trig.functions(inverse_trig.ASIN32, ATAN32, PI32), **hyperbolic.inverses(near_one.log1p_32),
    "log1p": near_one.log1p_32, "expm1": near_one.expm1_32, "sigmoid": hyperbolic.sigmoid_32,
    "sigmoid_relative": hyperbolic.sigmoid_relative, "sigmoid_flushed": hyperbolic.sigmoid_flushed,
    "erf": erf.erf_32, "erf_beside_one": erf.erf_beside_one, "erfc": erf.erfc_32}
# What needs less care where the result is rounded to 11 or 8 bits: half has no argument that needs the long reduction,
# and no result that is subnormal in float32.
NARROW: Final[dict[str, dict[str, Formula]]] = {
    "half": {**TRIG32.functions(small=True), "exp": exp32.exp_approx, "exp2": exp32.ex2},
    "bfloat": {"exp": exp32.exp_relative}}
APPROX32: Final[dict[str, Formula]] = {
    "exp": exp32.exp_approx, "tanh": _hardware("llvm.nvvm.tanh.approx.f32"),  # relative error about 2**-11
}
FLUSHED32: Final[dict[str, Formula]] = {"exp2": exp32.ex2, "rsqrt": _hardware("llvm.nvvm.rsqrt.approx.ftz.f")}
FULL64: Final[dict[str, Formula]] = {
    "exp": exp64.exp, "exp2": exp64.exp2, "log": log.log_64, "log2": log.log2_64, "rsqrt": root64.rsqrt,
    **TRIG64.functions(), "pow": POW64.pow, "atan2": partial(atan2, coefficients=ATAN64, pi=PI64),
    "sinh": hyperbolic.sinh64, "cosh": hyperbolic.cosh64, "tanh": hyperbolic.tanh64,
    **inverse_trig.functions(inverse_trig.ASIN64, ATAN64, PI64), **hyperbolic.inverses(near_one.log1p_64),
    "log1p": near_one.log1p_64, "expm1": near_one.expm1_64, "sigmoid": hyperbolic.sigmoid_64,
    "erf": erf.erf_64, "erfc": erf.erfc_64}
