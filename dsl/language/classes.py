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
        """The single element as a scalar. TileTypeError unless there is exactly one."""

    @builtin("Tile.reshape")
    def reshape(x, /, shape: Shape) -> Tile:
        """The same elements under another shape: see `reshape`."""

    @builtin("Tile.astype")
    def astype(x, dtype: DType, /, *, rounding_mode: RoundingMode | None = None) -> Tile:
        """Converted to another dtype: see `astype`."""

    @builtin("Tile.permute")
    def permute(x, /, axes: tuple[int, ...]) -> Tile:
        """Axes reordered: see `permute`."""

    @builtin("Tile.transpose")
    def transpose(x, /, axis0: int | None = None, axis1: int | None = None) -> Tile:
        """Two axes exchanged: see `transpose`."""

    @builtin("Tile.insert")
    def insert(x, /, index: Index, value: Any) -> Tile:
        """With a part replaced: see `insert`."""

    @builtin("Tile.extract")
    def extract(x, /, index: Index, shape: Shape) -> Tile:
        """A part: see `extract`."""

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
        """The view start:stop along a constant axis. The caller promises 0 <= start <= stop <= extent.

        With constant bounds the view's extent is a constant. Accesses outside the view are outside the array.
        TileTypeError: bounds that are not signed integers, negative constants, stop before start.
        """

    @builtin("Array.tiled_view")
    def tiled_view(
        array, /, tile_shape: Shape, *, padding_mode: PaddingMode = PaddingMode.UNDETERMINED,
        traversal_steps: Any = None,
    ) -> TiledView:
        """The array as a space of tiles of one shape.

        Tile i starts at element i * step; `traversal_steps` (constant positive ints) are the tile's lengths by default.
        """

    @builtin("Array.get_raw_memory")
    def get_raw_memory(array, /) -> RawArrayMemory:
        """The array's memory, addressed by offsets in elements from its start, without any bounds."""


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
        """Number of tiles along a constant axis, an int32 scalar."""

    @builtin("TiledView.load")
    def load(
        view, /, index: Index, *, check_bounds: bool = True, latency: int | None = None, allow_tma: bool | None = None
    ) -> Tile:
        """The tile at the tile coordinates `index`."""

    @builtin("TiledView.store")
    def store(
        view, /, index: Index, tile: Any, *, check_bounds: bool = True, latency: int | None = None,
        allow_tma: bool | None = None,
    ) -> None:
        """Write a tile at the tile coordinates `index`; the value is broadcast to the tile's shape."""

    @builtin("TiledView.atomic_store_add")
    def atomic_store_add(view, index: Index, update: Any, /) -> None:
        """Add `update` (broadcast to the tile) to the tile at `index`, element by element, atomically and relaxed."""

    @builtin("TiledView.atomic_store_max")
    def atomic_store_max(view, index: Index, update: Any, /) -> None:
        """Take the maximum with `update`, like `atomic_store_add`."""

    @builtin("TiledView.atomic_store_min")
    def atomic_store_min(view, index: Index, update: Any, /) -> None:
        """Take the minimum with `update`, like `atomic_store_add`."""

    @builtin("TiledView.atomic_store_and")
    def atomic_store_and(view, index: Index, update: Any, /) -> None:
        """Combine with `update` (of the array's dtype) by bitwise and, like `atomic_store_add`."""

    @builtin("TiledView.atomic_store_or")
    def atomic_store_or(view, index: Index, update: Any, /) -> None:
        """Combine with `update` (of the array's dtype) by bitwise or, like `atomic_store_add`."""

    @builtin("TiledView.atomic_store_xor")
    def atomic_store_xor(view, index: Index, update: Any, /) -> None:
        """Combine with `update` (of the array's dtype) by bitwise exclusive or, like `atomic_store_add`."""
