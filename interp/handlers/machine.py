"""Machine ops, so that every dump of the backend runs. They are named by opcode: their classes are the backend's.

A tile's distribution over threads has no meaning here, so `convert_layout` is the identity; barriers and waits do
nothing, and an asynchronous copy is a load at once. A shared buffer is an array with a leading axis over the blocks of
the chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.matmul import mma
from tilewright.interp.lowering import Lowering, Step
from tilewright.interp.registry import HANDLERS, impl, impl_step
from tilewright.tileir.core import Value
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


@impl("barrier")
def barrier(op: Any, low: Lowering) -> Fn:
    return lambda: None


@impl_step("shared_alloc")
def shared_alloc(op: Any, low: Lowering) -> Step:
    """A ring has an axis over its slots, after the one over the blocks."""
    dst, varies = low.slot(op.result), low.varies(op.result)
    ring = (op.type.copies,) if op.type.copies > 1 else ()
    shape, held = (*ring, *op.type.shape), format_of(op.type.dtype).held

    def step(regs: Regs) -> None:
        regs[dst] = np.zeros((regs[0].count, *shape) if varies else shape, held)
    return step


class Slot:
    """Finds the slot of a ring, or the whole of a single buffer, as an index of the buffer's array."""

    def __init__(self, op: Any, low: Lowering) -> None:
        self.place = None if op.slot is None else low.slot(op.slot)
        self.buffer_varies = low.varies(op.buffer)
        self.ahead, self.copies = getattr(op, "ahead", 0), op.buffer.type.copies

    def __call__(self, regs: Regs) -> Any:
        if self.place is None:
            return ...
        number = (np.asarray(regs[self.place], np.int64) + self.ahead) % self.copies
        if not self.buffer_varies:
            return int(number)
        return (np.arange(regs[0].count), number)


@impl_step("shared_store")
def shared_store(op: Any, low: Lowering) -> Step:
    buffer, value = low.slot_list((op.buffer, op.value))
    slot = Slot(op, low)

    def store(regs: Regs) -> None:
        regs[buffer][slot(regs)] = regs[value]
    return store


@impl_step("shared_load")
def shared_load(op: Any, low: Lowering) -> Step:
    buffer, dst = low.slot_list((op.buffer, op.result))
    slot = Slot(op, low)
    if not op.index:
        def whole(regs: Regs) -> None:
            regs[dst] = np.array(regs[buffer][slot(regs)])
        return whole
    extract: Any = HANDLERS["extract"].handler
    part: Any = extract(SimpleNamespace(src=op.buffer, shape=op.shape, result=op.result), low)
    index = low.slot_list(op.index)

    def sub_tile(regs: Regs) -> None:
        regs[dst] = part(regs[buffer][slot(regs)], *(regs[i] for i in index))
    return sub_tile


@impl_step("async_load")
def async_load(op: Any, low: Lowering) -> Step:
    """Loads at once, in the blocks where it is active."""
    fields = ("array", "index", "shape", "steps", "order", "padding")
    return _copied(op, low, "load", fields, (op.array, *op.index))


@impl_step("async_gather")
def async_gather(op: Any, low: Lowering) -> Step:
    """Gathers at once, in the blocks where it is active."""
    sources = (op.array, *op.indices, op.padding, *(() if op.mask is None else (op.mask,)))
    return _copied(op, low, "gather", ("array", "indices", "mask", "padding", "shape", "check_bounds"), sources)


def _copied(op: Any, low: Lowering, what: str, names: Sequence[str], sources: Sequence[Value]) -> Step:
    """Do what the op of that name does, and put its result into a slot."""
    buffer, active = low.slot_list((op.buffer, op.active))
    slot = Slot(op, low)
    tile = low.temporary(op.tile.erased(), any(low.varies(v) for v in sources))
    result, varies = low.slot(tile), low.varies(tile)
    fields = {name: getattr(op, name) for name in names}
    load: Any = HANDLERS[what].handler(SimpleNamespace(**fields, result=tile), low)

    def step(regs: Regs) -> None:
        wanted = regs[active]
        if not np.any(wanted):
            return
        load(regs)
        value, regs[result] = regs[result], None
        where = slot(regs)
        if np.all(wanted):
            regs[buffer][where] = value
            return
        blocks = np.nonzero(wanted)[0]
        part = value[blocks] if varies else value
        regs[buffer][blocks if where is ... else (blocks, np.broadcast_to(where[1], wanted.shape)[blocks])] = part
    return step


@impl("async_commit")
def async_commit(op: Any, low: Lowering) -> Fn:
    return lambda: None


@impl("async_wait")
def async_wait(op: Any, low: Lowering) -> Fn:
    return lambda: None


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
    src = Value(TileType(op.src.type.dtype, tuple(groups.shape)))
    options = {name: getattr(op, name) for name in kind.fields if name in op.fields and name not in ("src", "axes")}
    whole = kind(src=src, axes=tuple(groups.reduced), **options)
    fold: Any = HANDLERS[kind.opcode].handler(whole, SimpleNamespace(varies=lambda v: varies))  # type: ignore[arg-type]
    return lambda x: fold(groups(x))


@impl("arg_reduce_bits")
def arg_reduce_bits(op: Any, low: Lowering) -> Fn:
    varies = low.varies(op.src)
    length = op.src.type.shape[op.axis]
    groups = Groups(op.src.type.shape, (op.axis,), (op.keep,), varies)
    axis = groups.reduced[0] + varies
    kind = reduce.ArgMax if op.largest else reduce.ArgMin
    src = Value(TileType(op.src.type.dtype, tuple(groups.shape)))
    whole = kind(src=src, axis=groups.reduced[0], propagate_nan=op.propagate_nan)
    find: Any = HANDLERS[kind.opcode].handler(whole, SimpleNamespace(varies=lambda v: varies))  # type: ignore[arg-type]
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
    return mma(op, low)
