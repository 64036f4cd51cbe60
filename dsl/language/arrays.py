"""The grid, and arrays: the class Array and the tiles of an array. Array is never instantiated."""

from __future__ import annotations

from typing import Annotated, Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Scalar, Shape, Tile
from tilewright.language.raw import RawArrayMemory
from tilewright.language.tiled import TiledView
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode

__all__ = [
    "bid", "num_blocks", "num_tiles", "assume_divisible_by",
]


class Array:
    """An array argument of a kernel: a view of global memory of any extents and strides.

    Tiles of it are loaded and stored with `load` and `store`, elements with `gather` and `scatter`.

    In the annotation of a kernel's parameter, `ct.Array["M", "K"]` names its axes: the same name is the same length
    wherever it stands, also as that of a `Constant` parameter; ints, expressions (`"2 * K"`, `"cdiv(M, TILE)"`) and
    `"_"` for any length are possible. Every launch checks them.
    """

    def __class_getitem__(cls, names: Any) -> Any:
        from tilewright.arguments.annotations import DimensionNames

        return Annotated[cls, DimensionNames(names if isinstance(names, tuple) else (names,))]

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
            start <= stop <= extent.
        Result: an array of the same dtype and rank. Accesses beyond it are outside the array. With constant bounds the
            extent is a constant.
        Errors: TileTypeError for bounds that are no signed integers, a negative constant, a constant beyond the array
            or a constant stop before the start; TileValueError for other wrong bounds in the interpreter. On a GPU they
            are not checked.

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


@builtin("bid")
def bid(axis: int) -> Tile:
    """This block's coordinate along a grid axis.

    Arguments: `axis`, a constant 0, 1 or 2.
    Result: an int32 scalar, from 0 to `num_blocks(axis) - 1`.
    Errors: TileTypeError for another axis, or one that is not a constant.

    Example:
        @ct.tile_kernel
        def kernel(out):
            ct.store(out, (ct.bid(0),), ct.bid(0) * 10)  # each block writes one element

        out = np.zeros(4, np.int32)
        kernel[(4,)](out)
        print(out)  # [ 0 10 20 30]
    """


@builtin("num_blocks")
def num_blocks(axis: int) -> Tile:
    """The number of blocks along a grid axis.

    Arguments: `axis`, a constant 0, 1 or 2.
    Result: an int32 scalar; 1 along an axis that the launch does not name.
    Errors: TileTypeError for another axis, or one that is not a constant.

    Example:
        @ct.tile_kernel
        def kernel(out):
            # A fixed number of blocks shares any number of elements.
            for i in range(ct.bid(0), out.shape[0], ct.num_blocks(0)):
                ct.store(out, (i,), ct.bid(0))

        out = np.zeros(8, np.int32)
        kernel[(3,)](out)
        print(out)  # [0 1 2 0 1 2 0 1]
    """


@builtin("num_tiles")
def num_tiles(array: Array, /, axis: int, shape: Shape, order: Any = "C") -> Tile:
    """How many tiles of `shape` cover the array along an axis: ceil(extent / length).

    Arguments: `axis`, a constant axis of the tile (negative: from the end); `shape` and `order` as in `load`.
    Result: an int32 scalar.
    Errors: TileTypeError for an axis, shape or order that `load` refuses.

    Example:
        @ct.tile_kernel
        def kernel(x):
            print(ct.num_tiles(x, 0, (4, 8)), ct.num_tiles(x, 1, (4, 8)))  # 3 2
            print(ct.num_tiles(x, 0, (4, 8), order="F"))                   # 4

        kernel[(1,)](np.zeros((10, 16), np.float32))
    """


@builtin("assume_divisible_by")
def assume_divisible_by(x: Any, divisor: int) -> Tile:
    """x, with the promise that `divisor` divides it: a hint for the compiler, which then loads with wide accesses.

    Arguments: `x`, an integer scalar; `divisor`, a constant of at least 1.
    Result: x. Where the promise does not hold, what follows is undefined.
    Errors: TileTypeError for a float or a tile with axes, and for a constant that the divisor does not divide.

    Example:
        n = ct.assume_divisible_by(ct.bid(0) * 64, 64)
        print(n)                                  # 0
        ct.assume_divisible_by(10, 4)             # TileTypeError
    """
