"""Tile, the class of kernel values, and the types of operands, for annotations and editors. None is instantiated."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode

Scalar = Any
"""A number or a tile with one element and no axes."""
Shape = Any
"""A constant int or tuple of constant powers of two."""
Index = Any
"""An integer scalar or a tuple of them."""


class Tile:
    """An immutable block of elements of one dtype; every length is a power of two, a scalar has no axes.

    Operators work element by element (`+ - * / // % ** & | ^ << >> ~ -`, comparisons, `@`); shapes broadcast as in
    NumPy. `t[:, None]` and its kind add axes; `t[i]`, `t[:, :64]`, `t[::2]` take parts. Most functions of the language
    whose first operand is a tile are methods, too: `t.sum(axis)` is `ct.sum(t, axis)`.
    """

    def __index__(self) -> int:
        """A scalar integer tile may be a bound of range() and an index."""
        raise RuntimeError("a tile exists inside a kernel only")

    @property
    def dtype(self) -> DType:
        """Type of the elements (constant)."""
        raise RuntimeError("a tile exists inside a kernel only")

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes (constants)."""
        raise RuntimeError("a tile exists inside a kernel only")

    @property
    def ndim(self) -> int:
        """Number of axes (constant)."""
        raise RuntimeError("a tile exists inside a kernel only")

    @property
    def size(self) -> int:
        """Number of elements (constant)."""
        raise RuntimeError("a tile exists inside a kernel only")

    @property
    def T(self) -> Tile:
        """The axes in reverse order."""
        raise RuntimeError("a tile exists inside a kernel only")

    def __getattr__(self, name: str) -> Any:
        """A function of the language as a method."""
        raise AttributeError(f"a tile exists inside a kernel only, and has no attribute {name} outside")

    @builtin("Tile.item")
    def item(x, /) -> Tile:
        """The single element as a scalar: `reshape(())`.

        Result: a scalar of the same dtype.
        Errors: TileTypeError unless the tile has exactly one element.

        Example:
            t = ct.sum(ct.ones((1, 8), ct.int32), axis=1)
            print(t.shape, t.item().shape)            # (1,) ()
            ct.ones((2,), ct.int32).item()            # TileTypeError
        """

    @builtin("Tile.reshape")
    def reshape(x, /, shape: Shape) -> Tile:
        """The same elements under another shape.

        Arguments, result and errors: those of the function `reshape`.

        Example:
            print(ct.arange(4, dtype=ct.int32).reshape((2, -1)))         # [[0, 1], [2, 3]]
        """

    @builtin("Tile.astype")
    def astype(x, dtype: DType, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
        """Converted to another dtype.

        Arguments, result and errors: those of the function `astype`.

        Example:
            print((ct.arange(4, dtype=ct.int32) * 0.5).astype(ct.int32))  # [0, 0, 1, 1]
        """

    @builtin("Tile.permute")
    def permute(x, /, axes: tuple[int, ...]) -> Tile:
        """Axes in another order.

        Arguments, result and errors: those of the function `permute`.

        Example:
            print(ct.zeros((2, 4, 8), ct.int8).permute((1, 2, 0)).shape)  # (4, 8, 2)
        """

    @builtin("Tile.transpose")
    def transpose(x, /, axis0: int | None = None, axis1: int | None = None) -> Tile:
        """Two axes exchanged.

        Arguments, result and errors: those of the function `transpose`.

        Example:
            print(ct.zeros((2, 8), ct.int8).transpose().shape)            # (8, 2)
        """

    @builtin("Tile.insert")
    def insert(x, /, index: Index, value: Any) -> Tile:
        """With a part replaced.

        Arguments, result and errors: those of the function `insert`.

        Example:
            print(ct.zeros((4,), ct.int8).insert((3,), ct.int8(1)))       # [0, 0, 0, 1]
        """

    @builtin("Tile.extract")
    def extract(x, /, index: Index, shape: Shape) -> Tile:
        """A part.

        Arguments, result and errors: those of the function `extract`.

        Example:
            print(ct.arange(4, dtype=ct.int32).extract((1,), (2,)))       # [2, 3]
        """

    def _binary(self, other: Any) -> Tile:
        raise RuntimeError("a tile exists inside a kernel only")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _binary
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _binary
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _binary
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __lt__ = __le__ = __gt__ = __ge__ = _binary
    __getitem__ = _binary

    def __neg__(self) -> Tile:
        raise RuntimeError("a tile exists inside a kernel only")

    __pos__ = __invert__ = __abs__ = __neg__

    def __round__(self, ndigits: None = None) -> Tile:
        """The nearest whole numbers, halves to even."""
        raise RuntimeError("a tile exists inside a kernel only")

    def __bool__(self) -> bool:
        """A scalar tile may be a condition. With it `min(t, 1.0)` and `max(t, u)` type-check."""
        raise RuntimeError("a tile exists inside a kernel only")
