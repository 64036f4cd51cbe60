"""Running sums, and reductions and scans by a function of the user."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import RoundingMode

__all__ = [
    "cumsum", "cumprod", "scan", "reduce",
]


@builtin("cumsum")
def cumsum(
    x: Any, /, axis: int = 0, *, reverse: bool = False, rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """The running sum along an axis, each element included.

    Arguments: `axis`, a constant int.
    Result: the same shape and dtype (bools become int32). The order of additions is unspecified.
    Options: `reverse` starts from the end. For floats `rounding_mode` RN, RZ, RM or RP; for float32 `flush_to_zero`.
    Errors: TileTypeError for an axis that is out of range or no constant, and for restricted floats.

    Example:
        t = ct.arange(4, dtype=ct.int32, start=1)
        print(ct.cumsum(t))                       # [1, 3, 6, 10]
        print(ct.cumsum(t, reverse=True))         # [10, 9, 7, 4]
        print(ct.cumsum(t) - t)                   # [0, 1, 3, 6]
        ct.cumsum(t, axis=1)                      # TileTypeError
    """


@builtin("cumprod")
def cumprod(
    x: Any, /, axis: int = 0, *, reverse: bool = False, rounding_mode: RoundingMode | None = None,
    flush_to_zero: bool = False,
) -> Tile:
    """The running product along an axis, each element included.

    Arguments: `axis`, a constant int.
    Result: the same shape and dtype (bools become int32). The order of multiplications is unspecified.
    Options: `reverse` starts from the end. For floats `rounding_mode` RN, RZ, RM or RP; for float32 `flush_to_zero`.
    Errors: TileTypeError for an axis that is out of range or no constant, and for restricted floats.

    Example:
        t = ct.arange(4, dtype=ct.int32, start=1)
        print(ct.cumprod(t))                      # [1, 2, 6, 24]
    """


@builtin("scan")
def scan(x: Any, /, axis: int, func: Any, identity: Any, *, reverse: bool = False) -> Any:
    """The running combination along an axis by a function of yours, each element included.

    Arguments: x, a tile or a tuple of N tiles that broadcast together; `axis`, a constant int; `func`, a function of
        two scalars that returns one (of 2 N scalars, first all of one group, that returns a tuple of N); `identity`, a
        constant number (a tuple of N) that changes nothing. `func` is associative; it has no loops, branches or memory
        access: choose with `ct.where`.
    Result: a tile (a tuple of N) of the same shape and dtype.
    Options: `reverse` starts from the end.
    Errors: TileTypeError for a wrong number or dtype of results or identities, and for an axis that is out of range;
        TileSyntaxError for what `func` must not contain.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print(ct.scan(t % 3, 0, max, 0))                          # [0, 1, 2, 2]

        # x[i] = a[i] * x[i - 1] + b[i], as one scan over pairs
        def then(a, b, c, d):
            return a * c, b * c + d

        print(ct.scan((t * 0 + 2, t), 0, then, (1, 0))[1])        # [0, 1, 4, 11]
        ct.scan(t, 0, max, ct.bid(0))                             # TileTypeError
    """


@builtin("reduce")
def reduce(x: Any, /, axis: int, func: Any, identity: Any, *, keepdims: bool = False) -> Any:
    """One element out of all along an axis, by a function of yours.

    Arguments: x, a tile or a tuple of N tiles that broadcast together; `axis`, a constant int; `func`, a function of
        two scalars that returns one (of 2 N scalars, first all of one group, that returns a tuple of N); `identity`, a
        constant number (a tuple of N) that changes nothing. `func` is associative; it has no loops, branches or memory
        access: choose with `ct.where`.
    Result: a tile (a tuple of N) of the same dtype, without the axis.
    Options: `keepdims` leaves the axis with length 1.
    Errors: TileTypeError for a wrong number or dtype of results or identities, and for an axis that is out of range;
        TileSyntaxError for what `func` must not contain.

    Example:
        t = ct.arange(8, dtype=ct.int32)
        print(ct.reduce(t, 0, lambda a, b: a ^ b, 0))             # 0

        def merge(mean, n, other, m):                             # mean and count of two groups
            return (mean * n + other * m) / ct.maximum(n + m, 1.0), n + m

        mean, count = ct.reduce((t * 1.0, ct.ones((8,), ct.float32)), 0, merge, (0.0, 0.0))
        print(mean, count)                                        # 3.500000 8.000000
        ct.reduce(t, 0, lambda a, b: a / b, 0)                    # TileTypeError
    """
