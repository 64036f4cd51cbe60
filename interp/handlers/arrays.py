"""The grid, and what arrays know of themselves."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from tilewright.interp.arrays import ArrayRef, ArrayRefs, merge_arrays, quoted
from tilewright.interp.chunk import Regs, take
from tilewright.interp.formats import format_of
from tilewright.interp.lowering import Lowering, Step, impl, impl_step
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops import arrays


@impl_step(arrays.BlockId)
def block_id(op: arrays.BlockId, low: Lowering) -> Step:
    dst, axis = low.slot(op.result), op.axis

    def step(regs: Regs) -> None:
        regs[dst] = regs[0].ids[axis]
    return step


@impl_step(arrays.NumBlocks)
def num_blocks(op: arrays.NumBlocks, low: Lowering) -> Step:
    dst, axis = low.slot(op.result), op.axis

    def step(regs: Regs) -> None:
        regs[dst] = np.int32(regs[0].grid[axis])
    return step


@impl_step(arrays.LaunchedBlock)
def launched_block(op: arrays.LaunchedBlock, low: Lowering) -> Step:
    """Axis 0 counts fastest."""
    dst = low.slot(op.result)

    def step(regs: Regs) -> None:
        (x, y, z), (nx, ny, _) = regs[0].ids, regs[0].grid
        regs[dst] = x + np.int32(nx) * (y + np.int32(ny) * z)
    return step


@impl_step(arrays.LaunchedBlocks)
def launched_blocks(op: arrays.LaunchedBlocks, low: Lowering) -> Step:
    dst = low.slot(op.result)

    def step(regs: Regs) -> None:
        regs[dst] = np.int32(prod(regs[0].grid))
    return step


def _fact(op: Any, low: Lowering, read: Callable[[ArrayRef], Any]) -> Callable[[Any], Any]:
    """A number that each array of a value knows, in the dtype of the op's result."""
    number = format_of(op.result.type.dtype).held

    def closure(ref: Any) -> Any:
        if isinstance(ref, ArrayRefs):
            out = np.empty(ref.count, number)
            for one, blocks in ref.groups:
                out[blocks] = read(one)
            return out
        return np.asarray(read(ref)).astype(number)[()]

    if not low.varies(op.result):
        return closure

    def varying(ref: Any) -> Any:
        out = closure(ref)
        return out if out.ndim or not isinstance(ref, ArrayRef) else np.broadcast_to(out, (_count(ref),))
    return varying


def _count(ref: ArrayRef) -> int:
    """Number of blocks that a varying array is of."""
    return next(len(v) for v in (ref.offset, *ref.extents) if isinstance(v, np.ndarray))


@impl(arrays.Extent)
def extent(op: arrays.Extent, low: Lowering) -> Callable[[Any], Any]:
    return _fact(op, low, lambda ref: ref.extents[op.axis])


@impl(arrays.Stride)
def stride(op: arrays.Stride, low: Lowering) -> Callable[[Any], Any]:
    return _fact(op, low, lambda ref: ref.strides[op.axis] // ref.memory.itemsize)


@impl(arrays.AssumeDivisible)
def assume_divisible(op: arrays.AssumeDivisible, low: Lowering) -> Callable[[Any], Any]:
    return lambda x: x


def _wide(value: Any) -> Any:
    """A scalar operand as an int, or an int64 array over the chunk."""
    return value.astype(np.int64) if isinstance(value, np.ndarray) and value.ndim else int(value)


@impl(arrays.SliceArray)
def slice_array(op: arrays.SliceArray, low: Lowering) -> Callable[[Any, Any, Any], Any]:
    axis = op.axis

    def closure(ref: Any, start: Any, stop: Any) -> Any:
        start, stop = _wide(start), _wide(stop)
        if isinstance(ref, ArrayRef):
            return _sliced(ref, axis, start, stop)
        groups = []
        for one, blocks in ref.groups:
            first, last = (take(v, blocks) if isinstance(v, np.ndarray) else v for v in (start, stop))
            groups.append((_sliced(one, axis, first, last), blocks))
        return ArrayRefs(groups, ref.count)
    return closure


def _sliced(ref: ArrayRef, axis: int, start: Any, stop: Any) -> ArrayRef:
    """The view; bounds that the language excludes are the user's error (a GPU would read what lies there)."""
    extent = ref.extents[axis]
    wrong = (start < 0) | (stop < start) | (stop > extent)
    if np.any(wrong):
        first, last, n = (int(np.ravel(np.broadcast_to(v, np.shape(wrong)))[np.argmax(wrong)])
                          for v in (start, stop, extent))
        raise TileValueError(f"slice: {first}:{last} is no part of axis {axis} of {quoted(ref.name)}, which has {n} "
                             "elements", hints=["0 <= start <= stop <= a.shape[axis] must hold in each block"])
    return ref.sliced(axis, start, stop)


@impl(arrays.RawView)
def raw_view(op: arrays.RawView, low: Lowering) -> Callable[[Any], Any]:
    def closure(ref: Any) -> Any:
        if isinstance(ref, ArrayRef):
            return ref.raw()
        return ArrayRefs([(one.raw(), blocks) for one, blocks in ref.groups], ref.count)
    return closure


@impl(arrays.ListLength)
def list_length(op: arrays.ListLength, low: Lowering) -> Callable[[Any], Any]:
    return lambda items: np.int32(len(items))


@impl(arrays.ListItem)
def list_item(op: arrays.ListItem, low: Lowering) -> Callable[[Any, Any], Any]:
    def closure(items: list[ArrayRef], index: Any) -> Any:
        if not (isinstance(index, np.ndarray) and index.ndim):
            return items[min(max(int(index), 0), len(items) - 1)]  # outside is undefined, not a crash
        clipped = np.clip(index, 0, len(items) - 1)
        parts = [(items[int(k)], np.flatnonzero(clipped == k)) for k in np.unique(clipped)]
        return merge_arrays(parts, len(index))
    return closure
