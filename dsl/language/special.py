"""Inverse functions, exponentials and logarithms near 1, the error function, the logistic function."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile

__all__ = [
    "asin", "acos", "atan", "asinh", "acosh", "atanh", "log1p", "expm1", "erf", "erfc", "sigmoid",
]


@builtin("asin")
def asin(x: Any, /) -> Tile:
    """The angle in [-pi/2, pi/2] whose sine is x; NaN beyond 1.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.5 - 0.5
        print(ct.asin(t))                          # [-0.523599, 0.000000, 0.523599, 1.570796]
        ct.asin(2)                                # TileValueError
    """


@builtin("acos")
def acos(x: Any, /) -> Tile:
    """The angle in [0, pi] whose cosine is x; NaN beyond 1.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.5 - 0.5
        print(ct.acos(t))                          # [2.094395, 1.570796, 1.047198, 0.000000]
    """


@builtin("atan")
def atan(x: Any, /) -> Tile:
    """The angle in [-pi/2, pi/2] whose tangent is x; `atan2` knows the quadrant.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.atan(t))                          # [0.000000, 0.785398, 1.107149, 1.249046]
    """


@builtin("asinh")
def asinh(x: Any, /) -> Tile:
    """The number whose hyperbolic sine is x.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.asinh(t))                         # [0.000000, 0.881374, 1.443635, 1.818447]
    """


@builtin("acosh")
def acosh(x: Any, /) -> Tile:
    """The number, not negative, whose hyperbolic cosine is x; NaN below 1.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.acosh(t))                         # [nan, 0.000000, 1.316958, 1.762747]
    """


@builtin("atanh")
def atanh(x: Any, /) -> Tile:
    """The number whose hyperbolic tangent is x; infinite at 1, NaN beyond.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.5
        print(ct.atanh(t))                         # [0.000000, 0.549306, inf, nan]
    """


@builtin("log1p")
def log1p(x: Any, /) -> Tile:
    """log(1 + x), accurate for x near 0; NaN below -1, -inf at -1.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.log1p(t))                         # [0.000000, 0.693147, 1.098612, 1.386294]
        print(ct.log1p(t * 1e-20) * 1e20)          # [0.000000, 1.000000, 2.000000, 3.000000]
    """


@builtin("expm1")
def expm1(x: Any, /) -> Tile:
    """e ** x - 1, accurate for x near 0.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.expm1(t))                         # [0.000000, 1.718282, 6.389056, 19.085537]
        print(ct.expm1(t * 1e-20) * 1e20)          # [0.000000, 1.000000, 2.000000, 3.000000]
    """


@builtin("erf")
def erf(x: Any, /) -> Tile:
    """The error function: 2 / sqrt(pi) times the integral of e ** -t**2 from 0 to x.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.5
        print(ct.erf(t))                           # [0.000000, 0.520500, 0.842701, 0.966105]
        gelu = 0.5 * t * (1.0 + ct.erf(t / 2.0**0.5))
        print(gelu)                                # [0.000000, 0.345731, 0.841345, 1.399789]
    """


@builtin("erfc")
def erfc(x: Any, /) -> Tile:
    """1 - erf(x), accurate where that is small.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.erfc(t) * 1e3)                    # [1000.000000, 157.299210, 4.677735, 0.022090]
    """


@builtin("sigmoid")
def sigmoid(x: Any, /) -> Tile:
    """The logistic function 1 / (1 + e ** -x), without overflow.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32) - 2.0
        print(ct.sigmoid(t))                       # [0.119203, 0.268941, 0.500000, 0.731059]
        silu = t * ct.sigmoid(t)
        print(silu)                                # [-0.238406, -0.268941, 0.000000, 0.731059]
    """
