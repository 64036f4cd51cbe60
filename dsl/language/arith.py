"""Binary arithmetic."""

from __future__ import annotations

from typing import Any, overload

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "cdiv", "divmod", "pow", "minimum", "maximum", "atan2", "clamp",
]


@builtin("add")
def add(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x + y; integers wrap.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype.
    Options, for float results: `rounding_mode` RN (default), RZ, RM or RP; `flush_to_zero` for float32.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.add(t, 10))                                # [10, 11, 12, 13]
        print(t + 0.5)                                      # [0.500000, 1.500000, 2.500000, 3.500000]
        print(ct.full((2,), 250, ct.uint8) + ct.uint8(10))  # [4, 4]
        t + ct.uint32(1)                                    # TileTypeError
    """


@builtin("sub")
def sub(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x - y; integers wrap.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype.
    Options, for float results: `rounding_mode` RN (default), RZ, RM or RP; `flush_to_zero` for float32.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        row = ct.arange(4, dtype=ct.int32)
        print(ct.sub(row[:, None], row).shape)              # (4, 4)
        print(1 - row)                                      # [1, 0, -1, -2]
        print(ct.uint8(0) - ct.full((2,), 1, ct.uint8))     # [255, 255]
        ct.full((2,), True, ct.bool_) - True                # TileTypeError
    """


@builtin("mul")
def mul(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x * y; integers wrap.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype.
    Options, for float results: `rounding_mode` RN (default), RZ, RM or RP; `flush_to_zero` for float32.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.mul(t, t, rounding_mode=ct.RoundingMode.RZ))  # [0.000000, 1.000000, 4.000000, 9.000000]
        print((t > 1) * 5)                                  # [0, 0, 5, 5]
        ct.full((2,), 1, ct.int8) * 300                     # TileValueError
    """


@builtin("truediv")
def truediv(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x / y, always a float.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape; the promoted dtype if that is a float, float32 otherwise (also for int64).
    Options: `rounding_mode` RN (default), RZ, RM, RP; for float32 also FULL (fast, within 2 units in the last place)
        and APPROX (the hardware's approximation); `flush_to_zero` for float32.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16),
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int64)
        print(ct.truediv(t, 2).dtype, t / 2)                # float32 [0.000000, 0.500000, 1.000000, 1.500000]
        print(ct.full((2,), 1.0, ct.float32) / 0.0)         # [inf, inf]
        ct.truediv(t.astype(ct.float64), 3, rounding_mode=ct.RoundingMode.APPROX)  # TileTypeError
    """


@builtin("floordiv")
def floordiv(x: Any, y: Any, /) -> Tile:
    """x // y, rounded toward minus infinity; for floats floor(x / y).

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype. Division of an integer by zero is undefined, but never traps.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32, start=-2)
        print(ct.floordiv(t, 2))                            # [-1, -1, 0, 0]
        print(t.astype(ct.float32) // 0.75)                 # [-3.000000, -2.000000, 0.000000, 1.000000]
        print(7 // 0)                                       # TileValueError
    """


@builtin("mod")
def mod(x: Any, y: Any, /) -> Tile:
    """x % y with the sign of y, for integers and floats, as in Python.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype. An integer modulo zero is undefined, but never traps.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32, start=-2)
        print(ct.mod(t, 3))                                 # [1, 2, 0, 1]
        print(t % -3)                                       # [-2, -1, 0, -2]
        print(ct.float32(-0.5) % 2.0)                       # 1.5
    """


@overload
def cdiv(x: int, y: int, /) -> int: ...
@overload
def cdiv(x: Tile, y: Any, /) -> Tile: ...
@overload
def cdiv(x: Any, y: Tile, /) -> Tile: ...
@overload
def cdiv(x: Any, y: Any, /) -> Any: ...
@builtin("cdiv", host=True)
def cdiv(x: Any, y: Any, /) -> Any:
    """x / y of integers, rounded up. Also on the host, where it sizes grids.

    Operands: integers, or integer tiles that broadcast and promote.
    Result: an int on the host and of two numbers; otherwise a tile of the promoted dtype.
    Errors: TileTypeError for float tiles.

    Example:
        assert ct.cdiv(1000, 256) == 4                      # blocks that cover 1000 elements

        @ct.tile_kernel
        def kernel():
            print(ct.cdiv(ct.arange(4, dtype=ct.int32), 2))  # [0, 1, 1, 2]

        kernel[(1,)]()
    """
    return -(-x // y)


@builtin("divmod")
def divmod(x: Any, y: Any, /) -> tuple[Tile, Tile]:
    """(x // y, x % y). Python's `divmod` is the same.

    Operands: integer tiles that broadcast and promote, or numbers.
    Result: a tuple of two tiles.
    Errors: TileTypeError for float tiles.

    Example:
        row, column = ct.divmod(ct.arange(4, dtype=ct.int32), 3)
        print(row, column)                                  # [0, 0, 0, 1] [0, 1, 2, 0]
        divmod(ct.full((2,), 1.5, ct.float32), 2)           # TileTypeError
    """


@builtin("pow")
def pow(x: Any, y: Any, /) -> Tile:
    """x ** y.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape. A float to a small integer power (a constant, or a tile of at most 32 signed or 16
        unsigned bits) keeps the dtype of x and is computed by multiplication; otherwise the operands promote.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print(ct.pow(t, 3))                                 # [0.000000, 1.000000, 8.000000, 27.000000]
        print(t.astype(ct.int32) ** 0.5)                    # [0.000000, 1.000000, 1.414214, 1.732051]
        print(t.astype(ct.int32) ** 2)                      # [0, 1, 4, 9]
    """


@builtin("minimum")
def minimum(x: Any, y: Any, /, *, flush_to_zero: bool = False, propagate_nan: bool = False) -> Tile:
    """The smaller of x and y, element by element. `min(x, y, ...)` of Python is the same.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype.
    Options: `propagate_nan` makes a NaN win; without it the other operand does. `flush_to_zero` for float32.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.minimum(t, 2), min(t, 1))                  # [0, 1, 2, 2] [0, 1, 1, 1]
        gap = ct.full((2,), float("nan"), ct.float32)
        print(ct.minimum(gap, 1.0))                         # [1.000000, 1.000000]
        print(ct.minimum(gap, 1.0, propagate_nan=True))     # [nan, nan]
    """


@builtin("maximum")
def maximum(x: Any, y: Any, /, *, flush_to_zero: bool = False, propagate_nan: bool = False) -> Tile:
    """The larger of x and y, element by element. `max(x, y, ...)` of Python is the same.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype.
    Options: `propagate_nan` makes a NaN win; without it the other operand does. `flush_to_zero` for float32.
    Errors: TileTypeError for dtypes that do not promote (signed with unsigned, float16 with bfloat16), for two bools,
        and for shapes that do not broadcast; TileValueError for a number that the tile's integer dtype does not hold.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.maximum(t - 2, 0))                         # [0, 0, 0, 1]
        print(max(t, t[:, None]).shape)                     # (4, 4)
        print(max(t, 1, 2))                                 # [2, 2, 2, 3]
    """


@builtin("clamp")
def clamp(x: Any, low: Any, high: Any, /) -> Tile:
    """x where it is between `low` and `high`, else the nearer one of them; a NaN stays a NaN.

    Operands: tiles or numbers of any dtype but the restricted floats; shapes broadcast, dtypes promote.
    Result: the common shape and the promoted dtype: `minimum(maximum(x, low), high)`, so that `high` wins where it is
        the lesser bound.
    Errors: TileTypeError and TileValueError as those of `minimum`.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.clamp(t, 1, 2))                            # [1, 1, 2, 2]
        print(ct.clamp(t * 0.5, 0.25, ct.full((4,), 1.0, ct.float32)))   # [0.250000, 0.500000, 1.000000, 1.000000]
        ct.clamp(t, ct.uint32(1), 2)                        # TileTypeError
    """


@builtin("atan2")
def atan2(x: Any, y: Any, /) -> Tile:
    """The angle in radians of the point with ordinate x and abscissa y: `atan2(sin(a), cos(a))` is a.

    Operands: tiles or numbers that broadcast and promote to a float dtype.
    Result: the common shape and dtype, from -pi to pi.
    Errors: TileTypeError for operands of which none is a float, and for dtypes that do not promote.

    Example:
        one = ct.full((2,), 1.0, ct.float32)
        print(ct.atan2(one, -one))                          # [2.356194, 2.356194]
        n = ct.arange(2, dtype=ct.int32)
        ct.atan2(n, n)                                      # TileTypeError
    """
