"""Prefetch loads that stand below a cross-warp shuffle into shared memory, together with the loads above it.

    before: %x: tile<1x16384xbf16, #0> = load(array=%rows, index=(%i, %zero), ...)
            ... the sum of %x over all warps ...
            %w: tile<16384xbf16, #1> = load(array=%weight, index=(%zero), ...)
            ... %x * %scale * %w ...
    after:  %x: tile<1x16384xbf16, #0> = load(array=%rows, index=(%i, %zero), ...)
            async_load(buffer=%weight_early, array=%weight, index=(%zero), ...)
            async_commit()
            ... the sum of %x over all warps ...
            async_wait()
            %w: tile<16384xbf16, #1> = shared_load(buffer=%weight_early)
            ... %x * %scale * %w ...

The copies take no registers, and every thread reads what it copied itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.matrices import ring_layout, widest_copy
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.layouts.queries import is_replicated, vector_along
from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.passes.pipelining.addresses import early
from tilewright.backend_ptx.passes.pressure.bodies import Body
from tilewright.tileir.analysis.recurrences import computed
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.uses import replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.types import SharedType

WIDE = 16  # bytes per copy that pay


class Prefetch:
    """The loads of a body below a cross-warp shuffle that may start right after the last load of the first phase, in
    program order, with the ops that compute where they read: these are hoisted above the copies."""

    def __init__(self, body: Body, movable: Collection[Op], unit: Unit) -> None:
        self.block, ops = body.block, body.block.ops
        tiles = (i for i, op in enumerate(ops) if isinstance(op, Load) and op.shape and body.phase[op] == 0)
        place = max(tiles, default=len(ops)) + 1
        self.above, self.below = ops[:place], ops[place:]
        self.loads: dict[Load, Sequence[Op]] = {}
        for op in self.below:
            if isinstance(op, Load) and op in movable and body.phase[op] > 0 and _is_copyable(op):
                found = computed(Block(ops=self.below), [op.array, *op.index], early(unit))
                if found is not None:
                    self.loads[op] = found.ops

    def emit(self, loads: Sequence[Load]) -> None:
        """Copies at the place; a wait and reads from shared memory where the loads were."""
        hoisted = set[Op]().union(*(self.loads[load] for load in loads))
        self.block.ops = [*self.above, *(op for op in self.below if op in hoisted)]
        b = Builder(self.block)
        buffers = _start(b, loads)
        read: dict[Value, Value] = {}
        for op in self.below:
            if op in buffers:
                with b.at(op.span):
                    if op is loads[0]:
                        b.emit(AsyncWait())
                    tile = SharedLoad(buffer=buffers[op], slot=None, index=(), shape=op.result.type.shape)
                    read[op.result] = b.value(tile, op.result.hint).retype(op.result.type)
            elif op not in hoisted:
                replace_everywhere(op, read)
                self.block.ops.append(op)


def _start(b: Builder, loads: Sequence[Load]) -> dict[Op, Value]:
    """Start the copies; the buffers that they fill."""
    buffers: dict[Op, Value] = {}
    with b.at(loads[0].span):
        always = b.number(True, bool_)
    for load in loads:
        with b.at(load.span):
            buffers[load] = b.value(SharedAlloc(type=buffer_of(load)), f"{name_of(load)}_early")
            padding = load.padding if load.check_bounds else PaddingMode.ZERO
            b.emit(AsyncLoad(
                buffer=buffers[load], slot=None, array=load.array, index=load.index, active=always,
                tile=load.result.type, steps=load.steps, order=load.order, padding=padding,
                check_bounds=load.check_bounds))
    b.emit(AsyncCommit())
    return buffers


def _is_copyable(load: Load) -> bool:
    """Whether each thread can copy its own part of a tile, in vectors that pay."""
    type_ = load.result.type
    access = tile_access(load.array.type, load.order, load.steps, load.shape)
    padded = load.check_bounds and load.padding not in (PaddingMode.ZERO, PaddingMode.UNDETERMINED)
    if padded or not access.contiguous or is_replicated(type_.layout):
        return False
    vector = min(access.vector, vector_along(type_.layout, access.order[0]))
    slot = buffer_of(load).layout
    return slot is not None and widest_copy(slot, type_.layout, vector, type_.dtype.bytes) == WIDE


def buffer_of(load: Load) -> SharedType:
    type_ = load.result.type
    layout = ring_layout(type_.layout, (type_.layout,), type_.dtype.bytes)
    return SharedType(type_.dtype, load.shape, layout=layout)


def name_of(load: Load) -> str:
    return load.array.hint or load.result.hint or decisions.A_LOAD
