"""Machine ops, so that every dump of the backend runs. They are named by opcode: their classes are the backend's.

A tile's distribution over threads has no meaning here, so `convert_layout` is the identity; an asynchronous copy is a
load at once, and barriers and waits do nothing but tell the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs, split
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.memory import element_reader, tile_reader
from tilewright.interp.handlers.reduce import counter
from tilewright.interp.handlers.shape import along, sub_tile
from tilewright.interp.handlers.target_products import product_on, scaled_product_on
from tilewright.interp.lowering import HANDLERS, Lowering, Step, impl, impl_step
from tilewright.interp.shared import SharedBuffer, SharedRegion, slot_of
from tilewright.tileir.ops import reduce
from tilewright.tileir.types import TileType

Array = Any
Fn = Callable[..., Any]


@impl("convert_layout")
def convert_layout(op: Any, low: Lowering) -> Fn:
    return lambda x: x


@impl("keep_registers")
def keep_registers(op: Any, low: Lowering) -> Fn:
    return lambda kept, again: kept


@impl("divide_by")
def divide_by(op: Any, low: Lowering) -> Fn:
    return lambda x, d, reciprocal: np.divide(x, d)


@impl_step("barrier")
@impl_step("async_commit")
@impl_step("async_wait")
@impl_step("mbarrier_init")
@impl_step("mbarrier_wait")
@impl_step("mbarrier_arrive")
@impl_step("mbarrier_expect")
@impl_step("tma_acquire")
@impl_step("tma_store_wait")
@impl_step("proxy_fence")
@impl_step("take_turn")
@impl_step("pass_turn")
@impl_step("cluster_open")
@impl_step("cluster_ready")
@impl_step("grid_wait")
@impl_step("launch_dependents")
def synchronise(op: Any, low: Lowering) -> Step:
    """In program order nobody has to wait; a memory that checks may want to know."""
    def step(regs: Regs) -> None:
        regs[0].memory.synchronise(regs[0], op)
    return step


@impl("skipped_blocks")
def skipped_blocks(op: Any, low: Lowering) -> Fn:
    return lambda: np.int32(0)


@impl_step("shared_alloc")
def shared_alloc(op: Any, low: Lowering) -> Step:
    """A ring has an axis over its slots, after the one over the blocks."""
    dst, varies = low.slot(op.result), low.varies(op.result)
    ring = (op.type.copies,) if op.type.copies > 1 else ()
    shape, held = (*ring, *op.type.shape), format_of(op.type.dtype).held

    def step(regs: Regs) -> None:
        chunk = regs[0]
        data = chunk.memory.allocate((chunk.count, *shape) if varies else shape, held, chunk, op)
        regs[dst] = SharedBuffer(op.result.hint, data, varies)
    return step


@impl_step("shared_store")
def shared_store(op: Any, low: Lowering) -> Step:
    buffer, value = low.slot_list((op.buffer, op.value))
    slot = slot_of(op, low)

    def store(regs: Regs) -> None:
        chunk = regs[0]
        chunk.memory.write(SharedRegion(regs[buffer], slot(regs), chunk), regs[value], op)
    return store


@impl_step("shared_load")
def shared_load(op: Any, low: Lowering) -> Step:
    buffer, dst = low.slot_list((op.buffer, op.result))
    slot, index = slot_of(op, low), low.slot_list(op.index)
    part = sub_tile(op.buffer.type.shape, op.shape, low.varies(op.buffer), low.varies(op.result))

    def load(regs: Regs) -> None:
        chunk = regs[0]
        tile = chunk.memory.read(SharedRegion(regs[buffer], slot(regs), chunk), op)
        # A copy: the buffer may be overwritten while the tile lives.
        regs[dst] = np.array(part(tile, *(regs[i] for i in index)) if index else tile)
    return load


@impl_step("shared_take")
def shared_take(op: Any, low: Lowering) -> Step:
    buffer, index, dst = low.slot_list((op.buffer, op.index, op.result))
    find = along(op.buffer.type.shape[op.axis], op.axis, low.varies(op.buffer), low.varies(op.index))

    def load(regs: Regs) -> None:
        chunk = regs[0]
        regs[dst] = find(chunk.memory.read(SharedRegion(regs[buffer], None, chunk), op), regs[index])
    return load


@impl_step("shared_count")
def shared_count(op: Any, low: Lowering) -> Step:
    buffer, numbers = low.slot_list((op.buffer, op.numbers))
    count = counter(op.buffer.type.shape[0], low.varies(op.numbers))

    def add(regs: Regs) -> None:
        chunk = regs[0]
        region = SharedRegion(regs[buffer], None, chunk)
        chunk.memory.write(region, chunk.memory.read(region, op) + count(regs[numbers]), op)
    return add


@impl_step("async_load")
def async_load(op: Any, low: Lowering) -> Step:
    """Loads at once, in the blocks where it is active."""
    varies = any(low.varies(v) for v in (op.array, *op.index))
    return _copied(op, low, tile_reader(op, low, varies), varies)


@impl_step("async_gather")
def async_gather(op: Any, low: Lowering) -> Step:
    """Gathers at once, in the blocks where it is active."""
    sources = (op.array, *op.indices, op.padding, *(() if op.mask is None else (op.mask,)))
    varies = any(low.varies(v) for v in sources)
    return _copied(op, low, element_reader(op, low, varies), varies)


def _copied(op: Any, low: Lowering, read: Callable[[Regs], Array], varies: bool) -> Step:
    """Put what `read` gives (with an axis over blocks, if it varies) into a slot."""
    buffer, active = low.slot_list((op.buffer, op.active))
    slot, follow = slot_of(op, low), low.slot_list(v for v in op.operands if low.varies(v))

    def step(regs: Regs) -> None:
        wanted = regs[active]
        if not np.any(wanted):
            return
        if not np.all(wanted):
            regs = split(regs, np.nonzero(wanted)[0], follow)
        chunk = regs[0]
        chunk.memory.write(SharedRegion(regs[buffer], slot(regs), chunk), read(regs), op)
    return step


class Groups:
    """A tile with each reduced axis taken apart into (kept bits, other bits), each ascending."""

    def __init__(self, shape: Sequence[int], axes: Sequence[int], keep: Sequence[int], varies: bool) -> None:
        masks = dict(zip(axes, keep, strict=True))
        self.orders: list[tuple[int, Array]] = []
        self.shape: list[int] = []
        self.reduced: list[int] = []
        for axis, length in enumerate(shape):
            if axis not in masks:
                self.shape.append(length)
                continue
            kept = 1 << masks[axis].bit_count()
            order = np.argsort(np.arange(length) & masks[axis], kind="stable")
            self.orders.append((axis + varies, order))
            self.reduced.append(len(self.shape) + 1)
            self.shape += [kept, length // kept]
        self.varies = varies

    def __call__(self, x: Array) -> Array:
        for axis, order in self.orders:
            x = x.take(order, axis)
        return x.reshape(*x.shape[: self.varies], *self.shape)


@impl("reduce_bits")
def reduce_bits(op: Any, low: Lowering) -> Fn:
    """The whole reduction along the "other bits" axes of the tile taken apart."""
    varies = low.varies(op.src)
    groups = Groups(op.src.type.shape, op.axes, op.keep, varies)
    kind = reduce.reduction_of(op.kind)
    src = low.temporary(TileType(op.src.type.dtype, tuple(groups.shape)), varies)
    options = {name: getattr(op, name) for name in kind.fields if name in op.fields and name not in ("src", "axes")}
    whole = kind(src=src, axes=tuple(groups.reduced), **options)
    fold: Any = HANDLERS[kind.opcode].handler(whole, low)
    return lambda x: fold(groups(x))


@impl("arg_reduce_bits")
def arg_reduce_bits(op: Any, low: Lowering) -> Fn:
    varies = low.varies(op.src)
    length = op.src.type.shape[op.axis]
    groups = Groups(op.src.type.shape, (op.axis,), (op.keep,), varies)
    axis = groups.reduced[0] + varies
    kind = reduce.ArgMax if op.largest else reduce.ArgMin
    src = low.temporary(TileType(op.src.type.dtype, tuple(groups.shape)), varies)
    whole = kind(src=src, axis=groups.reduced[0], propagate_nan=op.propagate_nan)
    find: Any = HANDLERS[kind.opcode].handler(whole, low)
    along = [1] * len(op.src.type.shape)
    along[op.axis] = length
    own_index = np.arange(length, dtype=np.int32).reshape(along)

    def closure(x: Array, index: Array = own_index) -> tuple[Array, Array]:
        x, index = groups(x), groups(np.broadcast_to(index, x.shape))
        # `find` takes the first of equal values: put smaller indices first.
        order = np.argsort(index, axis=axis, kind="stable")
        x, index = (np.take_along_axis(v, order, axis) for v in (x, index))
        place = np.expand_dims(find(x), axis)
        return tuple(np.take_along_axis(v, place, axis).squeeze(axis) for v in (x, index))  # type: ignore[return-value]

    return closure


@impl("mma_sync")
@impl("mma_fma")
def product(op: Any, low: Lowering) -> Fn:
    """As mma; the operands of mma_fma may be int32."""
    return product_on(op, low)


@impl("mma_scaled_sync")
def scaled_product(op: Any, low: Lowering) -> Fn:
    """As mma_scaled; the scales come behind the accumulator."""
    multiply = scaled_product_on(op, low)
    return lambda a, b, c, sa, sb: multiply(a, sa, b, sb, c)
