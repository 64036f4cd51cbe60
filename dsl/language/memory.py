"""Loads and stores of tiles, gathers and scatters."""

from __future__ import annotations

from typing import Any

from tilewright.language.arrays import Array
from tilewright.language.builtin import builtin
from tilewright.language.classes import Index, Shape, Tile
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode

__all__ = [
    "load", "store", "gather", "scatter",
]


@builtin("load")
def load(
    array: Array, /, index: Index, shape: Shape, *, order: Any = "C",
    padding_mode: PaddingMode = PaddingMode.UNDETERMINED, check_bounds: bool = True, latency: int | None = None,
    allow_tma: bool | None = None, memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.NONE,
) -> Tile:
    """The tile of `array` at the tile coordinates `index`: it starts at the element index * shape.

    Arguments: `index`, one signed integer scalar per axis (one axis: the scalar itself); `shape`, one constant power of
        two per axis (one axis: the int itself), or `()` for one element as a scalar; `order`, "C", "F" (axes reversed)
        or a permutation: axis k of the tile is axis order[k] of the array.
    Result: a tile of `shape` with the array's dtype. Elements past the end of the array take the padding of
        `padding_mode`; UNDETERMINED means that nothing may be assumed of them. A negative index, or a tile entirely
        outside, is not allowed.
    Options: `check_bounds=False` promises that the whole tile is inside. `memory_order` (WEAK, RELAXED, ACQUIRE) and
        `memory_scope` (BLOCK, DEVICE, SYS; NONE with WEAK) order the access towards other blocks. `latency` (1 to 10:
        how far ahead to load) and `allow_tma` are hints.
    Errors: TileTypeError for a wrong number of indices or lengths, an index that is no signed integer scalar, a shape
        that is no constant or no power of two, a wrong order; TileValueError for a latency out of range, and for a
        negative constant index in code that can run.

    Example:
        @ct.tile_kernel
        def kernel(x, m):
            print(ct.load(x, 1, 4, padding_mode=ct.PaddingMode.ZERO))  # [4, 5, 0, 0]
            print(ct.load(m, (0, 1), (2, 2)))                          # [[2, 3], [6, 7]]
            print(ct.load(m, (1, 0), (2, 2), order="F"))               # [[2, 6], [3, 7]]
            print(ct.load(m, (1, 3), ()))                              # 7
            ct.load(m, (0, 0), (2, 3))                                 # TileTypeError

        kernel[(1,)](np.arange(6), np.arange(8).reshape(2, 4))
    """


@builtin("store")
def store(
    array: Array, /, index: Index, tile: Any, *, order: Any = "C", check_bounds: bool = True,
    latency: int | None = None, allow_tma: bool | None = None, memory_order: MemoryOrder = MemoryOrder.WEAK,
    memory_scope: MemoryScope = MemoryScope.NONE,
) -> None:
    """Write a tile into `array` at the place that `load` with the same index and order reads.

    Arguments: `index` and `order` as in `load`; `tile`, with one axis per axis of the array (a scalar writes one
        element). Its dtype is converted where nothing can be lost in kind or width: int16 to int32, bool or int to
        float, float16 to float32. Elements past the end of the array are skipped.
    Options: as those of `load`; `memory_order` is WEAK, RELAXED or RELEASE.
    Errors: TileTypeError for a tile that has to be converted by `astype` first (float to int, float32 to float16,
        signed to unsigned), for a number of axes other than the array's, and for what `load` refuses.

    Example:
        @ct.tile_kernel
        def kernel(out):
            t = ct.full((4,), 7, ct.int32)
            ct.store(out, (1,), t)                  # elements 4 and 5; 6 and 7 do not exist
            ct.store(out, (0,), 1)                  # a scalar: one element
            ct.store(out, (0,), t / 2)              # TileTypeError

        out = np.zeros(6, np.int32)
        kernel[(1,)](out)
        print(out)  # [1 0 0 0 7 7]
    """


@builtin("gather")
def gather(
    array: Array, indices: Any, /, *, mask: Any = None, padding_value: Any = 0, check_bounds: bool = True,
    latency: int | None = None,
) -> Tile:
    """Elements at any positions: result[e] = array[indices[0][e], indices[1][e], ...].

    Arguments: `indices`, a tuple of integer tiles of any integer dtype, one per axis, that broadcast together (one
        axis: the tile itself); positions are in elements.
    Result: a tile of the broadcast shape with the array's dtype.
    Options: where `mask` (a bool tile that broadcasts to the indices) is False, or a position is negative or past the
        end, the result is `padding_value` (a number or a tile; converted as by `store`). `check_bounds=False` promises
        that all positions of the mask are inside. `latency` is a hint.
    Errors: TileTypeError for a wrong number of indices, for indices that are no integers, for a mask that is not bool,
        and for shapes that do not broadcast.

    Example:
        @ct.tile_kernel
        def kernel(x, m):
            i = ct.arange(4, dtype=ct.int32)
            print(ct.gather(x, 3 - i))                                 # [13, 12, 11, 10]
            print(ct.gather(x, i * 2, padding_value=-1))               # [10, 12, 14, -1]
            print(ct.gather(x, i, mask=i < 2))                         # [10, 11, 0, 0]
            print(ct.gather(m, (i % 2, i)))                            # [0, 5, 2, 7]
            ct.gather(m, i)                                            # TileTypeError

        kernel[(1,)](np.arange(10, 16), np.arange(8).reshape(2, 4))
    """


@builtin("scatter")
def scatter(
    array: Array, indices: Any, value: Any, /, *, mask: Any = None, check_bounds: bool = True,
    latency: int | None = None,
) -> None:
    """Write elements at any positions: array[indices[0][e], indices[1][e], ...] = value[e].

    Arguments: `indices` as in `gather`; `value`, a number or tile that broadcasts to them and is converted as by
        `store`. Of several elements with one position one wins, unspecified which.
    Options: nothing is written where `mask` is False or a position is outside the array. `check_bounds` and `latency`
        as in `gather`.
    Errors: as those of `gather`, and TileTypeError for a value that has to be converted by `astype` first.

    Example:
        @ct.tile_kernel
        def kernel(out):
            i = ct.arange(4, dtype=ct.int32)
            ct.scatter(out, i * 2, i + 1, mask=i != 1)
            ct.scatter(out, i, 0.5)                 # TileTypeError

        out = np.zeros(6, np.int32)
        kernel[(1,)](out)
        print(out)  # [1 0 0 0 3 0]
    """
