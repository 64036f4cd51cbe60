"""The class of raw memory, which `Array.get_raw_memory` gives."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin
from tilewright.language.classes import Tile
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import MemoryOrder, MemoryScope

ACQ_REL, DEVICE = MemoryOrder.ACQ_REL, MemoryScope.DEVICE


class RawArrayMemory:
    """The memory of an array, addressed by offsets in elements from its first one. Nothing checks the offsets.

    An offset is an integer tile of any shape; `mask`, a bool tile that broadcasts to it, leaves elements out.
    """

    @property
    def dtype(self) -> DType:
        """Type of the elements (constant)."""
        raise RuntimeError("raw memory exists inside a kernel only")

    @builtin("RawArrayMemory.load_offset")
    def load_offset(
        raw, offset: Any, /, *, mask: Any = None, padding_value: Any = 0, latency: int | None = None
    ) -> Tile:
        """The elements at the offsets.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one.
        Result: a tile of the shape of `offset` with the array's dtype.
        Options: where `mask` (a bool tile that broadcasts to `offset`) is False, nothing is read and the result is
            `padding_value` (None: nothing may be assumed). `latency` is a hint.
        Errors: TileTypeError for offsets that are no integers and a mask that is not bool. An offset outside the array
            is undefined.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().load_offset(i, mask=i < x.shape[0], padding_value=-1))   # [5, 6, 7, -1]

            kernel[(1,)](np.array([5, 6, 7]))
        """

    @builtin("RawArrayMemory.store_offset")
    def store_offset(raw, offset: Any, value: Any, /, *, mask: Any = None, latency: int | None = None) -> None:
        """Write elements at the offsets.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `value`, a number or
            tile that broadcasts to it, converted as by `ct.store`. Of several elements with one offset one wins,
            unspecified which.
        Options: where `mask` is False nothing is written. `latency` is a hint.
        Errors: TileTypeError as in `load_offset`, and for a value that has to be converted by `astype` first.

        Example:
            @ct.tile_kernel
            def kernel(m):
                i = ct.arange(4, dtype=ct.int32)
                m.get_raw_memory().store_offset(i * 4, 1, mask=i < 3)      # the first column of three rows

            m = np.zeros((3, 4), np.int32)
            kernel[(1,)](m)
            print(m[:, 0], m.sum())  # [1 1 1] 3
        """

    @builtin("RawArrayMemory.atomic_cas_offset")
    def atomic_cas_offset(
        raw, offset: Any, expected: Any, desired: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Compare and swap at the offsets, as `atomic_cas` does at indices.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `expected` and
            `desired`, numbers or tiles that broadcast to it.
        Result: the old elements; `expected` where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_cas`.
        Errors: TileTypeError as those of `atomic_cas` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(2, dtype=ct.int32)
                print(x.get_raw_memory().atomic_cas_offset(i, 5, 9))   # [5, 6]

            x = np.array([5, 6], np.int32)
            kernel[(1,)](x)
            print(x)  # [9 6]
        """

    @builtin("RawArrayMemory.atomic_xchg_offset")
    def atomic_xchg_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Put `update` in place of the elements at the offsets, each atomically.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `update`, a number or
            tile that broadcasts to it, as in `atomic_xchg`.
        Result: the old elements, unspecified where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_xchg`.
        Errors: TileTypeError as those of `atomic_xchg` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().atomic_xchg_offset(i, 7))   # [0, 1, 2, 3]

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [7 7 7 7]
        """

    @builtin("RawArrayMemory.atomic_add_offset")
    def atomic_add_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Add `update` to the elements at the offsets, each atomically.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `update`, a number or
            tile that broadcasts to it, as in `atomic_add`.
        Result: the old elements, unspecified where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_add`.
        Errors: TileTypeError as those of `atomic_add` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().atomic_add_offset(i, 10))   # [0, 1, 2, 3]

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [10 11 12 13]
        """

    @builtin("RawArrayMemory.atomic_max_offset")
    def atomic_max_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Take the maximum with `update` in the elements at the offsets, each atomically.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `update`, a number or
            tile that broadcasts to it, as in `atomic_max`.
        Result: the old elements, unspecified where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_max`.
        Errors: TileTypeError as those of `atomic_max` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().atomic_max_offset(i, 2))   # [0, 1, 2, 3]

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [2 2 2 3]
        """

    @builtin("RawArrayMemory.atomic_min_offset")
    def atomic_min_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Take the minimum with `update` in the elements at the offsets, each atomically.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `update`, a number or
            tile that broadcasts to it, as in `atomic_min`.
        Result: the old elements, unspecified where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_min`.
        Errors: TileTypeError as those of `atomic_min` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().atomic_min_offset(i, 2))   # [0, 1, 2, 3]

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [0 1 2 2]
        """

    @builtin("RawArrayMemory.atomic_and_offset")
    def atomic_and_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Combine by bitwise and `update` with the elements at the offsets, each atomically.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `update`, a number or
            tile that broadcasts to it, as in `atomic_and`.
        Result: the old elements, unspecified where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_and`.
        Errors: TileTypeError as those of `atomic_and` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().atomic_and_offset(i, 1))   # [0, 1, 2, 3]

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [0 1 0 1]
        """

    @builtin("RawArrayMemory.atomic_or_offset")
    def atomic_or_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Combine by bitwise or `update` with the elements at the offsets, each atomically.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `update`, a number or
            tile that broadcasts to it, as in `atomic_or`.
        Result: the old elements, unspecified where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_or`.
        Errors: TileTypeError as those of `atomic_or` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().atomic_or_offset(i, 4))   # [0, 1, 2, 3]

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [4 5 6 7]
        """

    @builtin("RawArrayMemory.atomic_xor_offset")
    def atomic_xor_offset(
        raw, offset: Any, update: Any, /, *, mask: Any = None, memory_order: MemoryOrder = ACQ_REL,
        memory_scope: MemoryScope = DEVICE,
    ) -> Tile:
        """Combine by bitwise exclusive or `update` with the elements at the offsets, each atomically.

        Arguments: `offset`, an integer tile of any shape, in elements from the array's first one; `update`, a number or
            tile that broadcasts to it, as in `atomic_xor`.
        Result: the old elements, unspecified where the mask is False.
        Options: `mask`; `memory_order` and `memory_scope` as in `atomic_xor`.
        Errors: TileTypeError as those of `atomic_xor` and `load_offset`.

        Example:
            @ct.tile_kernel
            def kernel(x):
                i = ct.arange(4, dtype=ct.int32)
                print(x.get_raw_memory().atomic_xor_offset(i, 1))   # [0, 1, 2, 3]

            x = np.arange(4, dtype=np.int32)
            kernel[(1,)](x)
            print(x)  # [1 0 3 2]
        """
