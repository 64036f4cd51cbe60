"""Loads and stores of tiles."""

from __future__ import annotations

import math
from typing import Any

from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower import access
from tilewright.backend_ptx.lower.addresses import TileAccess
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.narrow import constant_bits
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import MemoryOrder, MemoryScope, PaddingMode
from tilewright.tileir.ops import memory as ops

_PADDING = {
    PaddingMode.UNDETERMINED: 0.0, PaddingMode.ZERO: 0.0, PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: math.nan,
    PaddingMode.POS_INF: math.inf, PaddingMode.NEG_INF: -math.inf}
_SCOPE = {MemoryScope.BLOCK: "cta", MemoryScope.DEVICE: "gpu", MemoryScope.SYS: "sys"}


@lower(ops.Load)
def load(ctx: Context, op: ops.Load) -> None:
    tile, outside = TileAccess(ctx, op, op.result.type), padding(ctx, op, max(1, ctx.lanes(op.result)))
    value = tile.read(outside) if op.memory_order is MemoryOrder.WEAK else _load_ordered(tile, outside, order_of(op))
    ctx.set(op.result, value if op.shape else ctx.b.extract(value, 0))


def padding(ctx: Context, op: ops.Load, lanes: int) -> Val:
    """What a load yields outside of its array."""
    return ctx.b.const(elem_of(op.result.type.dtype), _padding_number(op.padding, op.result.type.dtype), lanes)


def _load_ordered(tile: TileAccess, padding: Val, order: str) -> Val:
    """Each element by its owner alone: elect_thread_for_atomics broadcasts it to the others."""
    b, parts = tile.ctx.b, []
    for place, predicate in zip(tile.groups(1), tile.predicates(1, False, owner(tile.ctx, tile.layout)), strict=True):
        parts.append(access.load(b, f"ld.{order}.global", tile.pointer(place), predicate, b.shuffle(padding, [0])))
    return b.concat(parts)


@lower(ops.Store)
def store(ctx: Context, op: ops.Store) -> None:
    b, value, tile = ctx.b, ctx.vector(op.value), TileAccess(ctx, op, op.value.type)
    mine = owner(ctx, tile.layout)
    if op.memory_order is MemoryOrder.WEAK:
        tile.write(value, mine)
        return
    path = f"st.{order_of(op)}.global"
    for number, place in enumerate(tile.groups(1)):
        part, pointer = b.shuffle(value, [number]), tile.pointer(place)
        access.store(b, path, pointer, access.both(b, mine, tile.predicate(place)), part)


def can_store_strips(op: Any) -> bool:
    """Whether `StripStore` takes an op."""
    return isinstance(op, ops.Store) and op.memory_order is MemoryOrder.WEAK and bool(op.value.type.shape)


class StripStore:
    """A store that takes the registers of its tile in strips of `size`: at once where no edge cuts a vector."""

    def __init__(self, ctx: Context, op: ops.Store, size: int) -> None:
        self.tile, self.size = TileAccess(ctx, op, op.value.type), size
        self._mine = owner(ctx, self.tile.layout)
        self.at_once = not self.tile.cuts_vectors and self.tile.vector <= size
        self._kept: list[Val] = []

    def take(self, number: int, strip: Val) -> None:
        if not self.at_once:
            self._kept.append(strip)
            return
        self.tile.registers = slice(number * self.size, (number + 1) * self.size)
        self.tile.write(strip, self._mine)

    def finish(self) -> None:
        if self._kept:
            self.tile.write(self.tile.ctx.b.concat(self._kept), self._mine)


def order_of(op: Any) -> str:
    """Order and scope as PTX names them."""
    return f"{op.memory_order.value}.{_SCOPE[op.memory_scope]}"


def _padding_number(mode: PaddingMode, dtype: DType) -> float | int:
    """What a load yields outside the array; integers, which have neither infinities nor NaN, get 0."""
    value = _PADDING[mode]
    if not dtype.is_float:
        return 0
    if value < 0 and not dtype.has_sign:
        value = math.nan  # nothing stands for a negative number
    return constant_bits(dtype, value) if elem_of(dtype) == "i8" else value
