"""What is known of every integer value: its range and a divisor. One walk, with a small fixpoint at loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.tileir.analysis import ranges
from tilewright.tileir.analysis.ranges import IntFact, exactly, fit, join, top, widen
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import arith, arrays, control, convert, reduce, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType

__all__ = ["Facts", "IntFact", "facts"]

LARGEST_GRID = (1 << 24) - 1  # blocks along an axis
_ROUNDS = 2  # exact rounds at a loop before bounds that still move are widened
_DEPTH = 3  # loops nested deeper start from no knowledge of what they carry


class Facts(dict[Value, IntFact]):
    """Facts by value. Asking for an integer or bool value that was not seen gives what its dtype says."""

    def __missing__(self, value: Value) -> IntFact:
        return top(value.type.dtype)


def facts(function: Function) -> Facts:
    """The facts of every integer and bool tile (of any rank: the fact holds for each element)."""
    walk = _Walk()
    walk.block(function.body)
    return walk.known


def _is_integral(value: Value) -> bool:
    return isinstance(value.type, TileType) and not value.type.dtype.is_float


class _Walk:
    def __init__(self) -> None:
        self.known = Facts()
        self.depth = 0

    def block(self, block: Block) -> None:
        known = self.known
        for op in block.ops:
            if op._body_fields:
                self.structured(op)
                continue
            for result in op.results:
                type_ = result.type
                if type(type_) is TileType and not type_.dtype.is_float:
                    rule = RULES.of(op)
                    known[result] = rule(op, known) if rule is not None else top(type_.dtype)

    def structured(self, op: Any) -> None:
        match op:
            case control.If():
                self.block(op.then)
                self.block(op.orelse)
                self.meet(op.results, op.then.terminator.operands, op.orelse.terminator.operands)
            case control.For():
                self.known[op.loop.params[0]] = self.loop_variable(op)
                self.loop(op.init, op.loop.params[1:], op.loop, lambda: op.loop.terminator.operands)
                self.meet(op.results, op.loop.params[1:], op.loop.params[1:])
            case control.While():
                self.loop(op.init, op.before.params, op, lambda: op.after.terminator.operands)
                passed = op.before.terminator.operands[1:]
                self.meet(op.results, passed, passed)
            case _:  # an op of a backend: its bodies start from no knowledge
                for block in op.blocks:
                    self.block(block)

    def meet(self, targets: Sequence[Value], first: Sequence[Value], second: Sequence[Value]) -> None:
        for target, a, b in zip(targets, first, second, strict=True):
            if _is_integral(target):
                self.known[target] = join(self.known[a], self.known[b])

    def loop_variable(self, op: control.For) -> IntFact:
        lower, upper, step = (self.known[v] for v in (op.lower, op.upper, op.step))
        high = max(lower.low, upper.high - 1)
        first, stride = lower.constant, step.constant
        if first is not None and stride is not None and stride > 0:
            high = first + (high - first) // stride * stride
        # Within the bounds the sum lower + k * step does not wrap.
        return fit(lower.low, high, math.gcd(lower.divisor, step.divisor), op.lower.type.dtype)

    def loop(self, init: Sequence[Value], params: Sequence[Value], body: Any, last: Callable[[], list[Value]]) -> None:
        """Facts of carried values that hold on entry and after every iteration; leaves those of the body behind."""
        carried = [(p, i, n) for n, (p, i) in enumerate(zip(params, init, strict=True)) if _is_integral(p)]
        self.depth += 1
        for param, start, _ in carried:
            self.known[param] = self.known[start] if self.depth <= _DEPTH else top(param.type.dtype)
        rounds = 0
        while True:
            self.run(body)
            values = last()
            changed = False
            for param, _, n in carried:
                old, new = self.known[param], self.known[values[n]]
                both = join(old, new) if rounds < _ROUNDS else widen(old, new, param.type.dtype)
                if both != old:
                    self.known[param] = both
                    changed = True
            rounds += 1
            if not changed:
                break
        self.depth -= 1

    def run(self, body: Any) -> None:
        if isinstance(body, Block):
            self.block(body)
            return
        self.block(body.before)
        passed = body.before.terminator.operands[1:]
        self.meet(body.after.params, passed, passed)
        self.block(body.after)


Rule = Callable[[Any, Facts], IntFact]


def _binary(combine: Callable[[IntFact, IntFact, DType], IntFact]) -> Rule:
    return lambda op, known: combine(known[op.lhs], known[op.rhs], op.lhs.type.dtype)


def _compare(combine: Callable[[IntFact, IntFact], IntFact], swap: bool = False, opposite: bool = False) -> Rule:
    def rule(op: Any, known: Facts) -> IntFact:
        if op.lhs.type.dtype.is_float:
            return IntFact(0, 1, 1)
        lhs, rhs = (op.rhs, op.lhs) if swap else (op.lhs, op.rhs)
        truth = combine(known[lhs], known[rhs])
        return ranges.negate(truth) if opposite else truth

    return rule


def _same(op: Any, known: Facts) -> IntFact:
    return known[op.src]


def _constant(op: Any, known: Facts) -> IntFact:
    return exactly(int(op.value))


def _select(op: Any, known: Facts) -> IntFact:
    chosen = known[op.cond].constant
    if chosen is not None:
        return known[op.lhs if chosen else op.rhs]
    return join(known[op.lhs], known[op.rhs])


def _neg(op: Any, known: Facts) -> IntFact:
    return ranges.subtract(exactly(0), known[op.src], op.src.type.dtype)


def _abs(op: Any, known: Facts) -> IntFact:
    a = known[op.src]
    low = 0 if a.low <= 0 <= a.high else min(abs(a.low), abs(a.high))
    return fit(low, max(abs(a.low), abs(a.high)), a.divisor, op.src.type.dtype)


def _not(op: Any, known: Facts) -> IntFact:
    a, dtype = known[op.src], op.src.type.dtype
    if dtype.is_bool:
        return ranges.negate(a)
    if not dtype.is_signed:
        return fit(dtype.int_range[1] - a.high, dtype.int_range[1] - a.low, 1, dtype)
    return fit(-1 - a.high, -1 - a.low, 1, dtype)


def _cast(op: Any, known: Facts) -> IntFact:
    if op.src.type.dtype.is_float:
        return top(op.dtype)
    a = known[op.src]
    if op.dtype.is_bool:
        return ranges.negate(ranges.equal(a, exactly(0)))
    return fit(a.low, a.high, a.divisor, op.dtype)


def _bitcast(op: Any, known: Facts) -> IntFact:
    return top(op.dtype) if op.src.type.dtype.is_float else _cast(op, known)


def _extent(op: Any, known: Facts) -> IntFact:
    array = op.array.type
    known_extent = array.extents[op.axis]
    if known_extent is not None:
        return exactly(known_extent)
    return fit(0, array.index.int_range[1], array.extent_div[op.axis], array.index)


def _stride(op: Any, known: Facts) -> IntFact:
    array = op.array.type
    known_stride = array.strides[op.axis]
    if known_stride is not None:
        return exactly(known_stride)
    low, high = array.index.int_range
    return fit(low, high, array.stride_div[op.axis], array.index)


def _assume_divisible(op: Any, known: Facts) -> IntFact:
    a = known[op.src]
    return fit(a.low, a.high, math.lcm(a.divisor, op.divisor), op.src.type.dtype)


def _subtract(op: Any, known: Facts) -> IntFact:
    """The number of blocks along an axis is above that of each block: so are blocks numbered from the far end."""
    found = ranges.subtract(known[op.lhs], known[op.rhs], op.lhs.type.dtype)
    count, block, more = op.lhs.op, op.rhs.op, 0
    if isinstance(count, arith.Add) and (constant := known[count.rhs].constant) is not None:
        count, more = count.lhs.op, constant
    blocks = isinstance(count, arrays.NumBlocks) and isinstance(block, arrays.BlockId) and count.axis == block.axis
    if blocks and abs(more) < LARGEST_GRID:
        return fit(max(found.low, 1 + more), found.high, found.divisor, op.lhs.type.dtype)
    return found


def _reduce_sum(op: Any, known: Facts) -> IntFact:
    a, count = known[op.src], op.src.type.size // op.result.type.size
    return fit(a.low * count, a.high * count, a.divisor, op.src.type.dtype)


RULES: RuleTable[Rule] = RuleTable("facts", {
    arith.Constant: _constant,
    arith.Add: _binary(ranges.add),
    arith.Sub: _subtract,
    arith.Mul: _binary(ranges.multiply),
    arith.FloorDiv: _binary(ranges.floordiv),
    arith.CeilDiv: _binary(ranges.cdiv),
    arith.Mod: _binary(ranges.mod),
    arith.Min: _binary(ranges.minimum),
    arith.Max: _binary(ranges.maximum),
    arith.And: _binary(ranges.bit_and),
    arith.Or: _binary(ranges.bit_or),
    arith.Xor: _binary(ranges.bit_xor),
    arith.Shl: _binary(ranges.shift_left),
    arith.Shr: _binary(ranges.shift_right),
    arith.Lt: _compare(ranges.less),
    arith.Gt: _compare(ranges.less, swap=True),
    arith.Le: _compare(ranges.less_equal),
    arith.Ge: _compare(ranges.less_equal, swap=True),
    arith.Eq: _compare(ranges.equal),
    arith.Ne: _compare(ranges.equal, opposite=True),
    arith.Select: _select,
    functions.Neg: _neg,
    functions.Abs: _abs,
    functions.Not: _not,
    functions.BitCount: lambda op, known: IntFact(0, op.src.type.dtype.bitwidth, 1),
    convert.Cast: _cast,
    convert.Bitcast: _bitcast,
    arrays.BlockId: lambda op, known: IntFact(0, LARGEST_GRID - 1, 1),
    arrays.NumBlocks: lambda op, known: IntFact(1, LARGEST_GRID, 1),
    arrays.Extent: _extent,
    arrays.Stride: _stride,
    arrays.AssumeDivisible: _assume_divisible,
    arrays.ListLength: lambda op, known: IntFact(1, (1 << 31) - 1, 1),
    shape.Iota: lambda op, known: fit(0, op.size - 1, 1, op.dtype),
    shape.Broadcast: _same,
    shape.Reshape: _same,
    shape.Permute: _same,
    shape.Extract: _same,
    shape.Take: _same,
    shape.Cat: lambda op, known: join(known[op.lhs], known[op.rhs]),
    reduce.Reduction: lambda op, known: known[op.src] if op.idempotent else top(op.src.type.dtype),
    reduce.ReduceSum: _reduce_sum,
    reduce.ArgReduction: lambda op, known: fit(0, op.src.type.shape[op.axis] - 1, 1, op.result.type.dtype),
})
