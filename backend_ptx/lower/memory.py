"""Loads and stores of tiles."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.layouts.queries import register_offsets
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower import access
from tilewright.backend_ptx.lower.addresses import Offsets, TileAccess
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.padding import padding_number
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.enums import MemoryOrder, MemoryScope
from tilewright.tileir.ops import memory as ops

SCOPE = {MemoryScope.BLOCK: "cta", MemoryScope.DEVICE: "gpu", MemoryScope.SYS: "sys"}


def _groups(tile: TileAccess, vector: int) -> list[Offsets]:
    """The offsets of the first register of every access."""
    if tile.layout is None:
        return [(0,) * len(tile.shape)]
    return list(register_offsets(tile.layout)[::vector])


@lower(ops.Load)
def load(ctx: Context, op: ops.Load) -> None:
    b = ctx.b
    layout = op.result.type.layout if op.shape else None
    tile = TileAccess(ctx, op.array, op.index, op.shape, op.steps, op.order, layout, op.check_bounds)
    dtype = op.result.type.dtype
    padding = b.const(elem_of(dtype), padding_number(op.padding, dtype))
    if op.memory_order is not MemoryOrder.WEAK:
        value = _load_ordered(tile, padding, op)
    elif tile.cuts_vectors:
        value = _load_branching(tile, padding)
    else:
        value = _load_predicated(tile, padding, tile.vector)
    ctx.set(op.result, value if op.shape else b.extract(value, 0))


def _load_ordered(tile: TileAccess, padding: Val, op: ops.Load) -> Val:
    """Each element by its owner alone: elect_thread_for_atomics broadcasts it to the others."""
    b = tile.ctx.b
    mine = owner(tile.ctx, tile.layout)
    parts = []
    for offsets in _groups(tile, 1):
        predicate = access.both(b, mine, tile.predicate(offsets))
        parts.append(access.load_ordered(
            b, tile.pointer(offsets), predicate, b.splat(padding, 1), op.memory_order.value, SCOPE[op.memory_scope]))
    return b.concat(parts)


def _load_branching(tile: TileAccess, padding: Val) -> Val:
    """Wide accesses where the whole tile is inside, else one predicated access per element."""
    b = tile.ctx.b
    wide, narrow, done = b.label("whole"), b.label("edge"), b.label("loaded")
    tile.prepare(_groups(tile, 1))
    b.cbr(tile.whole(), wide, narrow)
    b.start(wide)
    fast = _load_whole(tile, padding.elem)
    b.br(done)
    b.start(narrow)
    slow = _load_predicated(tile, padding, 1)
    b.br(done)
    b.start(done)
    merged = b.phi(fast.elem, fast.n)
    merged.add(fast, wide)
    merged.add(slow, narrow)
    return merged.value


def _load_whole(tile: TileAccess, elem: str) -> Val:
    b, count = tile.ctx.b, tile.vector
    parts = [
        access.load(b, elem, count, tile.pointer(offsets), read_only=tile.ref.read_only)
        for offsets in _groups(tile, count)
    ]
    return b.concat(parts)


def _load_predicated(tile: TileAccess, padding: Val, count: int) -> Val:
    b = tile.ctx.b
    groups = _groups(tile, count)
    predicates = [tile.predicate(offsets) for offsets in groups]
    if all(p is None for p in predicates):
        return _load_whole(tile, padding.elem)
    lanes = b.splat(padding, count)
    parts = [
        access.load_if(b, padding.elem, tile.pointer(offsets), predicate, lanes, read_only=tile.ref.read_only)
        for offsets, predicate in zip(groups, predicates, strict=True) if predicate is not None
    ]
    return b.concat(parts)


@lower(ops.Store)
def store(ctx: Context, op: ops.Store) -> None:
    b = ctx.b
    shape = op.value.type.shape
    layout = op.value.type.layout if shape else None
    tile = TileAccess(ctx, op.array, op.index, shape, op.steps, op.order, layout, op.check_bounds)
    value = ctx[op.value] if shape else b.vector([ctx[op.value]])
    mine = owner(ctx, layout)
    if op.memory_order is not MemoryOrder.WEAK:
        for number, offsets in enumerate(_groups(tile, 1)):
            access.store_ordered(
                b, b.shuffle(value, [number]), tile.pointer(offsets), access.both(b, mine, tile.predicate(offsets)),
                op.memory_order.value, SCOPE[op.memory_scope])
        return
    if not tile.cuts_vectors:
        _store_parts(tile, value, tile.vector, mine, masked=True)
        return
    wide, narrow, done = b.label("whole"), b.label("edge"), b.label("stored")
    tile.prepare(_groups(tile, 1))
    b.cbr(tile.whole(), wide, narrow)
    b.start(wide)
    _store_parts(tile, value, tile.vector, mine, masked=False)
    b.br(done)
    b.start(narrow)
    _store_parts(tile, value, 1, mine, masked=True)
    b.br(done)
    b.start(done)


def _store_parts(tile: TileAccess, value: Val, count: int, mine: Val | None, masked: bool) -> None:
    b = tile.ctx.b
    groups: Sequence[Offsets] = _groups(tile, count)
    for number, offsets in enumerate(groups):
        predicate = access.both(b, mine, tile.predicate(offsets) if masked else None)
        part = b.shuffle(value, range(number * count, (number + 1) * count))
        access.store(b, part, tile.pointer(offsets), predicate)
