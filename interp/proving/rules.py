"""The formulas of ops: integer arithmetic without wrapping, comparisons, masks, and changes of shape."""

from __future__ import annotations

import functools
from typing import Any

from tilewright.interp.proving.places import extent_of
from tilewright.interp.proving.solver import Formula, z3
from tilewright.interp.proving.terms import RULES, Coordinates, Terms
from tilewright.tileir.ops import arith, arrays, convert, shape


def _is_int(op: Any) -> bool:
    return bool(op.result.type.dtype.is_int)


def _of_ints(compute: Any) -> Any:
    """A rule for two integer operands."""
    @functools.wraps(compute)
    def rule(t: Terms, op: Any, at: Coordinates) -> Formula | None:
        return compute(t, t.at(op.lhs, at), t.at(op.rhs, at)) if op.lhs.type.dtype.is_int else None
    return rule


@RULES.register(arith.Constant)
def constant(t: Terms, op: arith.Constant, at: Coordinates) -> Formula | None:
    if op.type.dtype.is_bool:
        return z3().BoolVal(bool(op.value))
    return z3().IntVal(int(op.value)) if op.type.dtype.is_int else None


RULES[arith.Add] = _of_ints(lambda t, a, b: a + b)
RULES[arith.Sub] = _of_ints(lambda t, a, b: a - b)
RULES[arith.Mul] = _of_ints(lambda t, a, b: t.world.product(a, b))
RULES[arith.Min] = _of_ints(lambda t, a, b: z3().If(a <= b, a, b))
RULES[arith.Max] = _of_ints(lambda t, a, b: z3().If(a >= b, a, b))
RULES[arith.FloorDiv] = _of_ints(lambda t, a, b: t.quotient(a, b)[0])
RULES[arith.Mod] = _of_ints(lambda t, a, b: t.quotient(a, b)[1])
RULES[arith.CeilDiv] = _of_ints(lambda t, a, b: t.quotient(a + b - 1, b)[0])
RULES[arith.Lt] = _of_ints(lambda t, a, b: a < b)
RULES[arith.Le] = _of_ints(lambda t, a, b: a <= b)
RULES[arith.Gt] = _of_ints(lambda t, a, b: a > b)
RULES[arith.Ge] = _of_ints(lambda t, a, b: a >= b)


@RULES.register(arith.Eq)
def equal(t: Terms, op: arith.Eq, at: Coordinates) -> Formula | None:
    return None if op.lhs.type.dtype.is_float else t.at(op.lhs, at) == t.at(op.rhs, at)


@RULES.register(arith.Ne)
def unequal(t: Terms, op: arith.Ne, at: Coordinates) -> Formula | None:
    return None if op.lhs.type.dtype.is_float else t.at(op.lhs, at) != t.at(op.rhs, at)


@RULES.register(arith.And)
def both(t: Terms, op: arith.And, at: Coordinates) -> Formula | None:
    """Of masks; of integers with the constants 1, 3, 7, ..., which are remainders."""
    if op.result.type.dtype.is_bool:
        return z3().And(t.at(op.lhs, at), t.at(op.rhs, at))
    number = op.rhs.op
    if isinstance(number, arith.Constant) and int(number.value) >= 0 and not int(number.value) & int(number.value) + 1:
        return t.at(op.lhs, at) % (int(number.value) + 1)
    return None


@RULES.register(arith.Or)
def either(t: Terms, op: arith.Or, at: Coordinates) -> Formula | None:
    return z3().Or(t.at(op.lhs, at), t.at(op.rhs, at)) if op.result.type.dtype.is_bool else None


@RULES.register(arith.Xor)
def differ(t: Terms, op: arith.Xor, at: Coordinates) -> Formula | None:
    return z3().Xor(t.at(op.lhs, at), t.at(op.rhs, at)) if op.result.type.dtype.is_bool else None


@RULES.register(arith.Shl)
def shift_left(t: Terms, op: arith.Shl, at: Coordinates) -> Formula | None:
    number = op.rhs.op
    return t.at(op.lhs, at) * (1 << int(number.value)) if isinstance(number, arith.Constant) else None


@RULES.register(arith.Shr)
def shift_right(t: Terms, op: arith.Shr, at: Coordinates) -> Formula | None:
    number = op.rhs.op
    return t.at(op.lhs, at) / (1 << int(number.value)) if isinstance(number, arith.Constant) else None


@RULES.register(arith.Select)
def select(t: Terms, op: arith.Select, at: Coordinates) -> Formula | None:
    if op.result.type.dtype.is_float:
        return None
    return z3().If(t.at(op.cond, at), t.at(op.lhs, at), t.at(op.rhs, at))


@RULES.register(convert.Cast)
def cast(t: Terms, op: convert.Cast, at: Coordinates) -> Formula | None:
    have, want = op.src.type.dtype, op.dtype
    if have.is_float or want.is_float:
        return None
    value = t.at(op.src, at)
    if have.is_bool:
        return value if want.is_bool else z3().If(value, 1, 0)
    return value != 0 if want.is_bool else value


@RULES.register(arrays.BlockId)
def block_id(t: Terms, op: arrays.BlockId, at: Coordinates) -> Formula:
    return t.block[op.axis]


@RULES.register(arrays.NumBlocks)
def num_blocks(t: Terms, op: arrays.NumBlocks, at: Coordinates) -> Formula:
    return t.world.grid[op.axis]


@RULES.register(arrays.Extent)
def extent(t: Terms, op: arrays.Extent, at: Coordinates) -> Formula:
    return extent_of(t, op.array, op.axis)


@RULES.register(arrays.AssumeDivisible)
def assume_divisible(t: Terms, op: arrays.AssumeDivisible, at: Coordinates) -> Formula:
    value = t.at(op.src, at)
    t.require(value % op.divisor == 0)
    return value


@RULES.register(shape.Iota)
def iota(t: Terms, op: shape.Iota, at: Coordinates) -> Formula:
    return at[0]


@RULES.register(shape.Broadcast)
def broadcast(t: Terms, op: shape.Broadcast, at: Coordinates) -> Formula:
    lengths = op.src.type.shape
    return t.at(op.src, tuple(z3().IntVal(0) if n == 1 else c for n, c in zip(lengths, at, strict=False)))


@RULES.register(shape.Permute)
def permute(t: Terms, op: shape.Permute, at: Coordinates) -> Formula:
    source: list[Any] = [None] * len(at)
    for axis, coordinate in zip(op.axes, at, strict=True):
        source[axis] = coordinate
    return t.at(op.src, tuple(source))


@RULES.register(shape.Reshape)
def reshape(t: Terms, op: shape.Reshape, at: Coordinates) -> Formula:
    """Axes of length 1 come and go; any other change goes through the element's number in row-major order."""
    have, want = op.src.type.shape, op.shape
    long = [c for n, c in zip(want, at, strict=True) if n != 1]
    if [n for n in have if n != 1] == [n for n in want if n != 1]:
        rest = iter(long)
        return t.at(op.src, tuple(z3().IntVal(0) if n == 1 else next(rest) for n in have))
    number: Any = z3().IntVal(0)
    for n, c in zip(want, at, strict=True):
        number = number * n + c
    source: list[Any] = []
    for n in reversed(have):
        source.append(number % n)
        number = number / n
    return t.at(op.src, tuple(reversed(source)))


@RULES.register(shape.Extract)
def extract(t: Terms, op: shape.Extract, at: Coordinates) -> Formula:
    lengths = op.result.type.shape
    return t.at(op.src, tuple(t.at(i) * n + c for i, n, c in zip(op.index, lengths, at, strict=True)))
