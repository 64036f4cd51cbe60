"""A builder with the arithmetic that adjoints are written in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.tileir.analysis.floats import round_to
from tilewright.tileir.builder import Builder, OpT
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import DType, float32
from tilewright.tileir.ops.arith import Add, Compare, Constant, Div, Mul, Select, Sub
from tilewright.tileir.ops.arrays import BlockId, NumBlocks
from tilewright.tileir.ops.math import Neg
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.reduce import ReduceSum
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType


def adjoint_dtype(dtype: DType) -> DType:
    """The dtype of the adjoints of such values: their own, and float32 for those that nothing is computed with."""
    return dtype if dtype.arithmetic else float32


def adjoint_type(type_: TileType) -> TileType:
    """The type of the adjoint of a tile."""
    return TileType(adjoint_dtype(type_.dtype), type_.shape)


class Emitter(Builder):
    """Appends ops to a block; each call gives the new value. `made` has all of them, but not what `replay` copies."""

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.made: set[Op] = set()

    def emit(self, op: OpT, hint: str = "") -> OpT:
        self.made.add(op)
        return super().emit(op, hint)

    def add(self, lhs: Value, rhs: Value) -> Value:
        return self.value(Add(lhs=lhs, rhs=rhs))

    def sum_of(self, before: Value, made: Value) -> Value:
        """The sum of two adjoints; a product that has just been made, and that nothing else uses, is accumulated on the
        other one."""
        op = made.op
        if not isinstance(op, Mma) or op not in self.block.ops or not _is_zero(op.acc) or (
                before.op is not None and before.op in self.block.ops[self.block.ops.index(op) :]):
            return self.add(before, made)
        if any(made in other.operands for other in _nested(self.block.ops[self.block.ops.index(op) + 1 :])):
            return self.add(before, made)
        op.acc = before
        return made

    def sum_early(self, before: Value, made: Value) -> Value:
        """`sum_of`, of a sum from around the block, as soon as the other adjoint is there: what it came from need not
        be kept until the block's end."""
        last = self.block.ops[-1] if self.block.ops else None
        total = self.sum_of(before, made)
        ops = self.block.ops
        if made.op in ops and ops[-1] is not last:
            ops.insert(ops.index(made.op) + 1, ops.pop())
        return total

    def sub(self, lhs: Value, rhs: Value) -> Value:
        return self.value(Sub(lhs=lhs, rhs=rhs))

    def mul(self, lhs: Value, rhs: Value) -> Value:
        return self.value(Mul(lhs=lhs, rhs=rhs))

    def div(self, lhs: Value, rhs: Value) -> Value:
        return self.value(Div(lhs=lhs, rhs=rhs))

    def neg(self, value: Value) -> Value:
        return self.value(Neg(src=value))

    def select(self, cond: Value, lhs: Value, rhs: Value) -> Value:
        return self.value(Select(cond=cond, lhs=lhs, rhs=rhs))

    def compare(self, op: type[Compare], lhs: Value, rhs: Value) -> Value:
        return self.value(op(lhs=lhs, rhs=rhs))

    def constant(self, number: float, type_: TileType) -> Value:
        """A tile of one number, rounded to its dtype."""
        exact = round_to(float(number), type_.dtype) if type_.dtype.is_float else int(number)
        return self.value(Constant(value=exact, type=TileType(type_.dtype, type_.shape)))

    def like(self, value: Value, number: float) -> Value:
        """The number as a tile of the value's type."""
        return self.constant(number, value.type)

    def scaled(self, value: Value, number: float) -> Value:
        """The value times a number; what is repeated is multiplied once."""
        if isinstance(value.op, Broadcast):
            return self.spread(self.scaled(value.op.src, number), value.type.shape)
        return self.mul(value, self.like(value, number))

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        return value if value.type.shape == shape else self.value(Reshape(src=value, shape=shape))

    def spread(self, value: Value, shape: Sequence[int]) -> Value:
        """The value repeated along its axes of length 1, or a scalar along all."""
        shape = tuple(shape)
        return value if value.type.shape == shape else self.value(Broadcast(src=value, shape=shape))

    def sum(self, value: Value, axes: Sequence[int]) -> Value:
        return self.value(ReduceSum(src=value, axes=tuple(axes))) if axes else value

    def positions(self, shape: Sequence[int], axis: int, dtype: DType) -> Value:
        """A tile of the shape, each element being its position along the axis."""
        line = [1] * len(shape)
        line[axis] = shape[axis]
        return self.spread(self.reshape(self.value(Iota(size=shape[axis], dtype=dtype)), line), shape)


def _is_zero(value: Value) -> bool:
    return isinstance(value.op, Constant) and value.op.value == 0


def _nested(ops: Sequence[Op]) -> Iterator[Op]:
    """The ops, and those of their bodies."""
    for op in ops:
        yield op
        for block in op.blocks:
            yield from block.walk()


def block_number(b: Emitter) -> Value:
    """The number of this block in the grid, the first axis varying fastest."""
    block = b.value(BlockId(axis=2))
    for axis in (1, 0):
        block = b.add(b.mul(block, b.value(NumBlocks(axis=axis))), b.value(BlockId(axis=axis)))
    return block
