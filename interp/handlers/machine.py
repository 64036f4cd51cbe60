"""Machine ops, so that every dump of the backend runs. They are named by opcode: their classes are the backend's.

A tile's distribution over threads has no meaning here, so `convert_layout` is the identity and barriers do nothing. A
shared buffer is an array with a leading axis over the blocks of the chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tilewright.interp.chunk import Regs
from tilewright.interp.formats import format_of
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


@impl("barrier")
def barrier(op: Any, low: Lowering) -> Fn:
    return lambda: None


@impl_step("shared_alloc")
def shared_alloc(op: Any, low: Lowering) -> Step:
    dst, varies = low.slot(op.result), low.varies(op.result)
    shape, held = tuple(op.type.shape), format_of(op.type.dtype).held

    def step(regs: Regs) -> None:
        regs[dst] = np.zeros((regs[0].count, *shape) if varies else shape, held)
    return step


@impl("shared_store")
def shared_store(op: Any, low: Lowering) -> Fn:
    def store(buffer: Array, value: Array) -> None:
        buffer[...] = value
    return store


@impl("shared_load")
def shared_load(op: Any, low: Lowering) -> Fn:
    if not op.index:
        return lambda buffer: buffer.copy()
    extract: Any = HANDLERS["extract"].handler
    return extract(SimpleNamespace(src=op.buffer, shape=op.shape, result=op.result), low)  # type: ignore[no-any-return]


_KINDS: dict[str, type[reduce.Reduction]] = {
    "sum": reduce.ReduceSum, "prod": reduce.ReduceProd, "max": reduce.ReduceMax, "min": reduce.ReduceMin,
}


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
    kind = _KINDS[op.kind]
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
