"""Classes of kernel values, for annotations and editors: Tile and Array. None is ever instantiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.language.builtin import builtin
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode, RoundingMode

if TYPE_CHECKING:
    from tilewright.language.raw import RawArrayMemory
    from tilewright.language.tiled import TiledView

Scalar = Any
"""A number or a tile with one element and no axes."""
Shape = Any
"""A constant int or tuple of constant powers of two."""
Index = Any
"""An integer scalar or a tuple of them."""


class Tile:
    """An immutable block of elements of one dtype; every length is a power of two, a scalar has no axes.

    Operators work element by element (`+ - * / // % ** & | ^ << >> ~ -`, comparisons, `@`); shapes broadcast as in
    NumPy. `t[:, None]` and its kind add axes; there is no indexing by element.
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

    __pos__ = __invert__ = __neg__


class Array:
    """An array argument of a kernel: a view of global memory of any extents and strides.

    Tiles of it are loaded and stored with `load` and `store`, elements with `gather` and `scatter`.
    """

    @property
    def dtype(self) -> DType:
        """Type of the elements (constant)."""
        raise RuntimeError("this array exists inside a kernel only")

    @property
    def ndim(self) -> int:
        """Number of axes (constant)."""
        raise RuntimeError("this array exists inside a kernel only")

    @property
    def shape(self) -> tuple[Scalar, ...]:
        """Extents as int32 scalars (int64 with IndexedWithInt64; constants where declared static)."""
        raise RuntimeError("this array exists inside a kernel only")

    @property
    def strides(self) -> tuple[Scalar, ...]:
        """Strides in elements, as scalars like those of `shape`."""
        raise RuntimeError("this array exists inside a kernel only")

    @builtin("Array.slice")
    def slice(array, /, axis: int, start: Scalar, stop: Scalar) -> Array:
        """The part start:stop of an array along an axis, as an array of its own; nothing is copied.

        Arguments: `axis`, a constant (negative: from the end); `start` and `stop`, signed integer scalars with 0 <=
            start <= stop <= extent, which is not checked.
        Result: an array of the same dtype and rank. Accesses beyond it are outside the array. With constant bounds the
            extent is a constant.
        Errors: TileTypeError for bounds that are no signed integers, a negative constant, or a constant stop before the
            start.

        Example:
            @ct.tile_kernel
            def kernel(x, starts):
                i = ct.bid(0)
                row = x.slice(0, ct.load(starts, i, ()), ct.load(starts, i + 1, ()))   # one of several ragged rows
                print(ct.load(row, 0, 4, padding_mode=ct.PaddingMode.ZERO))            # [1, 2, 0, 0]
                x.slice(0, 2, 1)                                                       # TileTypeError

            kernel[(1,)](np.arange(1, 8), np.array([0, 2, 7]))
        """

    @builtin("Array.tiled_view")
    def tiled_view(
        array, /, tile_shape: Shape, *, padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
        traversal_steps: Any = None,
    ) -> TiledView:
        """The array as a space of tiles of one shape.

        Arguments: `tile_shape`, one constant power of two per axis (one axis: an int), or `()` for single elements;
            `traversal_steps`, constant positive ints, the distance of neighbouring tiles (by default the tile's
            lengths).
        Result: a TiledView, whose tile i starts at the element i * step. Its attributes `dtype`, `tile_shape` and
            `traversal_steps` are constants.
        Options: `padding_mode` as in `load`.
        Errors: TileTypeError for lengths or steps that are no constants, not positive, or not one per axis.

        Example:
            @ct.tile_kernel
            def kernel(x):
                windows = x.tiled_view(4, padding_mode=ct.PaddingMode.ZERO, traversal_steps=(3,))
                for i in range(windows.num_tiles(0)):
                    print(windows.load(i))            # [0, 1, 2, 3]
                                                      # [3, 4, 5, 0]
                x.tiled_view(3)                       # TileTypeError

            kernel[(1,)](np.arange(6))
        """

    @builtin("Array.get_raw_memory")
    def get_raw_memory(array, /) -> RawArrayMemory:
        """The array's memory, reached by offsets in elements from its first one, without any check.

        Result: a RawArrayMemory.
        Errors: TileTypeError for any argument.

        Example:
            @ct.tile_kernel
            def kernel(m):
                raw = m.get_raw_memory()
                diagonal = ct.arange(4, dtype=ct.int32) * (m.strides[0] + m.strides[1])
                print(raw.load_offset(diagonal))      # [0, 5, 10, 15]

            kernel[(1,)](np.arange(16).reshape(4, 4))
        """
