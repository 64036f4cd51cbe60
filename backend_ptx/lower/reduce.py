"""Reductions within a warp: a tree over the thread's registers, then shuffles between lanes.

Elements have 32 or 64 bits here (see widen_reductions), and no axis crosses warps (see split_reductions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.layouts.flat import LANE, LANE_BITS, REGISTER, WARP
from tilewright.backend_ptx.layouts.reduced import partial_layout
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats
from tilewright.backend_ptx.lower.arith import extreme, rounded
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.positions import index_vector
from tilewright.backend_ptx.lower.registers import rearranged
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.ops import reduce as machine
from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import TileInternalError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops import reduce as ops
from tilewright.tileir.rules import RuleTable

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


@dataclass(frozen=True, slots=True)
class _Reduction:
    """What a reduction combines and how; `keep` holds the bits of the axes that stay apart."""

    src: Value
    result: Value
    axes: tuple[int, ...]
    keep: tuple[int, ...]
    kind: type[ops.Reduction]
    combine: Combine
    bits: _Bits


def _reduction(ctx: Context, op: ops.Reduction | machine.ReduceBits) -> _Reduction:
    if isinstance(op, ops.Reduction):
        kind, keep = type(op), (0,) * len(op.axes)
    else:
        kind, keep = ops.reduction_of(op.kind), op.keep
    combine = combiner(kind)(ctx, op.src.type.dtype, op.attributes)
    bits = _reduced_bits(ctx.layout(op.src), op.axes, keep)
    return _Reduction(op.src, op.result, op.axes, keep, kind, combine, bits)


@lower(ops.Reduction, machine.ReduceBits)
def reduction(ctx: Context, op: ops.Reduction | machine.ReduceBits) -> None:
    if not op.src.type.shape:
        ctx.set(op.result, ctx[op.src])
        return
    r = _reduction(ctx, op)
    (value,) = _over_registers(ctx.b, (ctx[op.src],), r.bits.registers, r.combine)
    _across_lanes(ctx, r, value)


def _across_lanes(ctx: Context, r: _Reduction, value: Val) -> None:
    """The rest of a reduction, when each thread has combined its registers."""
    bits, dtype = r.bits, r.src.type.dtype
    whole_warp = _warp_instruction(r.kind, dtype) if len(bits.lanes) == LANE_BITS else None
    if whole_warp is not None:
        value = ctx.b.each(lambda x: instruction(whole_warp).emit1(ctx.b, x), value)
    else:
        (value,) = _over_lanes(ctx.b, (value,), bits.lanes, r.combine)
    _finish(ctx, value, ctx.layout(r.src), r.axes, r.keep, r.result)


def can_reduce_strips(op: Op) -> bool:
    """Whether `StripReduction` takes an op."""
    return isinstance(op, (ops.Reduction, machine.ReduceBits)) and bool(op.src.type.shape)


class StripReduction:
    """A reduction that takes the registers of its source in strips of `size`, and combines them as they come."""

    def __init__(self, ctx: Context, op: Op, size: int) -> None:
        assert isinstance(op, (ops.Reduction, machine.ReduceBits))
        self.ctx = ctx
        self.reduction = _reduction(ctx, op)
        inside = size.bit_length() - 1
        registers = self.reduction.bits.registers
        self._inner = tuple(bit for bit in registers if bit < inside)
        self._combined = sum(1 << bit - inside for bit in registers if bit >= inside)
        self._parts: dict[int, Val] = {}

    def take(self, number: int, strip: Val) -> None:
        """The strip with this number. Strips that differ in combined bits alone meet in one part."""
        (value,) = _over_registers(self.ctx.b, (strip,), self._inner, self.reduction.combine)
        place = number & ~self._combined
        if place in self._parts:
            (value,) = self.reduction.combine((self._parts[place],), (value,))
        self._parts[place] = value

    def finish(self) -> None:
        """Define the op's result."""
        value = self.ctx.b.concat([self._parts[place] for place in sorted(self._parts)])
        _across_lanes(self.ctx, self.reduction, value)


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


_REDUX: dict[type[ops.Reduction], str] = {ops.ReduceSum: "add", ops.ReduceMax: "max", ops.ReduceMin: "min"}


def _warp_instruction(kind: type[ops.Reduction], dtype: DType) -> str | None:
    """`redux.sync`, which reduces 32-bit integers over a warp in one instruction."""
    if not dtype.is_int or dtype.bitwidth != 32 or kind not in _REDUX:
        return None
    return f"redux.{_REDUX[kind]}.{'s32' if dtype.is_signed else 'u32'}"


Options = dict[str, Any]
COMBINERS: RuleTable[Callable[[Context, DType, Options], Combine]] = RuleTable("combination in lower/reduce.py")
"""How two fragments of a reduction become one, given the dtype and the op's attributes."""


def combiner(kind: type[ops.Reduction]) -> Callable[[Context, DType, Options], Combine]:
    """The combination of a kind of reduction."""
    found = COMBINERS.of_class(kind)
    if found is None:
        raise TileInternalError(f"{kind.opcode} has no {COMBINERS.what}")
    return found


def _extremes(word: str) -> Callable[[Context, DType, Options], Combine]:
    def rule(ctx: Context, dtype: DType, options: Options) -> Combine:
        nan, ftz = options["propagate_nan"], options["ftz"]
        return lambda x, y: (extreme(ctx.b, word, dtype, nan, ftz, x[0], y[0]),)

    return rule


def _arithmetic(word: str) -> Callable[[Context, DType, Options], Combine]:
    def rule(ctx: Context, dtype: DType, options: Options) -> Combine:
        rounding, ftz = options["rounding"], options["ftz"]
        if not dtype.is_float:
            return lambda x, y: (ctx.b.binary(word, x[0], y[0]),)
        if rounding is RoundingMode.RN and not ftz:
            return lambda x, y: (floats.arithmetic(ctx.b, f"f{word}", x[0], y[0]),)
        return lambda x, y: (rounded(ctx, word, rounding, ftz, x[0], y[0]),)

    return rule


COMBINERS.add(ops.ReduceSum, _arithmetic("add"))
COMBINERS.add(ops.ReduceProd, _arithmetic("mul"))
COMBINERS.add(ops.ReduceMax, _extremes("max"))
COMBINERS.add(ops.ReduceMin, _extremes("min"))


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


@lower(ops.ArgReduction)
def arg_reduction(ctx: Context, op: ops.ArgReduction) -> None:
    layout, axes = ctx.layout(op.src), (op.axis,)
    index = index_vector(ctx, layout, op.axis)
    _, best = _arg_reduce(ctx, op.src, index, op.axis, 0, op.largest, op.propagate_nan)
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
