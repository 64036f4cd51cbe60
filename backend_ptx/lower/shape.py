"""Changes of shape. Layouts were chosen so that each is a renaming of the thread's registers."""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.arith import chosen
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.integers import resized
from tilewright.backend_ptx.lower.positions import index_vector
from tilewright.backend_ptx.lower.registers import from_lane, rearranged, swapped_if
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.lower.shared import linear
from tilewright.tileir.analysis.words import is_uniform
from tilewright.tileir.core import Op
from tilewright.tileir.f2 import span
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.flat import LANE, REGISTER, log2
from tilewright.tileir.ops import shape as ops


@lower(ops.Iota)
def iota(ctx: Context, op: ops.Iota) -> None:
    ctx.set(op.result, resized(ctx.b, index_vector(ctx, ctx.layout(op.result), 0), False, elem_of(op.dtype)))


@lower(ops.Broadcast)
def broadcast(ctx: Context, op: ops.Broadcast) -> None:
    b, value = ctx.b, ctx[op.src]
    if not op.shape:
        ctx.set(op.result, value)
        return
    result = ctx.layout(op.result)
    if not op.src.type.shape:
        ctx.set(op.result, b.splat(value, ctx.lanes(op.result)))
        return
    needed = transform.within(result, op.src.type.shape)
    value = rearranged(ctx, value, ctx.layout(op.src), needed)
    if value.n == 1:
        ctx.set(op.result, b.splat(b.extract(value, 0), ctx.lanes(op.result)))
        return
    # Register bits along the new axes repeat the source's registers.
    own = [any(i & (n - 1) for i, n in zip(basis, op.src.type.shape, strict=True)) for basis in result.bases(REGISTER)]
    ctx.set(op.result, b.shuffle(value, span([kept << sum(own[:bit]) for bit, kept in enumerate(own)])))


@lower(ops.Reshape)
def reshape(ctx: Context, op: ops.Reshape) -> None:
    value = ctx[op.src]
    if not op.shape:
        ctx.set(op.result, ctx.b.extract(value, 0))
    elif not op.src.type.shape:
        ctx.set(op.result, ctx.b.vector([value]))
    else:
        moved = transform.reshape(ctx.layout(op.src), op.shape)
        ctx.set(op.result, rearranged(ctx, value, moved, ctx.layout(op.result)))


def is_renaming(op: Op) -> bool:
    """Whether an op gives the registers of a computed tile a new shape and nothing else."""
    return (isinstance(op, ops.Reshape) and bool(op.shape and op.src.type.shape) and not is_uniform(op.src)
            and transform.reshape(op.src.type.layout, op.shape) == op.result.type.layout)


@lower(ops.Permute)
def permute(ctx: Context, op: ops.Permute) -> None:
    if not op.axes:
        ctx.set(op.result, ctx[op.src])
        return
    moved = transform.permute(ctx.layout(op.src), op.axes)
    ctx.set(op.result, rearranged(ctx, ctx[op.src], moved, ctx.layout(op.result)))


@lower(ops.Cat)
def cat(ctx: Context, op: ops.Cat) -> None:
    layout = ctx.layout(op.lhs)
    right = rearranged(ctx, ctx[op.rhs], ctx.layout(op.rhs), layout)
    joined = ctx.b.concat([ctx[op.lhs], right])
    ctx.set(op.result, rearranged(ctx, joined, transform.cat(layout, op.axis), ctx.layout(op.result)))


@lower(ops.Extract)
def extract(ctx: Context, op: ops.Extract) -> None:
    """Register bits outside the sub-tile choose it: bit by bit, swap the wanted half to where the bit is 0."""
    b, value = ctx.b, ctx[op.src]
    if not op.shape:
        ctx.set(op.result, value)
        return
    inside = []
    for bit, basis in enumerate(ctx.layout(op.src).bases(REGISTER)):
        if all(i < n for i, n in zip(basis, op.shape, strict=True)):
            inside.append(bit)
            continue
        axis = next(k for k, part in enumerate(basis) if part)
        wanted = _bit(b, ctx[op.index[axis]], (basis[axis] // op.shape[axis]).bit_length() - 1)
        value = swapped_if(b, wanted, value, 1 << bit)
    registers = span([1 << bit for bit in inside])
    part = transform.extract(ctx.layout(op.src), op.shape)
    assert part is not None
    ctx.set(op.result, rearranged(ctx, b.shuffle(value, registers), part, ctx.layout(op.result)))


def _bit(b: Builder, number: Val, bit: int) -> Val:
    """Bit `bit` of an integer scalar as i1."""
    if number.const is not None:
        return b.const("i1", int(number.const) >> bit & 1)
    return b.icmp("ne", b.and_(number, 1 << bit), 0)


@lower(ops.Take)
def take(ctx: Context, op: ops.Take) -> None:
    """Each lane asks the lanes of its row for each of their registers along the axis (see lower_conversions)."""
    b, value, layout = ctx.b, ctx[op.src], ctx.layout(op.src)
    index = resized(b, ctx[op.index], True, "i32")
    along = [(log2(basis[op.axis]), 1 << bit) for bit, basis in enumerate(layout.bases(LANE)) if basis[op.axis]]
    own = b.splat(b.and_(ctx.lane(), 31 - sum(bit for _, bit in along)), value.n)
    lanes = b.or_(own, linear(b, index, along))

    def asked(registers: list[int]) -> Val:
        pairs = enumerate(registers)
        return b.concat([from_lane(b, b.shuffle(value, [r]), "idx", b.extract(lanes, k)) for k, r in pairs])

    parts = [basis[op.axis] for basis in layout.bases(REGISTER)]
    high = sum(1 << bit for bit, part in enumerate(parts) if part)
    out = asked([r & ~high for r in range(value.n)])
    if high:
        second = b.icmp("ne", b.and_(index, max(parts)), 0)
        out = chosen(b, second, asked([r | high for r in range(value.n)]), out)
    ctx.set(op.result, out)
