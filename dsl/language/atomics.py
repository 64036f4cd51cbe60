"""Atomic updates of array elements."""

from __future__ import annotations

from typing import Any

from tilewright.language.arrays import Array
from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.enums import MemoryOrder, MemoryScope

__all__ = [
    "atomic_cas", "atomic_xchg", "atomic_add", "atomic_max", "atomic_min", "atomic_and", "atomic_or", "atomic_xor",
]


@builtin("atomic_cas")
def atomic_cas(
    array: Array, indices: Any, expected: Any, desired: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Compare and swap: write `desired` where an element equals `expected`, and give the old elements.

    Array: int32, int64, uint32, uint64, float32 or float64. Floats are compared bit by bit.
    Arguments: `indices` as in `gather`; `expected` and `desired`, numbers or tiles that broadcast to them and are
        converted as by `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give `expected`.
    Options: `memory_order`, `memory_scope` and `check_bounds` as those of `atomic_add`.
    Errors: TileTypeError for another dtype of the array, WEAK order, and a value that needs `astype` first.

    Example:
        @ct.tile_kernel
        def kernel(lock, total):
            while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
                pass                                                 # another block holds the lock
            ct.store(total, 0, ct.load(total, 0, ()) + ct.bid(0))    # one block at a time
            ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)

        lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
        kernel[(5,)](lock, total)
        print(total)  # [10]
    """


@builtin("atomic_xchg")
def atomic_xchg(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Put `update` in place, and give the old elements.

    Array: int32, int64, uint32, uint64, float32 or float64.
    Arguments: `indices` as in `gather`; `update`, numbers or tiles that broadcast to them and are converted as by
        `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give an unspecified value.
    Options: `memory_order`, `memory_scope` and `check_bounds` as those of `atomic_add`.
    Errors: TileTypeError for another dtype of the array, WEAK order, and a value that needs `astype` first.

    Example:
        @ct.tile_kernel
        def kernel(x):
            i = ct.arange(4, dtype=ct.int32)
            print(ct.atomic_xchg(x, i, i * 10))  # [0, 1, 2, 3]

        x = np.arange(4, dtype=np.int32)
        kernel[(1,)](x)
        print(x)  # [ 0 10 20 30]
    """


@builtin("atomic_add")
def atomic_add(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Add `update`, and give the old elements.

    Array: int32, int64, uint32, uint64, float16, float32, float64, bfloat16 (on GPUs from sm_90). Additions happen in
        any order, so float sums may differ from run to run; GPUs add subnormal float32 numbers as zeros.
    Arguments: `indices` as in `gather`; `update`, numbers or tiles that broadcast to them and are converted as by
        `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give an unspecified value.
    Options: `memory_order` RELAXED, ACQUIRE, RELEASE or ACQ_REL and `memory_scope` BLOCK, DEVICE or SYS order the
        access towards others; RELAXED is enough, and fastest, for a sum that nobody waits for. `check_bounds` as in
        `gather`.
    Errors: TileTypeError for another dtype of the array, WEAK order, and a value that needs `astype` first.

    Example:
        @ct.tile_kernel
        def histogram(x, counts):
            t = ct.load(x, ct.bid(0), 4)
            ct.atomic_add(counts, t, 1, memory_order=ct.MemoryOrder.RELAXED)
            ct.atomic_add(counts, t, 0.5)                            # TileTypeError

        counts = np.zeros(3, np.int32)
        histogram[(2,)](np.array([0, 1, 1, 2, 2, 2, 0, 2]), counts)
        print(counts)  # [2 2 4]
    """


@builtin("atomic_max")
def atomic_max(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Take the maximum with `update`, and give the old elements.

    Array: int32, int64, uint32, uint64, float16, bfloat16, float32 or float64. Signed or unsigned, as the dtype is. Of
        floats, a NaN as `update` changes nothing; -0.0 is less than 0.0; a NaN in the array counts as above infinity,
        or as below minus infinity if its sign bit is set. So the array holds the same bits whatever the order of the
        updates, and `deterministic=True` permits them. GPUs update 16-bit floats by compare-and-swap, which is slower
        where many updates meet in one element.
    Arguments: `indices` as in `gather`; `update`, numbers or tiles that broadcast to them and are converted as by
        `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give an unspecified value.
    Options: `memory_order`, `memory_scope` and `check_bounds` as those of `atomic_add`.
    Errors: TileTypeError for another dtype of the array, WEAK order, and a value that needs `astype` first.

    Example:
        @ct.tile_kernel
        def kernel(x):
            i = ct.arange(4, dtype=ct.int32)
            print(ct.atomic_max(x, i, 2))  # [0, 1, 2, 3]

        x = np.arange(4, dtype=np.int32)
        kernel[(1,)](x)
        print(x)  # [2 2 2 3]
    """


@builtin("atomic_min")
def atomic_min(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Take the minimum with `update`, and give the old elements.

    Array: int32, int64, uint32, uint64, float16, bfloat16, float32 or float64. Signed or unsigned, as the dtype is. Of
        floats, a NaN as `update` changes nothing; -0.0 is less than 0.0; a NaN in the array counts as above infinity,
        or as below minus infinity if its sign bit is set. So the array holds the same bits whatever the order of the
        updates, and `deterministic=True` permits them. GPUs update 16-bit floats by compare-and-swap, which is slower
        where many updates meet in one element.
    Arguments: `indices` as in `gather`; `update`, numbers or tiles that broadcast to them and are converted as by
        `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give an unspecified value.
    Options: `memory_order`, `memory_scope` and `check_bounds` as those of `atomic_add`.
    Errors: TileTypeError for another dtype of the array, WEAK order, and a value that needs `astype` first.

    Example:
        @ct.tile_kernel
        def kernel(x):
            i = ct.arange(4, dtype=ct.int32)
            print(ct.atomic_min(x, i, 2))  # [0, 1, 2, 3]

        x = np.arange(4, dtype=np.int32)
        kernel[(1,)](x)
        print(x)  # [0 1 2 2]
    """


@builtin("atomic_and")
def atomic_and(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Bitwise and with `update`, which has exactly the array's dtype, and give the old elements.

    Array: int32, int64, uint32 or uint64.
    Arguments: `indices` as in `gather`; `update`, numbers or tiles that broadcast to them and are converted as by
        `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give an unspecified value.
    Options: `memory_order`, `memory_scope` and `check_bounds` as those of `atomic_add`.
    Errors: TileTypeError for another dtype of the array or of `update` (a bare number is int32), and WEAK order.

    Example:
        @ct.tile_kernel
        def kernel(x):
            i = ct.arange(4, dtype=ct.int32)
            ct.atomic_and(x, i, ct.int64(1))  # TileTypeError
            print(ct.atomic_and(x, i, 1))  # [0, 1, 2, 3]

        x = np.arange(4, dtype=np.int32)
        kernel[(1,)](x)
        print(x)  # [0 1 0 1]
    """


@builtin("atomic_or")
def atomic_or(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Bitwise or with `update`, which has exactly the array's dtype, and give the old elements.

    Array: int32, int64, uint32 or uint64.
    Arguments: `indices` as in `gather`; `update`, numbers or tiles that broadcast to them and are converted as by
        `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give an unspecified value.
    Options: `memory_order`, `memory_scope` and `check_bounds` as those of `atomic_add`.
    Errors: TileTypeError for another dtype of the array or of `update` (a bare number is int32), and WEAK order.

    Example:
        @ct.tile_kernel
        def kernel(x):
            i = ct.arange(4, dtype=ct.int32)
            print(ct.atomic_or(x, i, 4))  # [0, 1, 2, 3]

        x = np.arange(4, dtype=np.int32)
        kernel[(1,)](x)
        print(x)  # [4 5 6 7]
    """


@builtin("atomic_xor")
def atomic_xor(
    array: Array, indices: Any, update: Any, /, *, check_bounds: bool = True,
    memory_order: MemoryOrder = MemoryOrder.ACQ_REL, memory_scope: MemoryScope = MemoryScope.DEVICE,
) -> Tile:
    """Bitwise exclusive or with `update`, which has exactly the array's dtype, and give the old elements.

    Array: int32, int64, uint32 or uint64.
    Arguments: `indices` as in `gather`; `update`, numbers or tiles that broadcast to them and are converted as by
        `store`.
    Result: the old elements, a tile of the shape of the indices. Each element is atomic, elements are in no order;
        those outside the array do nothing and give an unspecified value.
    Options: `memory_order`, `memory_scope` and `check_bounds` as those of `atomic_add`.
    Errors: TileTypeError for another dtype of the array or of `update` (a bare number is int32), and WEAK order.

    Example:
        @ct.tile_kernel
        def kernel(x):
            i = ct.arange(4, dtype=ct.int32)
            print(ct.atomic_xor(x, i, ct.uint64(1)))  # [0, 1, 2, 3]

        x = np.arange(4, dtype=np.uint64)
        kernel[(1,)](x)
        print(x)  # [1 0 3 2]
    """
