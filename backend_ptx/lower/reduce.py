"""Reductions within a warp: a tree over the thread's registers, then shuffles between lanes.

Elements have 32 or 64 bits here (see widen_reductions), and no axis crosses warps (see split_reductions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import floats
from tilewright.backend_ptx.lower.arith import computed, extreme
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.positions import index_vector
from tilewright.backend_ptx.lower.registers import from_lane, halves, rearranged
from tilewright.backend_ptx.lower.registry import lower, refuse
from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import TileInternalError
from tilewright.tileir.dtypes import DType, bfloat16, float16, float32, int32
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.flat import LANE, LANE_BITS, REGISTER, WARP, is_plain, log2
from tilewright.tileir.layouts.reduced import partial_layout
from tilewright.tileir.machine_ops import reduce as machine
from tilewright.tileir.ops import reduce as ops
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.rules import RuleTable

refuse(ops.Histogram, "share_elements makes accesses of it", "this is a defect of the backend, please report it")

# Combines two groups of fragments (one fragment, or value and index) element by element.
Parts = tuple[Val, ...]
Combine = Callable[[Parts, Parts], Parts]


class _Walk:
    """A reduction along `axes`, of which the bits of `keep` stay apart: over registers, then lanes.

    `registers` and `lanes` are the bits of their numbers that are combined.
    """

    def __init__(self, ctx: Context, op: Any, axes: Sequence[int], keep: Sequence[int], combine: Combine) -> None:
        self.ctx, self.op, self.axes, self.keep, self.combine = ctx, op, tuple(axes), tuple(keep), combine
        self.layout = ctx.layout(op.src)
        self.registers, self.lanes, warps = (self._combined(dim) for dim in (REGISTER, LANE, WARP))
        assert not warps, "split_reductions has not run"

    def _combined(self, dim: str) -> list[int]:
        return [bit for bit, basis in enumerate(self.layout.bases(dim))
                if any(basis[axis] & ~mask for axis, mask in zip(self.axes, self.keep, strict=True))]

    def over_registers(self, parts: Parts, bits: Sequence[int]) -> Parts:
        """Halve the vectors once per bit, the highest bit first, so that halves lie together."""
        for bit in reversed(bits):
            parts = self.combine(*halves(self.ctx.b, parts, bit))
        return parts

    def across_lanes(self, parts: Parts) -> Parts:
        """Butterfly: after the step for a bit, lanes that differ in it hold the same."""
        b = self.ctx.b
        for bit in self.lanes:
            parts = self.combine(parts, tuple(from_lane(b, p, "bfly", b.const("i32", 1 << bit)) for p in parts))
        return parts

    def define(self, parts: Parts) -> None:
        """Give the results their types: the registers are in the order of the source's, the reduced ones left out."""
        for value, result in zip(parts, self.op.results, strict=True):
            if not result.type.shape:
                self.ctx.set(result, self.ctx.b.extract(value, 0))
                continue
            partial = partial_layout(self.layout, self.axes, self.keep)
            own = partial if partial.shape == result.type.shape else transform.reduce(partial, self.axes)
            self.ctx.set(result, rearranged(self.ctx, value, own, self.ctx.layout(result)))


class Reduced(_Walk):
    """A reduction of values: its kind's combination, and the warp's own instruction where there is one."""

    def __init__(self, ctx: Context, op: Any) -> None:
        machine_op = isinstance(op, machine.ReduceBits)
        kind = ops.reduction_of(op.kind) if machine_op else type(op)
        keep = op.keep if machine_op else (0,) * len(op.axes)
        super().__init__(ctx, op, op.axes, keep, combiner(kind)(ctx, op.src.type.dtype, op.attributes))
        self.whole_warp = _warp_instruction(kind, op.src.type.dtype) if len(self.lanes) == LANE_BITS else None
        exact = kind in (ops.ReduceMax, ops.ReduceMin) and not op.attributes.get("ftz")
        self.source = _narrow(op.src) if exact else op.src
        self.inner = combiner(kind)(ctx, self.source.type.dtype, op.attributes)

    def over_registers(self, parts: Parts, bits: Sequence[int]) -> Parts:
        """Of a source that is only widened, two of its registers at a time: it holds the same extremes."""
        b, outer, self.combine = self.ctx.b, self.combine, self.inner
        part, = super().over_registers(parts, bits)
        self.combine = outer
        return (part if self.source is self.op.src else b.cast("fpext", part, "float"),)

    def across_lanes(self, parts: Parts) -> Parts:
        if self.whole_warp is None:
            return super().across_lanes(parts)
        record, b = instruction(self.whole_warp), self.ctx.b
        return tuple(b.each(lambda x: record.emit1(b, x), value) for value in parts)


def _narrow(value: Value) -> Value:
    """The 16-bit floats of which a tile holds float32, or the tile."""
    op = value.op
    narrow = isinstance(op, Cast) and op.dtype is float32 and op.src.type.dtype in (bfloat16, float16)
    return op.src if isinstance(op, Cast) and narrow else value


@lower(ops.Reduction, machine.ReduceBits)
def reduction(ctx: Context, op: ops.Reduction | machine.ReduceBits) -> None:
    if not op.src.type.shape:
        ctx.set(op.result, ctx[op.src])
        return
    walk = Reduced(ctx, op)
    walk.define(walk.across_lanes(walk.over_registers((ctx[walk.source],), walk.registers)))


def can_reduce_strips(op: Op) -> bool:
    """Whether `StripReduction` takes an op."""
    return isinstance(op, (ops.Reduction, machine.ReduceBits)) and bool(op.src.type.shape)


class StripReduction:
    """A reduction that takes the registers of its source in strips of `size`, and combines what is left of each."""

    def __init__(self, ctx: Context, op: Op, size: int) -> None:
        self.ctx, self.walk = ctx, Reduced(ctx, op)
        inside = log2(size)
        self._inner = [bit for bit in self.walk.registers if bit < inside]
        self._combined = sum(1 << bit - inside for bit in self.walk.registers if bit >= inside)
        self._parts: dict[int, Parts] = {}

    def reduced(self, strip: Val) -> Parts:
        """What is left of a strip."""
        return self.walk.over_registers((strip,), self._inner)

    def combine(self, number: int, parts: Parts) -> None:
        """Take what is left of the strip with this number. Strips that differ in combined bits alone meet in one."""
        place = number & ~self._combined
        self._parts[place] = self.walk.combine(self._parts[place], parts) if place in self._parts else parts

    def finish(self) -> None:
        """Define the op's result."""
        value = self.ctx.b.concat([self._parts[place][0] for place in sorted(self._parts)])
        self.walk.define(self.walk.across_lanes((value,)))


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


def _by(function: Callable[..., Val], word: str, *options: str) -> Callable[[Context, DType, Options], Combine]:
    """The combination by a function of element-wise ops, which takes these options."""

    def rule(ctx: Context, dtype: DType, given: Options) -> Combine:
        combined = partial(function, ctx.b, word, dtype, *(given[option] for option in options))
        return lambda x, y: (combined(x[0], y[0]),)

    return rule


COMBINERS.add(ops.ReduceSum, _by(computed, "add", "rounding", "ftz"))
COMBINERS.add(ops.ReduceProd, _by(computed, "mul", "rounding", "ftz"))
COMBINERS.add(ops.ReduceMax, _by(extreme, "max", "propagate_nan", "ftz"))
COMBINERS.add(ops.ReduceMin, _by(extreme, "min", "propagate_nan", "ftz"))


@lower(ops.ArgReduction, machine.ArgReduceBits)
def arg_reduction(ctx: Context, op: ops.ArgReduction | machine.ArgReduceBits) -> None:
    """The extremes and their indices."""
    given, keep = (op.index, op.keep) if isinstance(op, machine.ArgReduceBits) else (None, 0)
    index = index_vector(ctx, ctx.layout(op.src), op.axis) if given is None else ctx[given]

    def combine(x: Parts, y: Parts) -> Parts:
        take = _second_wins(ctx.b, op.src.type.dtype, x, y, op.largest, op.propagate_nan)
        return tuple(ctx.b.select(take, q, p) for p, q in zip(x, y, strict=True))

    walk = _Walk(ctx, op, (op.axis,), (keep,), combine)
    if given is None and is_plain(walk.layout) and len(walk.registers) > 1:
        parts = _first_extremes(walk, op, index)
    else:
        parts = walk.across_lanes(walk.over_registers((ctx[op.src], index), walk.registers))
    walk.define(parts[-len(op.results):])


def _first_extremes(walk: _Walk, op: Any, index: Val) -> Parts:
    """The extremes, and the smallest indices at which they are: few instructions for each register and lane, where
    values with their indices take ten. The register of the lowest number has the smallest index."""
    b, source, dtype = walk.ctx.b, walk.ctx[op.src], op.src.type.dtype
    values, = _known_extremes(walk, op) or _extremes(walk, op)
    left = [bit for bit in range(log2(source.n)) if bit not in walk.registers]
    group = [sum((r >> bit & 1) << k for k, bit in enumerate(left)) for r in range(source.n)]
    same = b.shuffle(values, group)
    here = b.fcmp("oeq", source, same) if dtype.is_float else b.icmp("eq", source, same)
    if dtype.is_float and op.propagate_nan:
        here = b.or_(here, floats.isnan(b, source))
    walk.combine = _by(extreme, "min", "propagate_nan", "ftz")(walk.ctx, int32, {"propagate_nan": False, "ftz": False})
    indices, = walk.over_registers((b.select(here, index, b.like(index, (1 << 31) - 1)),), walk.registers)
    if dtype.is_float and not op.propagate_nan:  # of NaNs alone the first
        first = b.shuffle(index, [group.index(k) for k in range(values.n)])
        indices = b.select(floats.isnan(b, values), first, indices)
    return values, *walk.across_lanes((indices,))


def _extremes(walk: _Walk, op: Any) -> Parts:
    kind = ops.ReduceMax if op.largest else ops.ReduceMin
    walk.combine = combiner(kind)(walk.ctx, op.src.type.dtype, {"propagate_nan": op.propagate_nan, "ftz": False})
    return walk.across_lanes(walk.over_registers((walk.ctx[op.src],), walk.registers))


def _known_extremes(walk: _Walk, op: Any) -> Parts | None:
    """The same where the program has reduced the tile to them before, in this block."""
    ctx, kind = walk.ctx, ops.ReduceMax if op.largest else ops.ReduceMin
    for other in ctx.uses[op.src]:
        wanted = isinstance(other, kind) and (other.axes, other.propagate_nan, other.ftz) == (
            (op.axis,), op.propagate_nan, False)
        if wanted and ctx.homes[other] is ctx.homes[op] and other.result in ctx and other.result.type.shape:
            own = transform.reduce(partial_layout(walk.layout, walk.axes, walk.keep), walk.axes)
            return (rearranged(ctx, ctx[other.result], ctx.layout(other.result), own),)
    return None


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
