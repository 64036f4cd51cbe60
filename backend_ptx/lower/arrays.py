"""Grid and array queries, and views of arrays."""

from __future__ import annotations

from dataclasses import replace

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef, ListRef, elem_of
from tilewright.backend_ptx.lower.integers import resized
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.layouts.flat import log2
from tilewright.tileir.ops import arrays as ops
from tilewright.tileir.types import ArrayType

GLOBAL = "ptr addrspace(1)"
_AXES = "xyz"


@lower(ops.BlockId)
def block_id(ctx: Context, op: ops.BlockId) -> None:
    ctx.set(op.result, ctx.once(("block id", op.axis), lambda b: _block_id(ctx, b, op.axis)))


def _block_id(ctx: Context, b: Builder, axis: int) -> Val:
    """In a linear grid ctaid.x is x + gx * (y + gy * z)."""
    packed = ctx.function.plan.packed
    if axis == 0 and packed > 1:
        own = b.lshr(ctx.special_register("tid.x"), log2(32 * ctx.all_warps))
        return b.add(b.mul(ctx.special_register("ctaid.x"), packed), own)
    if not ctx.abi.linear_grid:
        return ctx.special_register(f"ctaid.{_AXES[axis]}")
    number = ctx.special_register("ctaid.x")
    gx, gy = (_grid_size(ctx, k) for k in (0, 1))
    if axis == 0:
        return b.urem(number, gx)
    rows = b.udiv(number, gx)
    return b.urem(rows, gy) if axis == 1 else b.udiv(rows, gy)


def in_grid(ctx: Context) -> Val | None:
    """Whether the launch has this block, where a CTA may have warps for more than there are (None: it surely has)."""
    if ctx.function.plan.packed == 1:
        return None
    return ctx.once("in grid", lambda b: b.icmp("ult", _block_id(ctx, b, 0), _grid_size(ctx, 0)))


def _grid_size(ctx: Context, axis: int) -> Val:
    return ctx.argument("grid", -1, axis)


@lower(ops.NumBlocks)
def num_blocks(ctx: Context, op: ops.NumBlocks) -> None:
    passed, name = ctx.abi.params[-1].kind == "grid", f"nctaid.{_AXES[op.axis]}"
    ctx.set(op.result, _grid_size(ctx, op.axis) if passed else ctx.special_register(name))


@lower(ops.LaunchedBlock, ops.LaunchedBlocks)
def launched(ctx: Context, op: ops.LaunchedBlock | ops.LaunchedBlocks) -> None:
    """Each team of warps runs blocks as a CTA of its own would."""
    b, first, count = ctx.b, *map(ctx.special_register, ("ctaid.x", "nctaid.x"))
    if isinstance(op, ops.LaunchedBlocks):
        ctx.set(op.result, b.mul(count, ctx.teams))
    else:
        ctx.set(op.result, first if ctx.teams == 1 else b.add(first, b.mul(ctx.team, count)))


@lower(ops.Extent, ops.Stride)
def along_axis(ctx: Context, op: ops.Extent | ops.Stride) -> None:
    array = ctx[op.array]
    ctx.set(op.result, (array.extents if isinstance(op, ops.Extent) else array.strides)[op.axis])


@lower(ops.AssumeDivisible)
def assume_divisible(ctx: Context, op: ops.AssumeDivisible) -> None:
    ctx.set(op.result, ctx[op.src])


@lower(ops.SliceArray)
def slice_array(ctx: Context, op: ops.SliceArray) -> None:
    b = ctx.b
    source: ArrayRef = ctx[op.array]
    type: ArrayType = op.result.type
    index = elem_of(type.index)
    start, stop = (ctx.integer(v, index) for v in (op.start, op.stop))
    stride = resized(b, source.strides[op.axis], True, "i64")
    offset = b.mul(b.mul(resized(b, start, True, "i64"), stride), type.dtype.bytes)
    extents = list(source.extents)
    known = type.extents[op.axis]
    extents[op.axis] = b.sub(stop, start) if known is None else b.const(index, known)
    ctx.set(op.result, replace(source, type=type, pointer=b.gep(source.pointer, offset), extents=tuple(extents)))


@lower(ops.RawView)
def raw_view(ctx: Context, op: ops.RawView) -> None:
    source: ArrayRef = ctx[op.array]
    type: ArrayType = op.result.type
    index = elem_of(type.index)
    # Accesses through the view are never checked: the extent is only a number.
    extent, stride = ctx.b.const(index, type.index.int_range[1]), ctx.b.const(index, 1)
    ctx.set(op.result, replace(source, type=type, extents=(extent,), strides=(stride,)))


@lower(ops.ListLength)
def list_length(ctx: Context, op: ops.ListLength) -> None:
    ctx.set(op.result, ctx[op.list].length)


@lower(ops.ListItem)
def list_item(ctx: Context, op: ops.ListItem) -> None:
    """A record holds, in int64, the pointer, the extents and the strides of one array."""
    b = ctx.b
    source: ListRef = ctx[op.list]
    type: ArrayType = op.result.type
    record = 8 * (1 + 2 * type.rank)
    base = b.gep(source.table, b.mul(ctx.integer(op.index, "i64"), record))
    index = elem_of(type.index)

    def number(slot: int, known: int | None) -> Val:
        if known is not None:
            return b.const(index, known)
        return resized(b, b.load("i64", 0, b.gep(base, 8 * slot), 8, invariant=True), True, index)

    extents = tuple(number(1 + k, type.extents[k]) for k in range(type.rank))
    strides = tuple(number(1 + type.rank + k, type.strides[k]) for k in range(type.rank))
    address = b.load("i64", 0, base, 8, invariant=True)
    pointer = b.emit(GLOBAL, 0, f"inttoptr {address} to {GLOBAL}")
    ctx.set(op.result, ArrayRef(type, pointer, extents, strides, read_only=False))
