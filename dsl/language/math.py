"""Functions of one tile."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil",
    "trunc", "isnan", "negative", "abs", "bitwise_not",
]


@builtin("exp")
def exp(x: Any, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """e ** x. `rounding_mode` is FULL (the default) or APPROX (float32).

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("exp2")
def exp2(x: Any, /, *, flush_to_zero: bool = False) -> Tile:
    """2 ** x. `flush_to_zero` is for float32.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("log")
def log(x: Any, /) -> Tile:
    """Natural logarithm.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("log2")
def log2(x: Any, /) -> Tile:
    """Logarithm to the base 2.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("sqrt")
def sqrt(x: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """Square root. `rounding_mode`: RN, RZ, RM, RP, or APPROX (float32).

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("rsqrt")
def rsqrt(x: Any, /, *, flush_to_zero: bool = False) -> Tile:
    """1 / sqrt(x). `flush_to_zero` is for float32.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("sin")
def sin(x: Any, /) -> Tile:
    """Sine of radians.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("cos")
def cos(x: Any, /) -> Tile:
    """Cosine of radians.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("tan")
def tan(x: Any, /) -> Tile:
    """Tangent of radians.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("sinh")
def sinh(x: Any, /) -> Tile:
    """Hyperbolic sine.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("cosh")
def cosh(x: Any, /) -> Tile:
    """Hyperbolic cosine.

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("tanh")
def tanh(x: Any, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """Hyperbolic tangent. `rounding_mode` is FULL (the default) or APPROX (float32).

    Floats keep their dtype; integers and bools become float32. A number gives a constant.
    """


@builtin("floor")
def floor(x: Any, /) -> Tile:
    """Largest integral value not above x; floats only, the dtype stays."""


@builtin("ceil")
def ceil(x: Any, /) -> Tile:
    """Smallest integral value not below x; floats only, the dtype stays."""


@builtin("trunc")
def trunc(x: Any, /) -> Tile:
    """x rounded toward zero to an integral value; floats only, the dtype stays."""


@builtin("isnan")
def isnan(x: Any, /) -> Tile:
    """True where x is a NaN; floats only."""


@builtin("negative")
def negative(x: Any, /) -> Tile:
    """-x; integers wrap, bools become int32."""


@builtin("abs")
def abs(x: Any, /) -> Tile:
    """|x|; the dtype stays."""


@builtin("bitwise_not")
def bitwise_not(x: Any, /) -> Tile:
    """~x of integers, logical not of bools."""
