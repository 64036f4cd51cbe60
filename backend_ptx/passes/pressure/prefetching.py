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
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.backend_ptx.layouts.queries import is_replicated, vector_along
from tilewright.backend_ptx.layouts.ring import ring_layout, widest_copy
from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.passes.pipelining.addresses import harmless
from tilewright.backend_ptx.passes.pressure.bodies import Body
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.uses import replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.types import SharedType, TileType

WIDE = 16  # bytes per copy that pay


class Prefetch:
    """The loads of a body below a cross-warp shuffle that may start early, `loads`, in program order."""

    def __init__(self, body: Body, movable: Collection[Op], known: Facts) -> None:
        self.block, self.known = body.block, known
        ops = body.block.ops
        tiles = (i for i, op in enumerate(ops) if isinstance(op, Load) and op.shape and body.phase[op] == 0)
        self.place = max(tiles, default=len(ops)) + 1  # right after the last load of the first phase
        self.late = set(ops[self.place:])
        self.loads = [
            op for op in ops[self.place:] if isinstance(op, Load) and op in movable and body.phase[op] > 0
            and self._may_start(op)]

    def _may_start(self, load: Load) -> bool:
        known = load.padding in (PaddingMode.ZERO, PaddingMode.UNDETERMINED) or not load.check_bounds
        if not known or load.array.op in self.late or not all(map(self._is_early, load.index)):
            return False
        return not is_replicated(load.result.type.layout) and _copy_bytes(load) == WIDE

    def _is_early(self, value: Value) -> bool:
        """Whether a scalar is available at the place, or can be computed there."""
        op = value.op
        return op not in self.late or (harmless(op, self.known) and all(map(self._is_early, op.operands)))

    def emit(self, loads: Sequence[Load]) -> None:
        """Copies at the place; a wait and reads from shared memory where the loads were."""
        before, after = self.block.ops[:self.place], self.block.ops[self.place:]
        needed = self._needed(loads)
        self.block.ops = [*before, *(op for op in after if op in needed)]
        b = Builder(self.block)
        buffers = _start(b, loads)
        read: dict[Value, Value] = {}
        for op in after:
            if op in buffers:
                with b.at(op.span):
                    if op is loads[0]:
                        b.emit(AsyncWait())
                    tile = SharedLoad(buffer=buffers[op], slot=None, index=(), shape=op.result.type.shape)
                    read[op.result] = b.value(tile, op.result.hint).retype(op.result.type)
            elif op not in needed:
                replace_everywhere(op, read)
                self.block.ops.append(op)

    def _needed(self, loads: Sequence[Load]) -> set[Op]:
        """The ops that compute the indices of the tiles; they are hoisted above the copies."""
        out: set[Op] = set()
        work = [v for load in loads for v in load.index]
        while work:
            op = work.pop().op
            if op in self.late and op not in out:
                out.add(op)
                work += op.operands
        return out


def _start(b: Builder, loads: Sequence[Load]) -> dict[Op, Value]:
    """Start the copies; the buffers that they fill."""
    buffers: dict[Op, Value] = {}
    with b.at(loads[0].span):
        always = b.value(Constant(value=True, type=TileType(bool_)))
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


def _copy_bytes(load: Load) -> int:
    """Bytes of one copy by a thread, 0 if cp.async cannot copy the tile."""
    type_ = load.result.type
    access = tile_access(load.array.type, load.order, load.steps, load.shape)
    if not access.contiguous:
        return 0
    vector = min(access.vector, vector_along(type_.layout, access.order[0]))
    return widest_copy(_layout(load), type_.layout, vector, type_.dtype.bytes)


def buffer_of(load: Load) -> SharedType:
    type_ = load.result.type
    return SharedType(type_.dtype, type_.shape, layout=_layout(load))


def _layout(load: Load) -> Layout:
    """The layout in shared memory."""
    type_ = load.result.type
    return ring_layout(type_.layout, (type_.layout,), type_.dtype.bytes)


def name_of(load: Load) -> str:
    return load.array.hint or load.result.hint or decisions.A_LOAD
