"""Gathers and scatters: an address and a predicate for every element."""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower import access
from tilewright.backend_ptx.lower.arrays import as_index
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.core import Value
from tilewright.tileir.ops import memory as ops
from tilewright.tileir.ops.atomics import Atomic


class Elements:
    """Addresses and predicates of the elements that this thread reads or writes; scalars count as one lane."""

    def __init__(self, ctx: Context, op: ops.Gather | ops.Scatter | Atomic) -> None:
        self.ctx = ctx
        self.ref: ArrayRef = ctx[op.array]
        self.op = op
        self.lanes = max(1, ctx.lanes(op.indices[0])) if op.indices else 1
        self.predicate = self._predicate()
        self.offset = self._offset()

    def _vector(self, value: Val) -> Val:
        return value if value.n else self.ctx.b.vector([value])

    def _predicate(self) -> Val | None:
        b, op = self.ctx.b, self.op
        out = None if op.mask is None else self._vector(self.ctx[op.mask])
        if op.check_bounds:
            for axis, index in enumerate(op.indices):
                inside = self._inside(axis, index)
                out = inside if out is None else b.and_(out, inside)
        return out

    def _inside(self, axis: int, index: Value) -> Val:
        """0 <= index < extent by one unsigned comparison, in the wider of both types (at least 32 bits)."""
        b, dtype, type = self.ctx.b, index.type.dtype, self.ref.type
        wide = "i64" if 64 in (dtype.bitwidth, type.index.bitwidth) else "i32"
        position = as_index(b, self._vector(self.ctx[index]), dtype.is_signed, wide)
        extent = as_index(b, self.ref.extents[axis], True, wide)
        return b.icmp("ult", position, b.splat(extent, position.n))

    def _offset(self) -> Val:
        """Byte offsets, in i32 where those of all elements inside fit."""
        b, type = self.ctx.b, self.ref.type
        elem = "i32" if type.small else "i64"
        total = b.const(elem, 0, self.lanes)
        for axis, index in enumerate(self.op.indices):
            position = as_index(b, self._vector(self.ctx[index]), index.type.dtype.is_signed, elem)
            stride = b.mul(as_index(b, self.ref.strides[axis], True, elem), type.dtype.bytes)
            total = b.add(total, b.mul(position, b.splat(stride, self.lanes)))
        return total

    def pointer(self, lane: int) -> Val:
        b = self.ctx.b
        return b.gep(self.ref.pointer, as_index(b, b.extract(self.offset, lane), True, "i64"))


@lower(ops.Gather)
def gather(ctx: Context, op: ops.Gather) -> None:
    b = ctx.b
    elements = Elements(ctx, op)
    padding = ctx[op.padding]
    padding = padding if padding.n else b.vector([padding])
    pointers = [elements.pointer(i) for i in range(elements.lanes)]
    parts = []
    for i, pointer in enumerate(pointers):
        if elements.predicate is None:
            parts.append(access.load(b, padding.elem, 1, pointer, read_only=elements.ref.read_only))
        else:
            predicate = b.extract(elements.predicate, i)
            one = b.shuffle(padding, [i])
            parts.append(access.load_if(b, padding.elem, pointer, predicate, one, read_only=elements.ref.read_only))
    value = b.concat(parts)
    ctx.set(op.result, value if op.shape else b.extract(value, 0))


@lower(ops.Scatter)
def scatter(ctx: Context, op: ops.Scatter) -> None:
    b = ctx.b
    elements = Elements(ctx, op)
    value = ctx[op.value]
    value = value if value.n else b.vector([value])
    mine = owner(ctx, op.value.type.layout if op.shape else None)
    for i in range(elements.lanes):
        predicate = mine
        if elements.predicate is not None:
            own = b.extract(elements.predicate, i)
            predicate = own if mine is None else b.and_(own, mine)
        access.store(b, b.shuffle(value, [i]), elements.pointer(i), predicate)
