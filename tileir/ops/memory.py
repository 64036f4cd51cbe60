"""Loads and stores of tiles, gathers and scatters."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.core import Op, Value, attribute, operand, operands, optional_operand, require
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode
from tilewright.tileir.ops.arrays import array_of, check_index
from tilewright.tileir.types import TileType, Type


def check_tile_access(op: Any, shape: tuple[int, ...]) -> None:
    """What load and store share: ranks agree, `order` is a permutation, indices are integer scalars."""
    array = array_of(op.opcode, op.array)
    ranks = {len(shape), len(op.index), len(op.order), len(op.steps), array.rank}
    message = f"{op.opcode}: the array has rank {array.rank}, the index {len(op.index)}, the tile {len(shape)}"
    require(len(ranks) == 1, message)
    require(sorted(op.order) == list(range(array.rank)), f"{op.opcode}: order {op.order} is not a permutation")
    check_index(op.opcode, *op.index)


def check_order(op: Any, *orders: MemoryOrder) -> None:
    """A weak access has no scope; one that is ordered towards other blocks, by one of `orders`, says how far."""
    order, scope = op.memory_order, op.memory_scope
    require(order in orders, f"{op.opcode}: the order cannot be {order.value}")
    if order is MemoryOrder.WEAK:
        require(scope is MemoryScope.NONE, f"{op.opcode}: a weak access has no scope, but here it is {scope.value}")
    else:
        allowed = (MemoryScope.BLOCK, MemoryScope.DEVICE, MemoryScope.SYS)
        require(scope in allowed, f"{op.opcode}: the order {order.value} needs a scope of block, device or sys, "
                f"but it is {scope.value}")


class TileAccess(Op):
    """What load and store share: where in which array a tile lies."""

    array: Value = operand()
    index: tuple[Value, ...] = operands()
    steps: tuple[int, ...]
    order: tuple[int, ...]
    check_bounds: bool
    allow_tma: bool | None
    memory_order: MemoryOrder

    @property
    def tile(self) -> Value:
        """The value that is loaded or stored."""
        raise NotImplementedError(self.opcode)


class Load(TileAccess, opcode="load", reads="array"):
    """A tile of an array. With P = the array with axis k of P being axis order[k] of the array:
    result[e] = P[index * steps + e] for e in shape. `steps` is the tile's shape unless a tiled view says otherwise.

    Elements outside the array take the padding; `check_bounds=False` promises there are none. The language does not
    allow indices below zero nor tiles wholly outside; executors give padding there, too.
    `latency` (1..10) and `allow_tma` are hints. `index` has one integer scalar per axis, in the order of P.
    """

    shape: tuple[int, ...] = attribute()
    steps: tuple[int, ...] = attribute()
    order: tuple[int, ...] = attribute()
    padding: PaddingMode = attribute(default=PaddingMode.UNDETERMINED, enum=PaddingMode)
    check_bounds: bool = attribute(default=True)
    latency: int | None = attribute(default=None)
    allow_tma: bool | None = attribute(default=None)
    memory_order: MemoryOrder = attribute(default=MemoryOrder.WEAK, enum=MemoryOrder)
    memory_scope: MemoryScope = attribute(default=MemoryScope.NONE, enum=MemoryScope)

    @property
    def tile(self) -> Value:
        return self.result

    def infer(self) -> tuple[Type, ...]:
        check_tile_access(self, self.shape)
        check_order(self, MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.ACQUIRE)
        return (TileType(self.array.type.dtype, self.shape),)


class Store(TileAccess, opcode="store", writes="array"):
    """Write a tile into an array, at the place that `load` with the same fields reads. Outside elements are skipped."""

    value: Value = operand()
    steps: tuple[int, ...] = attribute()
    order: tuple[int, ...] = attribute()
    check_bounds: bool = attribute(default=True)
    latency: int | None = attribute(default=None)
    allow_tma: bool | None = attribute(default=None)
    memory_order: MemoryOrder = attribute(default=MemoryOrder.WEAK, enum=MemoryOrder)
    memory_scope: MemoryScope = attribute(default=MemoryScope.NONE, enum=MemoryScope)

    @property
    def tile(self) -> Value:
        return self.value

    def check(self) -> None:
        check_tile_access(self, self.value.type.shape)
        check_order(self, MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.RELEASE)
        array = self.array.type
        have = self.value.type.dtype
        require(have is array.dtype, f"store: a {have} tile into a {array.dtype} array")


def check_gather(op: Any) -> tuple[int, ...]:
    """What gather, scatter and atomics share; the common shape of the indices."""
    array = array_of(op.opcode, op.array)
    require(len(op.indices) == array.rank, f"{op.opcode}: {len(op.indices)} indices for an array of rank {array.rank}")
    shape: tuple[int, ...] = op.shape
    for i in op.indices:
        require(i.type.dtype.is_int, f"{op.opcode}: indices must be integers, not {i.type.dtype}")
        require(i.type.shape == shape, f"{op.opcode}: index shapes differ: {i.type.shape} and {shape}")
    if op.mask is not None:
        mask = op.mask.type
        require(mask.erased() == TileType(bool_, shape), f"{op.opcode}: mask of type {mask} for shape {shape}")
    return shape


class Gather(Op, opcode="gather", reads="array"):
    """result[e] = array[indices[0][e], indices[1][e], ...]; `padding[e]` where the mask is False or, with
    `check_bounds`, any index is negative or past the end. `shape` is the shape of every index tile.

    `undetermined`: the user may not rely on the padding; executors give it all the same."""

    array: Value = operand()
    indices: tuple[Value, ...] = operands()
    mask: Value | None = optional_operand()
    padding: Value = operand()
    shape: tuple[int, ...] = attribute()
    check_bounds: bool = attribute(default=True)
    latency: int | None = attribute(default=None)
    undetermined: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        result = TileType(array_of("gather", self.array).dtype, check_gather(self))
        require(self.padding.type.erased() == result, f"gather: padding of type {self.padding.type}, expected {result}")
        return (result,)


class Scatter(Op, opcode="scatter", writes="array"):
    """array[indices...] = value where the mask is True and, with `check_bounds`, every index is inside.

    Of elements with equal indices one wins, unspecified which.
    """

    array: Value = operand()
    indices: tuple[Value, ...] = operands()
    value: Value = operand()
    mask: Value | None = optional_operand()
    shape: tuple[int, ...] = attribute()
    check_bounds: bool = attribute(default=True)
    latency: int | None = attribute(default=None)

    def check(self) -> None:
        wanted = TileType(array_of("scatter", self.array).dtype, check_gather(self))
        require(self.value.type.erased() == wanted, f"scatter: value of type {self.value.type}, expected {wanted}")
