"""Adjoints of memory accesses: a store reads the cotangent, a load adds to the gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.tileir.core import Value
from tilewright.tileir.derivatives.emitter import block_number
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import ADJOINTS, adjoint, constant, refusal
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode
from tilewright.tileir.ops import arrays
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store
from tilewright.tileir.types import ArrayType, TileType

for _op in (arrays.BlockId, arrays.NumBlocks, arrays.LaunchedBlock, arrays.LaunchedBlocks, arrays.Extent,
            arrays.Stride, arrays.AssumeDivisible, arrays.SliceArray, arrays.RawView, arrays.ListLength,
            arrays.ListItem):
    ADJOINTS.add(_op, constant)


def twin(array: Value, of: Mapping[Value, Value], r: Reverse, op: Any) -> Value | None:
    """The same place in the array that belongs to the parameter an array value stands for; None where none does."""
    made = array.op
    if made is None:
        return of.get(array)
    if isinstance(made, arrays.ListItem):
        whole = twin(made.list, of, r, op)
        return None if whole is None else r.b.value(arrays.ListItem(list=whole, index=r.now(made.index)))
    whole = twin(made.operands[0], of, r, op)
    if whole is None:
        return None
    if not isinstance(made, arrays.SliceArray):
        raise refusal(op, "it reads or writes an array whose place in its parameter is not known",
                      hint="load from the parameter itself, or from a slice of it")
    return r.b.value(arrays.SliceArray(
        array=whole, start=r.now(made.start), stop=r.now(made.stop), axis=made.axis,
        type=_sliced(made.type, whole.type)))


def _sliced(view: ArrayType, whole: ArrayType) -> ArrayType:
    """The type of the view in another array of the same extents."""
    return ArrayType(
        whole.dtype, view.extents, whole.strides, view.extent_div, whole.stride_div, disjoint=whole.disjoint,
        small=whole.small, index=whole.index)


# ---- outputs: cotangents come in


@ADJOINTS.register(Store)
def store(op: Store, r: Reverse) -> None:
    array = twin(op.array, r.cotangents, r, op)
    if array is not None and r.wants(op.value):
        index = tuple(r.now(i) for i in op.index)
        r.give(op.value, r.b.value(Load(
            array=array, index=index, shape=op.value.type.shape, steps=op.steps, order=op.order,
            padding=PaddingMode.ZERO, check_bounds=op.check_bounds, latency=op.latency, allow_tma=op.allow_tma)))


@ADJOINTS.register(Scatter, AtomicRmw)
def scatter(op: Any, r: Reverse) -> None:
    """Of elements that are added to others the adjoint is the same as of those that are stored."""
    array = twin(op.array, r.cotangents, r, op)
    if array is None or not r.wants(op.value):
        return
    if isinstance(op, AtomicRmw) and op.kind != "add":
        raise refusal(op, f"atomic_{op.kind} hands on no derivative")
    zero = r.b.constant(0.0, TileType(array.type.dtype, op.shape))
    mask = None if op.mask is None else r.now(op.mask)
    r.give(op.value, r.b.value(Gather(
        array=array, indices=tuple(r.now(i) for i in op.indices), mask=mask, padding=zero, shape=op.shape,
        check_bounds=op.check_bounds)))


# ---- inputs: gradients go out


@adjoint(Load)
def load(op: Load, g: Value, r: Reverse) -> None:
    array = twin(op.array, r.gradients, r, op)
    if array is None:
        return
    g = r.b.cast(g, array.type.dtype)
    index = tuple(r.now(i) for i in op.index)
    if r.by_tiles:
        r.b.emit(Store(array=array, index=index, value=g, steps=op.steps, order=op.order, check_bounds=op.check_bounds))
        return
    apart = _parameter(op.array) in r.apart
    if op.array in r.parts and not apart:
        _add_part(op, index, g, r)
        return
    if not apart:
        _add(r, array, _elements(op, index, array.type, r), g, None, op.check_bounds)
        return
    place: dict[str, Any] = {"array": array, "index": index, "steps": op.steps, "order": op.order,
                             "check_bounds": op.check_bounds}
    if _parameter(op.array) not in r.alone:
        g = r.b.add(r.b.value(Load(shape=op.shape, padding=PaddingMode.ZERO, **place)), g)
    r.b.emit(Store(value=g, **place))


def _parameter(array: Value) -> Value:
    """The parameter that an array is, or that it is a slice of."""
    return array.op.array if isinstance(array.op, arrays.SliceArray) else array


def _add_part(op: Load, index: tuple[Value, ...], g: Value, r: Reverse) -> None:
    """Add to the block's own partial gradient: in the order of its accesses, whatever other blocks do."""
    parts, b = r.parts[op.array], r.b
    place: dict[str, Any] = {
        "array": parts, "index": (b.cast(block_number(b), index[0].type.dtype) if index else block_number(b), *index),
        "steps": (1, *op.steps), "order": (0, *(axis + 1 for axis in op.order)), "check_bounds": op.check_bounds}
    shape = (1, *op.shape)
    before = b.value(Load(shape=shape, padding=PaddingMode.ZERO, **place))
    b.emit(Store(value=b.add(before, b.reshape(b.cast(g, parts.type.dtype), shape)), **place))


def _elements(op: Load, index: tuple[Value, ...], array: ArrayType, r: Reverse) -> tuple[Value, ...]:
    """The indices of all elements of a loaded tile, per axis of the array."""
    out = list(index)
    for k, axis in enumerate(op.order):
        start = r.b.cast(index[k], array.index)
        first = r.b.mul(start, r.b.like(start, op.steps[k]))
        out[axis] = r.b.add(r.b.spread(first, op.shape), r.b.positions(op.shape, k, array.index)) if op.shape else first
    return tuple(out)


@adjoint(Gather)
def gather(op: Gather, g: Value, r: Reverse) -> None:
    if r.wants(op.padding):
        raise refusal(op, "the padding of a gather has no derivative yet", hint="choose with where behind the gather")
    array = twin(op.array, r.gradients, r, op)
    if array is None:
        return
    mask = None if op.mask is None else r.now(op.mask)
    indices, g = tuple(r.now(i) for i in op.indices), r.b.cast(g, array.type.dtype)
    if _parameter(op.array) not in r.apart:
        _add(r, array, indices, g, mask, op.check_bounds)
        return
    place: dict[str, Any] = {
        "array": array, "indices": indices, "mask": mask, "shape": op.shape, "check_bounds": op.check_bounds}
    if _parameter(op.array) not in r.alone:
        g = r.b.add(r.b.value(Gather(padding=r.b.like(g, 0.0), **place)), g)
    r.b.emit(Scatter(value=g, **place))


def _add(r: Reverse, array: Value, indices: tuple[Value, ...], value: Value, mask: Value | None, check: bool) -> None:
    r.b.emit(AtomicRmw(
        array=array, indices=indices, mask=mask, value=value, kind="add", shape=value.type.shape, check_bounds=check,
        memory_order=MemoryOrder.RELAXED, memory_scope=MemoryScope.DEVICE))
