"""Binary arithmetic, comparison, bitwise functions, and `where`."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "cdiv", "divmod", "pow", "minimum", "maximum", "atan2",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_lshift", "bitwise_rshift", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "where",
]


@builtin("add")
def add(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x + y; integers wrap.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    `rounding_mode` (RN, RZ, RM, RP) and `flush_to_zero` (float32) are options of floats.

        ct.add(ct.full((4,), 1, ct.int32), 2)      # 3 3 3 3
    """


@builtin("sub")
def sub(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x - y; integers wrap.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    `rounding_mode` (RN, RZ, RM, RP) and `flush_to_zero` (float32) are options of floats.
    """


@builtin("mul")
def mul(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x * y; integers wrap.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    `rounding_mode` (RN, RZ, RM, RP) and `flush_to_zero` (float32) are options of floats.
    """


@builtin("truediv")
def truediv(x: Any, y: Any, /, *, rounding_mode: RoundingMode | None = None, flush_to_zero: bool = False) -> Tile:
    """x / y; integers become float32.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    `rounding_mode` (RN, RZ, RM, RP, FULL, APPROX) and `flush_to_zero` (float32) are options of floats.
    """


@builtin("floordiv")
def floordiv(x: Any, y: Any, /) -> Tile:
    """x // y, rounded toward minus infinity; for floats floor(x / y).

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    """


@builtin("cdiv", host=True)
def cdiv(x: Any, y: Any, /) -> Any:
    """x / y rounded up, integers; also on the host, where it sizes grids.

        grid = (ct.cdiv(n, 256),)
    """
    return -(-x // y)


@builtin("mod")
def mod(x: Any, y: Any, /) -> Tile:
    """x % y, with the sign of y, for integers and floats.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    """


@builtin("divmod")
def divmod(x: Any, y: Any, /) -> tuple[Tile, Tile]:
    """(x // y, x % y) of integers, or of constants."""


@builtin("pow")
def pow(x: Any, y: Any, /) -> Tile:
    """x ** y. A float base with a small integer exponent keeps its dtype; else the operands promote.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    """


@builtin("minimum")
def minimum(x: Any, y: Any, /, *, flush_to_zero: bool = False, propagate_nan: bool = False) -> Tile:
    """The smaller of x and y; a NaN counts as missing unless `propagate_nan`.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    """


@builtin("maximum")
def maximum(x: Any, y: Any, /, *, flush_to_zero: bool = False, propagate_nan: bool = False) -> Tile:
    """The larger of x and y; a NaN counts as missing unless `propagate_nan`.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    """


@builtin("atan2")
def atan2(x: Any, y: Any, /) -> Tile:
    """The angle of the point (y, x) in radians, floats only.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).
    """


@builtin("bitwise_and")
def bitwise_and(x: Any, y: Any, /) -> Tile:
    """x & y on integers or bools of one dtype."""


@builtin("bitwise_or")
def bitwise_or(x: Any, y: Any, /) -> Tile:
    """x | y on integers or bools of one dtype."""


@builtin("bitwise_xor")
def bitwise_xor(x: Any, y: Any, /) -> Tile:
    """x ^ y on integers or bools of one dtype."""


@builtin("bitwise_lshift")
def bitwise_lshift(x: Any, y: Any, /) -> Tile:
    """x << y on integers; counts are less than the width."""


@builtin("bitwise_rshift")
def bitwise_rshift(x: Any, y: Any, /) -> Tile:
    """x >> y on integers: arithmetic for signed, logical for unsigned x."""


@builtin("equal")
def equal(x: Any, y: Any, /) -> Tile:
    """x == y, element by element: a bool tile."""


@builtin("not_equal")
def not_equal(x: Any, y: Any, /) -> Tile:
    """x != y, element by element: a bool tile. NaN differs from everything."""


@builtin("less")
def less(x: Any, y: Any, /) -> Tile:
    """x < y, element by element: a bool tile."""


@builtin("less_equal")
def less_equal(x: Any, y: Any, /) -> Tile:
    """x <= y, element by element: a bool tile."""


@builtin("greater")
def greater(x: Any, y: Any, /) -> Tile:
    """x > y, element by element: a bool tile."""


@builtin("greater_equal")
def greater_equal(x: Any, y: Any, /) -> Tile:
    """x >= y, element by element: a bool tile."""


@builtin("where")
def where(cond: Any, x: Any, y: Any, /) -> Tile:
    """x where cond is true (not 0), else y, element by element.

    x and y are tiles or numbers; shapes broadcast, dtypes promote (bool < integer < float; signed and unsigned, or
    float16 and bfloat16, do not mix: TileTypeError).

        ct.where(t > 0, t, 0.0)                    # relu
    """
