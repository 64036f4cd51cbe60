"""Loads and stores of tiles, gathers and scatters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.access import TileGrid, each_array, region
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.formats import constant, format_of
from tilewright.interp.hazards import roots
from tilewright.interp.lowering import Lowering, Step
from tilewright.interp.registry import impl_step
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import memory

_PADDING = {
    PaddingMode.UNDETERMINED: 0.0, PaddingMode.ZERO: 0.0, PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: float("nan"),
    PaddingMode.POS_INF: float("inf"), PaddingMode.NEG_INF: float("-inf"),
}


def padding_value(mode: PaddingMode, dtype: DType) -> Any:
    """The held scalar for elements outside; integers, which have neither infinities nor NaN, get 0."""
    return constant(_PADDING[mode], dtype) if dtype.is_float else format_of(dtype).held.type(0)


def poison_value(dtype: DType) -> Any:
    """What undetermined padding holds in poison mode."""
    if dtype.is_float:
        return constant(float("nan"), dtype)
    return np.full(8, 0x5A, np.uint8).view(format_of(dtype).held)[0] if not dtype.is_bool else np.True_


@impl_step(memory.Load)
def load(op: memory.Load, low: Lowering) -> Step:
    grid = TileGrid(op.order, op.shape, op.steps)
    dtype = op.array.type.dtype
    fmt = format_of(dtype)
    array, dst = low.slot(op.array), low.slot(op.result)
    index = low.slot_list(op.index)
    varying = [low.varies(i) for i in op.index]
    varies = low.varies(op.result)
    pad = padding_value(op.padding, dtype)
    poison = poison_value(dtype) if op.padding is PaddingMode.UNDETERMINED else pad
    # A view of memory stands for the tile only if nothing writes that memory while the tile lives.
    view = fmt.plain and not low.copied.intersection(roots(op.array, low.function))

    def fill(count: int | None, chunk: Chunk) -> Any:
        shape = grid.shape if count is None else (count, *grid.shape)
        return np.full(shape, poison if chunk.poison else pad, fmt.held)

    def one(ref: ArrayRef, starts: list[Any], count: int | None, chunk: Chunk) -> Any:
        out: Any = None
        for blocks, box in grid.parts(starts, ref):
            tiles = fmt.decode(region(grid, ref, starts, blocks, box, count).read())
            if blocks is None and box == grid.whole:
                return tiles if view or not fmt.plain else tiles.copy()
            if out is None:
                out = fill(count, chunk)
            out[box if count is None else (slice(None) if blocks is None else blocks, *box)] = tiles
        return fill(count, chunk) if out is None else out

    def step(regs: Regs) -> None:
        chunk = regs[0]
        starts = grid.starts([regs[i] for i in index])
        ref = regs[array]
        if isinstance(ref, ArrayRef):
            regs[dst] = one(ref, starts, chunk.count if varies else None, chunk)
            return
        out = np.empty((chunk.count, *grid.shape), fmt.held)
        for part, blocks, own in each_array(ref, starts, varying):
            n = chunk.count if blocks is None else len(blocks)
            out[slice(None) if blocks is None else blocks] = one(part, own, n, chunk)
        regs[dst] = out

    return step


@impl_step(memory.Store)
def store(op: memory.Store, low: Lowering) -> Step:
    shape = op.value.type.shape
    grid = TileGrid(op.order, shape, op.steps)
    encode = format_of(op.array.type.dtype).encode
    array, source = low.slot(op.array), low.slot(op.value)
    index = low.slot_list(op.index)
    value_varies = low.varies(op.value)
    varying = [*(low.varies(i) for i in op.index), value_varies]
    place_varies = any(varying[:-1]) or low.varies(op.array)

    def one(ref: ArrayRef, starts: list[Any], value: Any, count: int | None) -> None:
        if value_varies and count is None:
            value = value[-1]  # all blocks write one place: the last one stays
        batched = value_varies and count is not None
        for blocks, box in grid.parts(starts, ref):
            part = value
            if box != grid.whole or blocks is not None:
                part = value[(slice(None) if blocks is None else blocks, *box) if batched else box]
            region(grid, ref, starts, blocks, box, count).write(encode(part))

    def step(regs: Regs) -> None:
        count = regs[0].count if place_varies else None
        starts = grid.starts([regs[i] for i in index])
        for ref, blocks, own in each_array(regs[array], [*starts, regs[source]], varying):
            one(ref, own[:-1], own[-1], count if blocks is None else len(blocks))

    return step


class Points:
    """Element positions of a gather or scatter in one array.

    Indices are always checked: where the kernel asks for no bounds check, an index outside is undefined, and it must
    not reach other memory.
    """

    __slots__ = ("line", "places", "valid")

    def __init__(self, ref: ArrayRef, indices: list[Any], mask: Any, rank: int) -> None:
        """`valid` is None where every element is inside the array and unmasked, else a bool tile."""
        def over_tile(value: Any) -> Any:
            return value.reshape(-1, *(1,) * rank) if isinstance(value, np.ndarray) else value

        valid = mask
        offset = over_tile(ref.offset)
        for i, index in enumerate(indices):
            extent = over_tile(ref.extents[i])
            if not _within(index, extent):
                inside = (index >= 0) & (index < extent)
                valid = inside if valid is None else valid & inside
            offset = offset + np.asarray(index).astype(np.int64) * ref.strides[i]
        self.valid = valid
        self.line = ref.line
        self.places = np.asarray(offset // ref.unit)


def _within(index: Any, extent: Any) -> bool:
    """Are all indices inside 0..extent-1?"""
    index = np.asarray(index)
    if isinstance(extent, np.ndarray):
        return bool(np.all((index >= 0) & (index < extent)))
    return not index.size or bool(index.min() >= 0 and index.max() < extent)


def _points_of(op: Any, low: Lowering) -> tuple[tuple[int, ...], list[bool]]:
    """Slots and variation of the index operands, then the mask where there is one."""
    values = [*op.indices, *([op.mask] if op.mask is not None else [])]
    return low.slot_list(values), [low.varies(v) for v in values]


@impl_step(memory.Gather)
def gather(op: memory.Gather, low: Lowering) -> Step:
    fmt = format_of(op.array.type.dtype)
    array, padding, dst = low.slot_list((op.array, op.padding, op.result))
    slots, varying = _points_of(op, low)
    rank, n = len(op.shape), len(op.indices)
    pad_varies, varies = low.varies(op.padding), low.varies(op.result)
    shape = tuple(op.shape)

    def one(ref: ArrayRef, own: list[Any], count: int | None) -> Any:
        points = Points(ref, own[:n], own[n] if len(own) > n + 1 else None, rank)
        full = shape if count is None else (count, *shape)
        if not len(points.line):
            return np.broadcast_to(own[-1], full)
        out = fmt.decode(points.line.take(points.places, mode="clip"))
        if points.valid is not None:
            out = np.where(points.valid, out, own[-1])
        return out if np.shape(out) == full else np.broadcast_to(out, full)

    def step(regs: Regs) -> None:
        count = regs[0].count if varies else None
        operands = [*(regs[s] for s in slots), regs[padding]]
        ref = regs[array]
        if isinstance(ref, ArrayRef):
            regs[dst] = one(ref, operands, count)
            return
        out = np.empty((regs[0].count, *shape), fmt.held)
        for part, blocks, own in each_array(ref, operands, [*varying, pad_varies]):
            m = regs[0].count if blocks is None else len(blocks)
            out[slice(None) if blocks is None else blocks] = one(part, own, m)
        regs[dst] = out

    return step


@impl_step(memory.Scatter)
def scatter(op: memory.Scatter, low: Lowering) -> Step:
    encode = format_of(op.array.type.dtype).encode
    array, source = low.slot_list((op.array, op.value))
    slots, varying = _points_of(op, low)
    rank, n = len(op.shape), len(op.indices)
    varying = [*varying, low.varies(op.value)]
    any_varies = any(varying) or low.varies(op.array)
    shape = tuple(op.shape)

    def one(ref: ArrayRef, own: list[Any], count: int | None) -> None:
        points = Points(ref, own[:n], own[n] if len(own) > n + 1 else None, rank)
        if not len(points.line):
            return
        full = shape if count is None else (count, *shape)
        places = np.broadcast_to(points.places, full)
        value = np.broadcast_to(own[-1], full)
        if points.valid is not None:
            valid = np.broadcast_to(points.valid, full)
            places, value = places[valid], value[valid]
        # ascontiguousarray makes an axis where there is none.
        points.line[places] = encode(np.ascontiguousarray(value)).reshape(places.shape)

    def step(regs: Regs) -> None:
        count = regs[0].count if any_varies else None
        operands = [*(regs[s] for s in slots), regs[source]]
        for ref, blocks, own in each_array(regs[array], operands, varying):
            one(ref, own, count if blocks is None else len(blocks))

    return step
