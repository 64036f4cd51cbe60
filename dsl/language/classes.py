"""The classes of kernel values, for annotations and editors: Tile, Array, TiledView. None is ever instantiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.language.builtin import builtin
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode, RoundingMode

if TYPE_CHECKING:
    from tilewright.language.raw import RawArrayMemory

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


class TiledView:
    """An array seen as a space of tiles; made by `Array.tiled_view`."""

    @property
    def dtype(self) -> DType:
        """Type of the elements (constant)."""
        raise RuntimeError("a tiled view exists inside a kernel only")

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """Lengths of a tile (constants)."""
        raise RuntimeError("a tiled view exists inside a kernel only")

    @property
    def traversal_steps(self) -> tuple[int, ...]:
        """Distance of neighbouring tiles in elements (constants)."""
        raise RuntimeError("a tiled view exists inside a kernel only")

    @builtin("TiledView.num_tiles")
    def num_tiles(view, /, axis: int) -> Scalar:
        """The number of tiles along an axis: ceil(extent / step).

        Arguments: `axis`, a constant (negative: from the end).
        Result: an int32 scalar.
        Errors: TileTypeError for an axis that is out of range or no constant.

        Example:
            @ct.tile_kernel
            def kernel(m):
                print(m.tiled_view((2, 4)).num_tiles(0), m.tiled_view((2, 4)).num_tiles(-1))   # 3 2

            kernel[(1,)](np.zeros((5, 8), np.float32))
        """

    @builtin("TiledView.load")
    def load(
        view, /, index: Index, *, check_bounds: bool = True, latency: int | None = None, allow_tma: bool | None = None
    ) -> Tile:
        """The tile at the tile coordinates `index`.

        Arguments: `index`, one signed integer scalar per axis (one axis: the scalar itself).
        Result: a tile of `tile_shape`; elements outside the array take the view's padding.
        Options: as those of `ct.load`.
        Errors: TileTypeError for a wrong number of indices, and for one that is no signed integer scalar.

        Example:
            @ct.tile_kernel
            def kernel(m):
                view = m.tiled_view((2, 2))
                print(view.load((1, 1)))              # [[10, 11], [14, 15]]
                view.load(1)                          # TileTypeError

            kernel[(1,)](np.arange(16).reshape(4, 4))
        """

    @builtin("TiledView.store")
    def store(
        view, /, index: Index, tile: Any, *, check_bounds: bool = True, latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Write a tile at the tile coordinates `index`.

        Arguments: `index` as in `load`; `tile`, a tile or number, which broadcasts to `tile_shape` and is converted as
            by `ct.store`. Elements outside the array are skipped.
        Options: as those of `ct.store`.
        Errors: TileTypeError for a value that does not broadcast or has to be converted by `astype` first.

        Example:
            @ct.tile_kernel
            def kernel(out):
                view = out.tiled_view(4)
                view.store(1, ct.bid(0) + 7)          # a scalar fills the tile
                view.store(1, 0.5)                    # TileTypeError

            out = np.zeros(6, np.int32)
            kernel[(1,)](out)
            print(out)  # [0 0 0 0 7 7]
        """

    @builtin("TiledView.atomic_store_add")
    def atomic_store_add(view, index: Index, update: Any, /) -> None:
        """Add `update` to the tile at `index`, each element atomically (RELAXED, DEVICE).

        Arguments: `index` as in `load`; `update`, a tile or number, which broadcasts to `tile_shape` and is converted
            as by `ct.store`. Elements outside the array are skipped.
        Result: nothing; the old elements are not read. Dtypes of the array: those of `atomic_add`.
        Errors: TileTypeError as those of `atomic_add`, and for an update that does not broadcast.

        Example:
            @ct.tile_kernel
            def kernel(x):
                x.tiled_view(4).atomic_store_add(0, 10)

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [10 11 12 13]
        """

    @builtin("TiledView.atomic_store_max")
    def atomic_store_max(view, index: Index, update: Any, /) -> None:
        """Take the maximum with `update` in the tile at `index`, each element atomically (RELAXED, DEVICE).

        Arguments: `index` as in `load`; `update`, a tile or number, which broadcasts to `tile_shape` and is converted
            as by `ct.store`. Elements outside the array are skipped.
        Result: nothing; the old elements are not read. Dtypes of the array: those of `atomic_max`.
        Errors: TileTypeError as those of `atomic_max`, and for an update that does not broadcast.

        Example:
            @ct.tile_kernel
            def kernel(x):
                x.tiled_view(4).atomic_store_max(0, 2)

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [2 2 2 3]
        """

    @builtin("TiledView.atomic_store_min")
    def atomic_store_min(view, index: Index, update: Any, /) -> None:
        """Take the minimum with `update` in the tile at `index`, each element atomically (RELAXED, DEVICE).

        Arguments: `index` as in `load`; `update`, a tile or number, which broadcasts to `tile_shape` and is converted
            as by `ct.store`. Elements outside the array are skipped.
        Result: nothing; the old elements are not read. Dtypes of the array: those of `atomic_min`.
        Errors: TileTypeError as those of `atomic_min`, and for an update that does not broadcast.

        Example:
            @ct.tile_kernel
            def kernel(x):
                x.tiled_view(4).atomic_store_min(0, 2)

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [0 1 2 2]
        """

    @builtin("TiledView.atomic_store_and")
    def atomic_store_and(view, index: Index, update: Any, /) -> None:
        """Combine by bitwise and `update` with the tile at `index`, each element atomically (RELAXED, DEVICE).

        Arguments: `index` as in `load`; `update`, a tile or number of exactly the array's dtype, which broadcasts to
            `tile_shape`. Elements outside the array are skipped.
        Result: nothing; the old elements are not read. Dtypes of the array: those of `atomic_and`.
        Errors: TileTypeError as those of `atomic_and`, and for an update that does not broadcast.

        Example:
            @ct.tile_kernel
            def kernel(x):
                x.tiled_view(4).atomic_store_and(0, 1)

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [0 1 0 1]
        """

    @builtin("TiledView.atomic_store_or")
    def atomic_store_or(view, index: Index, update: Any, /) -> None:
        """Combine by bitwise or `update` with the tile at `index`, each element atomically (RELAXED, DEVICE).

        Arguments: `index` as in `load`; `update`, a tile or number of exactly the array's dtype, which broadcasts to
            `tile_shape`. Elements outside the array are skipped.
        Result: nothing; the old elements are not read. Dtypes of the array: those of `atomic_or`.
        Errors: TileTypeError as those of `atomic_or`, and for an update that does not broadcast.

        Example:
            @ct.tile_kernel
            def kernel(x):
                x.tiled_view(4).atomic_store_or(0, 4)

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [4 5 6 7]
        """

    @builtin("TiledView.atomic_store_xor")
    def atomic_store_xor(view, index: Index, update: Any, /) -> None:
        """Combine by bitwise exclusive or `update` with the tile at `index`, each element atomically (RELAXED, DEVICE).

        Arguments: `index` as in `load`; `update`, a tile or number of exactly the array's dtype, which broadcasts to
            `tile_shape`. Elements outside the array are skipped.
        Result: nothing; the old elements are not read. Dtypes of the array: those of `atomic_xor`.
        Errors: TileTypeError as those of `atomic_xor`, and for an update that does not broadcast.

        Example:
            @ct.tile_kernel
            def kernel(x):
                x.tiled_view(4).atomic_store_xor(0, 1)

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [1 0 3 2]
        """
