"""A function over a batch: each array has an axis more, and a leading axis of the grid counts along it.

Before:

    %i: i32 = block_id(axis=0)
    %t: tile<16xf32> = load(array=%x, index=(%i), shape=(16), steps=(16), order=(0))

After, with the batch along axis 0 of %x:

    %b: i32 = block_id(axis=0)
    %i: i32 = block_id(axis=1)
    %w: tile<1x16xf32> = load(array=%x, index=(%b, %i), shape=(1, 16), steps=(1, 16), order=(0, 1))
    %t: tile<16xf32> = reshape(src=%w, shape=(16))

A grid of three axes has no room for one more: the batch then counts fastest within axis 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError, TileValueError
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arith import Add, Constant, FloorDiv, Mod
from tilewright.tileir.ops.arrays import BlockId, Extent, ListItem, ListLength, NumBlocks, RawView, SliceArray, Stride
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store
from tilewright.tileir.ops.shape import Broadcast, Reshape
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import ArrayType, TileType, Type


def batch(
    function: Function, axes: Mapping[int, int], types: Mapping[int, Type], *, name: str, batches: int | None = None
) -> Function:
    """Change a function into the one over a batch, in place; gives it.

    `axes`: of the parameters with a batch axis, that axis; `types`: their types with it, for a scalar that of an array
    of one axis. `batches`: how many there are, for a grid whose axis 0 counts batches and blocks.
    Raises TileValueError at a store that all batches do to the same elements, TileUnsupportedFeatureError at what takes
    an array through a branch or loop.
    """
    _check_stores(function, axes)
    _Batch(function, axes, types, batches).run()
    function.name = name
    return function


def _check_stores(function: Function, axes: Mapping[int, int]) -> None:
    dependences = Dependences(function)
    for op in function.walk():
        for memory in op.effects().writes if isinstance(op, Store | Scatter) else ():
            for position in dependences.parameters(memory) - axes.keys():
                raise TileValueError(
                    f"all batches write the same elements of {function.params[position].hint!r}, which has no batch "
                    "axis", op.span, hints=["give it one: an output needs an element of its own for each batch"])


class _Batch:
    def __init__(
        self, function: Function, axes: Mapping[int, int], types: Mapping[int, Type], batches: int | None
    ) -> None:
        self.function = function
        self.batches = batches
        self.top = Builder(Block(), function.span)
        self.axis: dict[Value, int] = {}
        self.number, self.first = self._numbers()
        scalars = {}
        for position, axis in axes.items():
            param, scalar = function.params[position], isinstance(function.params[position].type, TileType)
            param.become(types[position])
            if scalar:
                scalars[param] = self._element(param)
            else:
                self.axis[param] = axis
        for op in function.walk() if scalars else ():
            op.replace_operands(scalars)

    def _numbers(self) -> tuple[Value, Value | None]:
        """The number of the batch, and of the block along axis 0 where both are one axis of the grid."""
        along = self.top.value(BlockId(axis=0), "batch")
        if self.batches is None:
            return along, None
        count = self.top.number(self.batches)
        return self.top.value(Mod(lhs=along, rhs=count), "batch"), self.top.value(FloorDiv(lhs=along, rhs=count))

    def _element(self, param: Value) -> Value:
        """A scalar of the batch."""
        tile = self.top.value(Load(array=param, index=(self.number,), shape=(1,), steps=(1,), order=(0,)))
        return self.top.value(Reshape(src=tile, shape=()), param.hint)

    def run(self) -> None:
        rewrite(self.function, self._rule)
        self.function.body.ops[:0] = self.top.block.ops

    def _rule(self, r: Rewriter, op: Any) -> None:
        match op:
            case BlockId():
                r.replace(op.result, self._block_id(r, op))
            case NumBlocks():
                r.replace(op.result, self._num_blocks(r, op))
            case _ if any(v in self.axis for v in op.operands):
                self._access(r, op)
            case _:
                r.keep(op)

    def _block_id(self, r: Rewriter, op: BlockId) -> Value:
        if self.first is not None:
            return self.first if op.axis == 0 else r.value(BlockId(axis=op.axis))
        return r.value(BlockId(axis=op.axis + 1)) if op.axis < 2 else r.number(0)

    def _num_blocks(self, r: Rewriter, op: NumBlocks) -> Value:
        if self.batches is not None:
            size = r.value(NumBlocks(axis=op.axis))
            return size if op.axis else r.value(FloorDiv(lhs=size, rhs=r.number(self.batches)))
        return r.value(NumBlocks(axis=op.axis + 1)) if op.axis < 2 else r.number(1)

    def _access(self, r: Rewriter, op: Any) -> None:
        match op:
            case Load():
                tile = r.value(self._with(op, shape=(1, *op.shape)))
                r.replace(op.result, r.value(Reshape(src=tile, shape=op.shape)))
            case Store():
                value = r.value(Reshape(src=op.value, shape=(1, *op.value.type.shape)))
                r.emit(self._with(op, value=value))
            case Gather() | Scatter() | Atomic():
                r.keep(self._indexed(r, op))
            case Extent() | Stride():
                op.axis = self._moved(op.array, op.axis)
                r.keep(op)
            case ListItem():
                self.axis[op.result] = self.axis[op.list]
                op.result.become(op.list.type.element)
                r.keep(op)
            case ListLength():
                r.keep(op)
            case SliceArray():
                r.keep(self._slice(op))
            case RawView():
                r.keep(self._raw(r, op))
            case _:
                raise _through(op)

    def _with(self, op: Any, **changed: Any) -> Op:
        """A load or store whose first axis is the batch."""
        axis = self.axis[op.array]
        order = (axis, *(self._moved(op.array, k) for k in op.order))
        fields = {name: getattr(op, name) for name in op.fields}
        fields |= {"index": (self.number, *op.index), "steps": (1, *op.steps), "order": order}
        made: Op = type(op)(**{**fields, **changed}, span=op.span)
        return made

    def _indexed(self, r: Rewriter, op: Any) -> Op:
        index = self.number if not op.shape else r.value(Broadcast(src=self.number, shape=op.shape))
        axis = self.axis[op.array]
        op.indices = (*op.indices[:axis], index, *op.indices[axis:])
        kept: Op = op
        return kept

    def _moved(self, array: Value, axis: int) -> int:
        """An axis of the array in the array with the batch."""
        return axis if axis < self.axis[array] else axis + 1

    def _slice(self, op: SliceArray) -> Op:
        axis = self.axis[op.result] = self.axis[op.array]
        op.axis = self._moved(op.array, op.axis)
        op.type = _inserted(op.type, op.array.type, axis)
        op.result.become(op.type)
        return op

    def _raw(self, r: Rewriter, op: RawView) -> Op:
        """The memory from the first element of this batch on."""
        axis, whole = self.axis[op.array], op.array.type
        end = r.value(Add(lhs=self.number, rhs=r.value(Constant(value=1, type=TileType(int32)))))
        one = replace(whole, extents=_put(whole.extents, axis, None), extent_div=_put(whole.extent_div, axis, 1),
                      align=op.type.align)
        op.array = r.value(SliceArray(array=op.array, start=self.number, stop=end, axis=axis, type=one))
        return op


def _through(op: Op) -> TileUnsupportedFeatureError:
    what = "a branch or loop" if op.terminator or op.blocks else op.opcode
    return TileUnsupportedFeatureError(
        f"vmap cannot follow an array with a batch axis through {what}", op.span,
        hints=["access the array itself, or give it no batch axis (in_axes)"])


def _put(values: tuple[Any, ...], axis: int, value: Any) -> tuple[Any, ...]:
    return (*values[:axis], value, *values[axis + 1:])


def _inserted(view: ArrayType, whole: ArrayType, axis: int) -> ArrayType:
    """The type of a view with the batch axis of the array that it is a view of."""
    def with_axis(values: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*values[:axis], more[axis], *values[axis:])

    return replace(
        view, extents=with_axis(view.extents, whole.extents), strides=with_axis(view.strides, whole.strides),
        extent_div=with_axis(view.extent_div, whole.extent_div),
        stride_div=with_axis(view.stride_div, whole.stride_div), disjoint=view.disjoint and whole.disjoint,
        small=view.small and whole.small)
