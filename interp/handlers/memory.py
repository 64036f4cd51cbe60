"""Loads and stores of tiles, gathers and scatters, and the same for ops that copy tiles to and from shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.interp.access import TileGrid, TileRegion, each_array
from tilewright.interp.arrays import ArrayRef
from tilewright.interp.chunk import Chunk, Regs
from tilewright.interp.elements import ElementRegion
from tilewright.interp.formats import constant, format_of
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.memory import PLAIN
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
    dst, read = low.slot(op.result), tile_reader(op, low, low.varies(op.result))

    def step(regs: Regs) -> None:
        regs[dst] = read(regs)
    return step


def tile_reader(op: Any, low: Lowering, varies: bool) -> Callable[[Regs], Any]:
    """Reads the tile of an op that has the fields of a load: with an axis over blocks, if it varies."""
    dtype = op.array.type.dtype
    fmt = format_of(dtype)
    pad = padding_value(op.padding, dtype)
    poison = poison_value(dtype) if op.padding is PaddingMode.UNDETERMINED else pad
    # A view of memory stands for the tile only if nothing writes that memory while the tile lives.
    grid = TileGrid(op.order, op.shape, op.steps, fmt, views=fmt.plain and not low.overwritten(op.array))
    array, index = low.slot(op.array), low.slot_list(op.index)
    varying = [low.varies(i) for i in op.index]
    thin = low.thin.get(op.results[0]) if op.results else None

    def read(regs: Regs) -> Any:
        chunk: Chunk = regs[0]
        ref, padding = regs[array], poison if chunk.poison else pad
        places = [regs[i] for i in index]
        whole, everywhere = chunk, places
        if thin is not None:
            chunk, places = chunk.side(thin, places)
        memory = chunk.memory
        if (memory is PLAIN or memory.direct(op)) and isinstance(ref, ArrayRef):
            view = grid.view(ref, places, chunk, varies)
            if view is not None:
                return view if grid.views else view.copy() if fmt.plain else fmt.decode(view)
        starts = grid.starts(places)
        if isinstance(ref, ArrayRef):
            region = TileRegion(grid, ref, starts, chunk, None, varies, padding)
            if thin is None:
                return memory.read(region, op)
            return memory.share(
                region, lambda: TileRegion(grid, ref, grid.starts(everywhere), whole, None, varies, padding), op)
        out = np.empty((chunk.count, *grid.shape), fmt.held)
        for part, blocks, own in each_array(ref, starts, varying):
            where = slice(None) if blocks is None else blocks
            out[where] = memory.read(TileRegion(grid, part, own, chunk, blocks, True, padding), op)
        return out

    return read


@impl_step(memory.Store)
def store(op: memory.Store, low: Lowering) -> Step:
    source, write = low.slot(op.value), tile_writer(op, low, op.value.type.shape, low.varies(op.value))

    def step(regs: Regs) -> None:
        write(regs, regs[source])
    return step


def tile_writer(
    op: Any, low: Lowering, shape: tuple[int, ...], value_varies: bool
) -> Callable[[Regs, Any], None]:
    """Writes tiles for an op that has the fields of a store, from values that have an axis over blocks, or not."""
    grid = TileGrid(op.order, shape, op.steps, format_of(op.array.type.dtype))
    encode = grid.format.encode
    array, index = low.slot(op.array), low.slot_list(op.index)
    varying = [*(low.varies(i) for i in op.index), value_varies]
    place_varies = any(varying[:-1]) or low.varies(op.array)

    def write(regs: Regs, value: Any) -> None:
        chunk: Chunk = regs[0]
        if value_varies and not place_varies:
            value = value[-1]  # all blocks write one place: the last one stays
        if (chunk.memory is PLAIN or chunk.memory.direct(op)) and isinstance(regs[array], ArrayRef):
            view = grid.view(regs[array], [regs[i] for i in index], chunk, place_varies)
            if view is not None:
                view[...] = encode(value)
                return
        starts = grid.starts([regs[i] for i in index])
        for ref, blocks, (*own, part) in each_array(regs[array], [*starts, value], varying):
            chunk.memory.write(TileRegion(grid, ref, own, chunk, blocks, place_varies), part, op)

    return write


def tile_target(op: Any, low: Lowering) -> Callable[[Regs], Any]:
    """The memory that a store of a plain dtype overwrites, as a view; None where it is no view, or not to be had."""
    grid = TileGrid(op.order, op.value.type.shape, op.steps, format_of(op.array.type.dtype))
    array, index = low.slot(op.array), low.slot_list(op.index)
    place_varies = low.varies(op.array) or any(map(low.varies, op.index))

    def target(regs: Regs) -> Any:
        chunk, ref = regs[0], regs[array]
        if not isinstance(ref, ArrayRef) or place_varies != low.varies(op.value):
            return None
        if chunk.memory is not PLAIN and not chunk.memory.direct(op):
            return None
        return grid.view(ref, [regs[i] for i in index], chunk, place_varies)
    return target


def element_operands(op: Any, low: Lowering) -> tuple[tuple[int, ...], list[bool]]:
    """Slots and variation of the index operands, then the mask where there is one."""
    values = [*op.indices, *([op.mask] if op.mask is not None else [])]
    return low.slot_list(values), [low.varies(v) for v in values]


@impl_step(memory.Gather)
def gather(op: memory.Gather, low: Lowering) -> Step:
    dst, read = low.slot(op.result), element_reader(op, low, low.varies(op.result))

    def step(regs: Regs) -> None:
        regs[dst] = read(regs)
    return step


def element_reader(op: Any, low: Lowering, varies: bool) -> Callable[[Regs], Any]:
    """Reads the tile of an op that has the fields of a gather: with an axis over blocks, if it varies."""
    fmt = format_of(op.array.type.dtype)
    array, padding = low.slot_list((op.array, op.padding))
    slots, varying = element_operands(op, low)
    varying = [*varying, low.varies(op.padding)]
    n, shape, masked = len(op.indices), tuple(op.shape), op.mask is not None
    poison = poison_value(op.array.type.dtype) if getattr(op, "undetermined", False) else None

    def read(regs: Regs) -> Any:
        chunk: Chunk = regs[0]

        def one(ref: ArrayRef, blocks: Any, own: list[Any], varies: bool) -> Any:
            mask = own[n] if masked else None
            region = ElementRegion(ref, own[:n], mask, shape, fmt, chunk, blocks, varies, own[-1])
            return chunk.memory.read(region, op)

        held = regs[padding]
        if poison is not None and chunk.poison:
            held = np.full_like(held, poison)
        operands = [*(regs[s] for s in slots), held]
        ref = regs[array]
        if isinstance(ref, ArrayRef):
            return one(ref, None, operands, varies)
        out = np.empty((chunk.count, *shape), fmt.held)
        for part, blocks, own in each_array(ref, operands, varying):
            out[slice(None) if blocks is None else blocks] = one(part, blocks, own, True)
        return out

    return read


@impl_step(memory.Scatter)
def scatter(op: memory.Scatter, low: Lowering) -> Step:
    fmt = format_of(op.array.type.dtype)
    array, source = low.slot_list((op.array, op.value))
    slots, varying = element_operands(op, low)
    varying = [*varying, low.varies(op.value)]
    varies = any(varying) or low.varies(op.array)
    n, shape, masked = len(op.indices), tuple(op.shape), op.mask is not None

    def step(regs: Regs) -> None:
        chunk: Chunk = regs[0]
        operands = [*(regs[s] for s in slots), regs[source]]
        for ref, blocks, own in each_array(regs[array], operands, varying):
            mask = own[n] if masked else None
            region = ElementRegion(ref, own[:n], mask, shape, fmt, chunk, blocks, varies)
            chunk.memory.write(region, own[-1], op)

    return step
