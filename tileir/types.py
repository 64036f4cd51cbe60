"""Types of Tile IR values: tiles (a scalar is a tile of rank 0), arrays, lists of arrays, shared-memory tiles."""

from __future__ import annotations

from dataclasses import field, replace
from math import prod

from tilewright.tileir.dtypes import DType, int32
from tilewright.tileir.layout import Layout
from tilewright.tileir.records import record

LARGEST_TILE = 1 << 24  # elements; a block's registers hold 2**16 of 32 bits


@record
class TileType:
    """A tile in registers. `layout` is None until the backend assigns one; the type rules ignore it."""

    dtype: DType
    shape: tuple[int, ...] = ()
    layout: Layout | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """What its elements take in memory."""
        return self.size * self.dtype.bytes

    def with_dtype(self, dtype: DType) -> TileType:
        return TileType(dtype, self.shape, self.layout)

    def with_shape(self, shape: tuple[int, ...]) -> TileType:
        return TileType(self.dtype, shape)

    def with_layout(self, layout: Layout | None) -> TileType:
        return TileType(self.dtype, self.shape, layout)

    def erased(self) -> TileType:
        """The same type without its layout."""
        return TileType(self.dtype, self.shape) if self.layout is not None else self

    def __str__(self) -> str:
        if not self.shape:
            return self.dtype.ir
        return f"tile<{'x'.join(map(str, self.shape))}x{self.dtype.ir}>"


ARRAY_WORDS = ("disjoint", "small", "passing")  # what an array type says by a word


@record
class ArrayType:
    """An array in global memory: what is known of it while compiling.

    Extents and strides are in elements, None where only known at launch. `extent_div[k]` and `stride_div[k]` divide
    the runtime extent and stride (1: nothing known). `align` is the alignment of the base pointer in bytes.
    `disjoint`: no two index tuples name the same element. `small`: every byte offset inside fits in 31 bits. `passing`:
    other arrays need the place in L2 more, so that what is accessed here shall be the first to leave it.
    `index` is the dtype of the extents and strides that a kernel sees. Facts do not change the type that a user sees,
    except for `declared`: the axes whose extents and whose strides the user asked to be constants of the kernel.
    """

    dtype: DType
    extents: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    extent_div: tuple[int, ...] = ()
    stride_div: tuple[int, ...] = ()
    align: int = 0
    disjoint: bool = False
    small: bool = False
    index: DType = int32
    passing: bool = False
    declared: tuple[tuple[int, ...], tuple[int, ...]] = field(default=((), ()), compare=False)

    def __post_init__(self) -> None:
        ones = (1,) * len(self.extents)
        object.__setattr__(self, "extent_div", self.extent_div or ones)
        object.__setattr__(self, "stride_div", self.stride_div or ones)
        object.__setattr__(self, "align", self.align or self.dtype.bytes)

    @property
    def rank(self) -> int:
        return len(self.extents)

    def erased(self) -> ArrayType:
        """The same type without `passing`, which says nothing of its elements."""
        return replace(self, passing=False) if self.passing else self

    def rows_are_multiples(self, length: int) -> bool:
        """Whether rows of contiguous elements are known to be multiples of so many long."""
        axes = zip(self.extents, self.extent_div, self.strides, strict=True)
        return all((extent or known) % length == 0 for extent, known, stride in axes if stride == 1)

    def seen_by_user(self) -> tuple[object, ...]:
        """What must agree where two arrays meet at a join."""
        return (ArrayType, self.dtype, self.rank, self.index)

    def __str__(self) -> str:
        def dims(values: tuple[int | None, ...]) -> str:
            return "x".join("?" if v is None else str(v) for v in values)

        parts = [dims(self.extents) + "x" + self.dtype.ir if self.rank else self.dtype.ir]
        if self.rank:
            parts.append(f"strides={dims(self.strides)}")
        if any(d != 1 for d in self.extent_div):
            parts.append(f"extent_div={dims(self.extent_div)}")
        if any(d != 1 for d in self.stride_div):
            parts.append(f"stride_div={dims(self.stride_div)}")
        if self.align != self.dtype.bytes:
            parts.append(f"align={self.align}")
        if self.index is not int32:
            parts.append(f"index={self.index.ir}")
        parts += [word for word in ARRAY_WORDS if getattr(self, word)]
        return f"array<{', '.join(parts)}>"


@record
class ListType:
    """A list of arrays of one dtype and rank; its length is a runtime value."""

    element: ArrayType

    def erased(self) -> ListType:
        return self

    def __str__(self) -> str:
        return f"list<{self.element}>"


@record
class TupleType:
    """A tuple parameter of a kernel. The frontend takes it apart at once, so it occurs nowhere else."""

    items: tuple[Type, ...]

    def erased(self) -> TupleType:
        return self

    def __str__(self) -> str:
        return f"tuple<{', '.join(map(str, self.items))}>"


@record
class SharedType:
    """A buffer in shared memory, `copies` of a tile; `layout` maps element offsets to tile indices."""

    dtype: DType
    shape: tuple[int, ...]
    copies: int = 1
    layout: Layout | None = None

    @property
    def size(self) -> int:
        """Elements of one tile."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Of one tile: the distance of the slots of a ring. A power of two, so that swizzles inside a slot hold."""
        return self.size * self.dtype.bytes

    def erased(self) -> SharedType:
        return replace(self, layout=None) if self.layout is not None else self

    def with_layout(self, layout: Layout | None) -> SharedType:
        return replace(self, layout=layout)

    def __str__(self) -> str:
        ring = f"{self.copies}, " if self.copies != 1 else ""
        return f"shared<{ring}{'x'.join([*map(str, self.shape), self.dtype.ir])}>"


Type = TileType | ArrayType | ListType | TupleType | SharedType


def scalar(dtype: DType) -> TileType:
    return TileType(dtype, ())
