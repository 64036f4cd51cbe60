"""How often each number comes in a tile.

Few numbers are compared with every element in 32 bits. Of more, each is a row and a column: which row an element is
in, times which column, summed up by matrix multiplies of bytes.
"""

from __future__ import annotations

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType, int8, int32
from tilewright.tileir.ops.arith import Add, And, Constant, Eq, Shr
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.reduce import ReduceSum
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType

# Comparisons of elements with bins at once.
MOST_COMPARISONS = 1 << 17
# From where on tensor cores count.
LEAST_BINS_OF_PRODUCT = 128
LEAST_ELEMENTS_OF_PRODUCT = 32


def counted(b: Builder, numbers: Value, bins: int, before: Value | None = None) -> Value:
    """How often each of 0 to bins - 1, a power of two, comes in an int32 tile: an int32 tile of the shape (bins,).
    `before`: counts that are added."""
    if bins >= LEAST_BINS_OF_PRODUCT and numbers.type.size >= LEAST_ELEMENTS_OF_PRODUCT:
        return _by_product(b, numbers, bins, before)
    found = b.value(ReduceSum(src=_one_hot(b, numbers, bins, 1, int32), axes=(0,)))
    return found if before is None else b.value(Add(lhs=before, rhs=found))


def _by_product(b: Builder, numbers: Value, bins: int, before: Value | None) -> Value:
    shift = (bins.bit_length() - 1) // 2
    columns, rows, shape = 1 << shift, bins >> shift, numbers.type.shape
    row = b.value(Shr(lhs=numbers, rhs=_everywhere(b, shift, shape)))
    column = b.value(And(lhs=numbers, rhs=_everywhere(b, columns - 1, shape)))
    acc = (_everywhere(b, 0, (rows, columns)) if before is None
           else b.value(Reshape(src=before, shape=(rows, columns))))
    product = b.value(Mma(a=_one_hot(b, row, rows, 0, int8), b=_one_hot(b, column, columns, 1, int8), acc=acc))
    return b.value(Reshape(src=product, shape=(bins,)))


def _everywhere(b: Builder, number: int, shape: tuple[int, ...]) -> Value:
    return b.value(Constant(value=number, type=TileType(int32, shape)))


def _one_hot(b: Builder, numbers: Value, count: int, axis: int, dtype: DType) -> Value:
    """Which of 0 to count - 1 each element is, along a new axis."""
    size = numbers.type.size
    every = b.value(Reshape(src=b.value(Iota(size=count, dtype=int32)), shape=(1, count) if axis else (count, 1)))
    turned = b.value(Reshape(src=numbers, shape=(size, 1) if axis else (1, size)))
    shape = (size, count) if axis else (count, size)
    same = Eq(lhs=b.value(Broadcast(src=turned, shape=shape)), rhs=b.value(Broadcast(src=every, shape=shape)))
    return b.cast(b.value(same), dtype)
