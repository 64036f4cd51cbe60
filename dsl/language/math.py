"""Functions of one tile."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil",
    "trunc", "stop_gradient", "round", "isnan", "isinf", "isfinite", "negative", "abs", "bitwise_not",
]


@builtin("exp")
def exp(x: Any, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """e ** x.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Options: `rounding_mode` FULL, or for float32 APPROX, the hardware's approximation. Without one a result that is
        only summed, or rounded to few bits, has the accuracy that these uses show.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.exp(t - 3.0))                    # [0.049787, 0.135335, 0.367879, 1.000000]
        ct.exp(t.astype(ct.float16), rounding_mode=ct.RoundingMode.APPROX)  # TileTypeError
    """


@builtin("exp2")
def exp2(x: Any, /, *, flush_to_zero: bool = False) -> Tile:
    """2 ** x; faster than `exp`.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Options: `flush_to_zero` for float32: subnormal inputs and results become zero.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.exp2(-t))                        # [1.000000, 0.500000, 0.250000, 0.125000]
        print(ct.exp2(ct.arange(2, dtype=ct.int8)).dtype)  # float32
    """


@builtin("log")
def log(x: Any, /) -> Tile:
    """The natural logarithm; NaN below 0, -inf at 0.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.log(t))                          # [-inf, 0.000000, 0.693147, 1.098612]
        print(ct.log(1.0))                        # 0.0
        ct.log(-1.0)                              # TileValueError
    """


@builtin("log2")
def log2(x: Any, /) -> Tile:
    """The logarithm to the base 2; NaN below 0, -inf at 0.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.log2(ct.exp2(t * 2.0)))          # [0.000000, 2.000000, 4.000000, 6.000000]
    """


@builtin("sqrt")
def sqrt(x: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """The square root, correctly rounded; NaN below 0.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Options: `rounding_mode` RN (default), RZ, RM or RP, or for float32 APPROX; `flush_to_zero` for float32.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.sqrt(t))                         # [0.000000, 1.000000, 1.414214, 1.732051]
        ct.sqrt(-1)                               # TileValueError
    """


@builtin("rsqrt")
def rsqrt(x: Any, /, *, flush_to_zero: bool = False) -> Tile:
    """1 / sqrt(x); inf at 0, NaN below.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Options: `flush_to_zero` for float32: subnormal inputs and results become zero.
    Errors: TileTypeError for a restricted float dtype; TileValueError for a number outside the domain.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.rsqrt(t))                        # [inf, 1.000000, 0.707107, 0.577350]
    """


@builtin("sin")
def sin(x: Any, /) -> Tile:
    """The sine of an angle in radians.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.sin(t))                          # [0.000000, 0.841471, 0.909297, 0.141120]
    """


@builtin("cos")
def cos(x: Any, /) -> Tile:
    """The cosine of an angle in radians.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.cos(t))                          # [1.000000, 0.540302, -0.416147, -0.989992]
    """


@builtin("tan")
def tan(x: Any, /) -> Tile:
    """The tangent of an angle in radians.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.tan(t))                          # [0.000000, 1.557408, -2.185040, -0.142547]
    """


@builtin("sinh")
def sinh(x: Any, /) -> Tile:
    """The hyperbolic sine.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.sinh(t))                         # [0.000000, 1.175201, 3.626860, 10.017875]
    """


@builtin("cosh")
def cosh(x: Any, /) -> Tile:
    """The hyperbolic cosine.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.cosh(t))                         # [1.000000, 1.543081, 3.762196, 10.067662]
    """


@builtin("tanh")
def tanh(x: Any, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
    """The hyperbolic tangent.

    Operands: a tile or number. Floats keep their dtype, integers and bools become float32.
    Result: a tile of the same shape; a number gives a constant, with the value that Python's `math` has.
    Options: `rounding_mode` FULL (default), or for float32 APPROX, the hardware's approximation.
    Errors: TileTypeError for a restricted float dtype.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.tanh(t))                         # [0.000000, 0.761594, 0.964028, 0.995055]
        print(ct.tanh(t, rounding_mode=ct.RoundingMode.APPROX).dtype)  # float32
    """


@builtin("floor")
def floor(x: Any, /) -> Tile:
    """The largest integral value not above x.

    Operands: a float tile, or a number.
    Result: a float tile of the same shape and dtype.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.75 - 1.0
        print(ct.floor(t))                        # [-1.000000, -1.000000, 0.000000, 1.000000]
        ct.floor(ct.arange(4, dtype=ct.int32))    # TileTypeError
    """


@builtin("ceil")
def ceil(x: Any, /) -> Tile:
    """The smallest integral value not below x.

    Operands: a float tile, or a number.
    Result: a float tile of the same shape and dtype.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.75 - 1.0
        print(ct.ceil(t))                         # [-1.000000, -0.000000, 1.000000, 2.000000]
    """


@builtin("stop_gradient")
def stop_gradient(x: Any, /) -> Tile:
    """x itself, which `grad` takes for a constant.

    Operands: a float tile, or a number.
    Result: x.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        @ct.tile_kernel
        def kernel(x, out):
            t = ct.load(x, 0, 4)
            ct.store(out, 0, t * ct.stop_gradient(t))

        x, x_grad = np.arange(4.0), np.zeros(4)
        ct.grad(kernel, wrt="x", outputs="out")[1](x, np.zeros(4), np.ones(4), x_grad)
        print(x_grad)  # [0. 1. 2. 3.]
    """


@builtin("trunc")
def trunc(x: Any, /) -> Tile:
    """x rounded toward zero to an integral value.

    Operands: a float tile, or a number.
    Result: a float tile of the same shape and dtype.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.75 - 1.0
        print(ct.trunc(t))                        # [-1.000000, -0.000000, 0.000000, 1.000000]
    """


@builtin("round")
def round(x: Any, /) -> Tile:
    """x rounded to the nearest integral value, of two equally near ones to the even one. Python's `round` is the same.

    Operands: a float tile, or a number.
    Result: a float tile of the same shape and dtype; of a number an integer, as in Python.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        t = ct.arange(4, dtype=ct.float32) * 0.75 - 1.25
        print(ct.round(t))                        # [-1.000000, -0.000000, 0.000000, 1.000000]
        print(round(t * 2.0))                     # [-2.000000, -1.000000, 0.000000, 2.000000]
        print(round(2.5), ct.round(-0.5))         # 2 0
    """


@builtin("isnan")
def isnan(x: Any, /) -> Tile:
    """Where x is a NaN.

    Operands: a float tile, or a number.
    Result: a bool tile of the same shape.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        t = ct.arange(4, dtype=ct.float32) / 0.0
        print(ct.isnan(t))                        # [1, 0, 0, 0]
        print(ct.where(ct.isnan(t), 0.0, t))      # [0.000000, inf, inf, inf]
        ct.isnan(ct.arange(4, dtype=ct.int32))    # TileTypeError
    """


@builtin("isinf")
def isinf(x: Any, /) -> Tile:
    """Where x is an infinity, of either sign.

    Operands: a float tile, or a number.
    Result: a bool tile of the same shape.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        t = ct.arange(4, dtype=ct.float32) / 0.0
        print(ct.isinf(t))                        # [0, 1, 1, 1]
    """


@builtin("isfinite")
def isfinite(x: Any, /) -> Tile:
    """Where x is neither an infinity nor a NaN.

    Operands: a float tile, or a number.
    Result: a bool tile of the same shape.
    Errors: TileTypeError for integer and bool tiles.

    Example:
        t = 1.0 / ct.arange(4, dtype=ct.float32)
        print(ct.isfinite(t))                     # [0, 1, 1, 1]
        print(ct.where(ct.isfinite(t), t, 0.0))   # [0.000000, 1.000000, 0.500000, 0.333333]
    """


@builtin("negative")
def negative(x: Any, /) -> Tile:
    """-x.

    Operands: a tile or number; integers wrap, bools become int32.
    Result: a tile of the same shape and (but for bools) dtype.
    Errors: TileTypeError for what is no tile or number.

    Example:
        print(ct.negative(ct.arange(4, dtype=ct.int32)))   # [0, -1, -2, -3]
        print(-ct.full((2,), 1, ct.uint8))                 # [255, 255]
    """


@builtin("abs")
def abs(x: Any, /) -> Tile:
    """|x|. Python's `abs` is the same.

    Operands: a tile or number.
    Result: a tile of the same shape and dtype; of the least signed integer that integer again.
    Errors: TileTypeError for what is no tile or number.

    Example:
        t = ct.arange(4, dtype=ct.int32, start=-2)
        print(ct.abs(t), abs(t - 1))              # [2, 1, 0, 1] [3, 2, 1, 0]
        print(ct.abs(ct.full((1,), -128, ct.int8)))  # [-128]
    """


@builtin("bitwise_not")
def bitwise_not(x: Any, /) -> Tile:
    """~x: all bits inverted; of bools logical not.

    Operands: an integer or bool tile, or an integer.
    Result: a tile of the same shape and dtype.
    Errors: TileTypeError for floats.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.bitwise_not(t), ~(t > 1))        # [-1, -2, -3, -4] [1, 1, 0, 0]
        ~(t * 0.5)                                # TileTypeError
    """
