"""Reductions within a warp: a tree over the thread's registers, then shuffles between lanes.

Elements have 32 or 64 bits here (see widen_reductions), and no axis crosses warps (see split_reductions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.flat import LANE, LANE_BITS, REGISTER, WARP
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats
from tilewright.backend_ptx.lower.arith import extreme, rounded
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.positions import index_vector
from tilewright.backend_ptx.lower.registers import rearranged
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.ops import reduce as machine
from tilewright.backend_ptx.passes.reductions.split_reductions import KIND, partial_layout
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops import reduce as ops

# Combines two groups of fragments (one fragment, or value and index) element by element.
Parts = tuple[Val, ...]
Combine = Callable[[Parts, Parts], Parts]


@dataclass(frozen=True, slots=True)
class _Bits:
    """Which bits of the register and lane numbers a reduction combines."""

    registers: tuple[int, ...]
    lanes: tuple[int, ...]


def _reduced_bits(layout: Layout, axes: Sequence[int], keep: Sequence[int]) -> _Bits:
    def reduced(dim: str) -> tuple[int, ...]:
        return tuple(
            bit for bit, basis in enumerate(layout.bases(dim))
            if any(basis[axis] & ~mask for axis, mask in zip(axes, keep, strict=True))
        )

    assert not reduced(WARP), "split_reductions has not run"
    return _Bits(reduced(REGISTER), reduced(LANE))


@lower(ops.ReduceSum, ops.ReduceProd, ops.ReduceMax, ops.ReduceMin)
def reduction(ctx: Context, op: ops.Reduction) -> None:
    none = (0,) * len(op.axes)
    _reduce(ctx, op.src, op.axes, none, op.result, KIND[type(op)], op.attributes)


@lower(machine.ReduceBits)
def reduce_bits(ctx: Context, op: machine.ReduceBits) -> None:
    _reduce(ctx, op.src, op.axes, op.keep, op.result, op.kind, op.attributes)


def _reduce(
    ctx: Context, src: Value, axes: tuple[int, ...], keep: tuple[int, ...], result: Value, kind: str,
    options: dict[str, object],
) -> None:
    dtype: DType = src.type.dtype
    if not src.type.shape:
        ctx.set(result, ctx[src])
        return
    bits = _reduced_bits(ctx.layout(src), axes, keep)
    combine = _combiner(ctx, dtype, kind, options)
    (value,) = _over_registers(ctx.b, (ctx[src],), bits.registers, combine)
    _across_lanes(ctx, src, value, bits, axes, keep, result, kind, combine)


def _across_lanes(
    ctx: Context, src: Value, value: Val, bits: _Bits, axes: tuple[int, ...], keep: tuple[int, ...], result: Value,
    kind: str, combine: Combine,
) -> None:
    """The rest of a reduction, when each thread has combined its registers."""
    layout, dtype = ctx.layout(src), src.type.dtype
    whole_warp = _warp_instruction(kind, dtype) if len(bits.lanes) == LANE_BITS else None
    if whole_warp is not None:
        value = ctx.b.each(lambda x: instruction(whole_warp).emit1(ctx.b, x), value)
    else:
        (value,) = _over_lanes(ctx.b, (value,), bits.lanes, combine)
    _finish(ctx, value, layout, axes, keep, result)


def can_reduce_strips(op: Op) -> bool:
    """Whether `StripReduction` takes an op."""
    return isinstance(op, (ops.Reduction, machine.ReduceBits)) and bool(op.src.type.shape)


class StripReduction:
    """A reduction that takes the registers of its source in strips of `size`, and combines them as they come."""

    def __init__(self, ctx: Context, op: Op, size: int) -> None:
        self.ctx, self.op = ctx, op
        if isinstance(op, machine.ReduceBits):
            self.axes, self.keep, self.kind = op.axes, op.keep, op.kind
        else:
            assert isinstance(op, ops.Reduction)
            self.axes, self.keep, self.kind = op.axes, (0,) * len(op.axes), KIND[type(op)]
        self.src: Value = op.operands[0]
        self.bits = _reduced_bits(ctx.layout(self.src), self.axes, self.keep)
        self.combine = _combiner(ctx, self.src.type.dtype, self.kind, op.attributes)
        inside = size.bit_length() - 1
        self._inner = tuple(bit for bit in self.bits.registers if bit < inside)
        self._combined = sum(1 << bit - inside for bit in self.bits.registers if bit >= inside)
        self._parts: dict[int, Val] = {}

    def take(self, number: int, strip: Val) -> None:
        """The strip with this number. Strips that differ in combined bits alone meet in one part."""
        (value,) = _over_registers(self.ctx.b, (strip,), self._inner, self.combine)
        place = number & ~self._combined
        if place in self._parts:
            (value,) = self.combine((self._parts[place],), (value,))
        self._parts[place] = value

    def finish(self) -> None:
        """Define the op's result."""
        value = self.ctx.b.concat([self._parts[place] for place in sorted(self._parts)])
        _across_lanes(self.ctx, self.src, value, self.bits, self.axes, self.keep, self.op.results[0], self.kind,
                      self.combine)


def _finish(
    ctx: Context, value: Val, layout: Layout, axes: tuple[int, ...], keep: tuple[int, ...], result: Value,
) -> None:
    """Give a result its type: the registers are in the order of the source's, the reduced ones left out."""
    if not result.type.shape:
        ctx.set(result, ctx.b.extract(value, 0))
        return
    partial = partial_layout(layout, axes, keep)
    own = partial if partial.shape == result.type.shape else _dropped(partial, axes)
    ctx.set(result, rearranged(ctx, value, own, ctx.layout(result)))


def _dropped(layout: Layout, axes: tuple[int, ...]) -> Layout:
    """The layout without axes of length 1."""
    kept = [k for k in range(len(layout.shape)) if k not in axes]
    dims = [(dim, [tuple(b[k] for k in kept) for b in bases]) for dim, bases in layout.dims]
    return Layout(dims, [layout.shape[k] for k in kept])


def _warp_instruction(kind: str, dtype: DType) -> str | None:
    """`redux.sync`, which reduces 32-bit integers over a warp in one instruction."""
    if not dtype.is_int or dtype.bitwidth != 32 or kind == "prod":
        return None
    word = "add" if kind == "sum" else kind
    return f"redux.{word}.{'s32' if dtype.is_signed else 'u32'}"


def _combiner(ctx: Context, dtype: DType, kind: str, options: dict[str, object]) -> Combine:
    b = ctx.b
    ftz = bool(options.get("ftz", False))
    if kind in ("max", "min"):
        nan = bool(options.get("propagate_nan", False))
        return lambda x, y: (extreme(b, kind, dtype, nan, ftz, x[0], y[0]),)
    word = "add" if kind == "sum" else "mul"
    rounding = options.get("rounding", RoundingMode.RN)
    if not dtype.is_float:
        return lambda x, y: (b.binary(word, x[0], y[0]),)
    if rounding is RoundingMode.RN and not ftz:
        return lambda x, y: (floats.arithmetic(b, f"f{word}", x[0], y[0]),)
    assert isinstance(rounding, RoundingMode)
    return lambda x, y: (rounded(ctx, word, rounding, ftz, x[0], y[0]),)


def _over_registers(b: Builder, parts: Parts, bits: tuple[int, ...], combine: Combine) -> Parts:
    """Halve the vectors once per bit, the highest bit first, so that halves lie together."""
    for bit in reversed(bits):
        lanes = [r for r in range(parts[0].n) if not r >> bit & 1]
        low = tuple(b.shuffle(p, lanes) for p in parts)
        high = tuple(b.shuffle(p, [r | 1 << bit for r in lanes]) for p in parts)
        parts = combine(low, high)
    return parts


def _over_lanes(b: Builder, parts: Parts, bits: tuple[int, ...], combine: Combine) -> Parts:
    """Butterfly: after the step for a bit, lanes that differ in it hold the same."""
    for bit in bits:
        parts = combine(parts, tuple(_from_lane(b, p, 1 << bit) for p in parts))
    return parts


def _from_lane(b: Builder, value: Val, mask: int) -> Val:
    """The vector of the lane whose number differs in `mask`."""
    shuffle = instruction("shfl.bfly")
    wide = value.elem in ("double", "i64")
    words = b.bitcast(value, "i32", value.n * 2 if wide else value.n)
    distance = b.const("i32", mask)
    moved = [shuffle.emit1(b, b.extract(words, i), distance) for i in range(words.n)]
    return b.bitcast(b.vector(moved), value.elem, value.n)


@lower(ops.ArgMax, ops.ArgMin)
def arg_reduction(ctx: Context, op: ops.ArgReduction) -> None:
    largest = isinstance(op, ops.ArgMax)
    layout, axes = ctx.layout(op.src), (op.axis,)
    index = index_vector(ctx, layout, op.axis)
    _, best = _arg_reduce(ctx, op.src, index, op.axis, 0, largest, op.propagate_nan)
    _finish(ctx, best, layout, axes, (0,), op.result)


@lower(machine.ArgReduceBits)
def arg_reduce_bits(ctx: Context, op: machine.ArgReduceBits) -> None:
    layout = ctx.layout(op.src)
    index = index_vector(ctx, layout, op.axis) if op.index is None else ctx[op.index]
    found = _arg_reduce(ctx, op.src, index, op.axis, op.keep, op.largest, op.propagate_nan)
    for value, result in zip(found, op.results, strict=True):
        _finish(ctx, value, layout, (op.axis,), (op.keep,), result)


def _arg_reduce(
    ctx: Context, src: Value, index: Val, axis: int, keep: int, largest: bool, propagate_nan: bool,
) -> Parts:
    """The extremes and their indices."""
    b, dtype = ctx.b, src.type.dtype
    bits = _reduced_bits(ctx.layout(src), (axis,), (keep,))

    def combine(x: Parts, y: Parts) -> Parts:
        take = _second_wins(b, dtype, x, y, largest, propagate_nan)
        return tuple(b.select(take, q, p) for p, q in zip(x, y, strict=True))

    parts = _over_registers(b, (ctx[src], index), bits.registers, combine)
    return _over_lanes(b, parts, bits.lanes, combine)


def _second_wins(b: Builder, dtype: DType, x: Parts, y: Parts, largest: bool, propagate_nan: bool) -> Val:
    """Whether (value, index) y beats x: a better value, or an equal one at a smaller index."""
    earlier = b.icmp("slt", y[1], x[1])
    if not dtype.is_float:
        word = ("s" if dtype.is_signed else "u") + ("gt" if largest else "lt")
        return b.or_(b.icmp(word, y[0], x[0]), b.and_(b.icmp("eq", y[0], x[0]), earlier))
    x_nan, y_nan = floats.isnan(b, x[0]), floats.isnan(b, y[0])
    better = b.fcmp("ogt" if largest else "olt", y[0], x[0])
    equal = b.or_(b.fcmp("oeq", y[0], x[0]), b.and_(x_nan, y_nan))
    # With propagate_nan a NaN beats every number, else every number beats a NaN.
    over_nan = b.and_(y_nan, b.xor(x_nan, 1)) if propagate_nan else b.and_(x_nan, b.xor(y_nan, 1))
    return b.or_(b.or_(better, over_nan), b.and_(equal, earlier))
