"""The table of the library: which formula makes a function, by name, element type and mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tilewright.backend_ptx.mathlib import atan32, exp32, hyperbolic32, log32, pow32, trig32
from tilewright.backend_ptx.mathlib.vec import Vec

Formula = Callable[..., Vec]


def _hardware(name: str) -> Formula:
    """One instruction per lane."""
    return lambda *args: args[0].lanewise(name, *args[1:])


# The accurate functions, which also serve f16 and bf16.
FULL32: Final[dict[str, Formula]] = {
    "exp": exp32.exp, "exp2": exp32.exp2, "log": log32.log, "log2": log32.log2,
    "sqrt": lambda x: x.intrinsic("llvm.sqrt"), "rsqrt": _hardware("llvm.nvvm.rsqrt.approx.f"),
    "sin": trig32.sin, "cos": trig32.cos, "tan": trig32.tan,
    "sinh": hyperbolic32.sinh, "cosh": hyperbolic32.cosh, "tanh": hyperbolic32.tanh,
    "atan2": atan32.atan2, "pow": pow32.pow, "truediv": lambda x, y: x / y,
}
# Rounding mode FULL: where it may differ from the default (which rounds correctly).
FAST32: Final[dict[tuple[str, bool], Formula]] = {
    ("truediv", False): _hardware("llvm.nvvm.div.full"), ("truediv", True): _hardware("llvm.nvvm.div.full.ftz"),
}
# Rounding mode APPROX: (name, flush to zero).
APPROX32: Final[dict[tuple[str, bool], Formula]] = {
    ("exp", False): exp32.exp_approx, ("tanh", False): hyperbolic32.tanh_approx,
    ("truediv", False): _hardware("llvm.nvvm.div.approx.f"),
    ("truediv", True): _hardware("llvm.nvvm.div.approx.ftz.f"),
    ("sqrt", False): _hardware("llvm.nvvm.sqrt.approx.f"), ("sqrt", True): _hardware("llvm.nvvm.sqrt.approx.ftz.f"),
}
# Flushing in the default mode.
FLUSHED32: Final[dict[str, Formula]] = {
    "exp2": exp32.ex2, "rsqrt": _hardware("llvm.nvvm.rsqrt.approx.ftz.f"),
    "sqrt": _hardware("llvm.nvvm.sqrt.rn.ftz.f"), "truediv": _hardware("llvm.nvvm.div.rn.ftz.f"),
}
FULL64: Final[dict[str, Formula]] = {
    "sqrt": lambda x: x.intrinsic("llvm.sqrt"), "truediv": lambda x, y: x / y,
}
