"""The class of arrays seen as a space of tiles, which `Array.tiled_view` gives."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Index, Scalar, Tile
from tilewright.tileir.dtypes import DType


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
