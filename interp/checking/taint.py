"""Shadows of values: which elements are undefined, and from where. One rule for each family of ops.

The shadow of a value is None (all is defined), or an array of its shape with a number of `Origins` for each element. A
rule gives a step that computes the shadows of the results, after the op. Elements of results are undefined if they
depend on an undefined one: what a mask excludes does not, nor does `x & 0` of integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from tilewright.interp.checking.origins import SHADOW, Origins
from tilewright.interp.checking.suspects import has_domain, outside_of_domain
from tilewright.interp.chunk import Regs
from tilewright.interp.handlers.reduce import axes_of
from tilewright.interp.lowering import HANDLERS, Step
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import arith, convert, matmul, reduce, shape
from tilewright.tileir.rules import RuleTable

Shadow = Any  # None, or an ndarray of SHADOW


class Shadows(Protocol):
    """What rules ask of the lowering."""

    origins: Origins

    def slot(self, value: Value) -> int: ...
    def varies(self, value: Value) -> bool: ...
    def shadow(self, value: Value) -> int: ...
    def full(self, value: Value) -> Callable[[Regs], Any]: ...


TAINT: RuleTable[Callable[[Any, Any], Step]] = RuleTable("rule for undefined values")


def joined(parts: list[Shadow]) -> Shadow:
    """What depends on all of these."""
    out: Shadow = None
    for part in parts:
        if part is not None:
            out = part if out is None or out is part else np.maximum(out, part)
    return out


def fitted(value: Shadow, whole: tuple[int, ...] | None) -> Shadow:
    """A shadow in the shape of its value."""
    return value if value is None or whole is None or value.shape == whole else np.broadcast_to(value, whole)


def cleared(value: Shadow) -> Shadow:
    return value if value is None or value.any() else None


@TAINT.register(Op)
def join(op: Op, low: Shadows) -> Step:
    """Each element depends on those at the same place."""
    [result] = op.results
    sources = list(dict.fromkeys(low.shadow(v) for v in op.operands))
    target, whole = low.shadow(result), low.full(result)

    def step(regs: Regs) -> None:
        out = None
        for source in sources:
            part = regs[source]
            if part is not None:
                out = part if out is None or out is part else np.maximum(out, part)
        regs[target] = out if out is None else fitted(out, whole(regs))
    return step


def follows_shadows(op: Op) -> bool:
    """Does the rule of an op look at nothing but the shadows of its operands?"""
    return TAINT.of(op) is join or (isinstance(op, arith.Mul) and op.lhs.type.dtype.is_float)


def _absorbing(op: Any, low: Shadows, neutral: Any) -> Step:
    """As `join`; but where one operand is defined and has this value, the result does not depend on the other."""
    a, b, target, whole = low.slot(op.lhs), low.slot(op.rhs), low.shadow(op.result), low.full(op.result)
    first, second = low.shadow(op.lhs), low.shadow(op.rhs)

    def step(regs: Regs) -> None:
        one, other = regs[first], regs[second]
        if one is None and other is None:
            regs[target] = None
            return
        decided = ((regs[a] == neutral) & (one is None or one == 0)) | ((regs[b] == neutral) & (
            other is None or other == 0))
        out = np.where(decided, SHADOW.type(0), joined([one, other]))
        regs[target] = cleared(fitted(out, whole(regs)))
    return step


@TAINT.register(arith.And)
def and_(op: arith.And, low: Shadows) -> Step:
    return _absorbing(op, low, 0)


@TAINT.register(arith.Or)
def or_(op: arith.Or, low: Shadows) -> Step:
    return _absorbing(op, low, True if op.lhs.type.dtype.is_bool else -1)


@TAINT.register(arith.Mul)
def mul(op: arith.Mul, low: Shadows) -> Step:
    return join(op, low) if op.lhs.type.dtype.is_float else _absorbing(op, low, 0)


@TAINT.register(arith.Select)
def select(op: arith.Select, low: Shadows) -> Step:
    cond, a, b = (low.slot(v) for v in op.operands)
    of_cond, of_a, of_b = (low.shadow(v) for v in op.operands)
    target, whole = low.shadow(op.result), low.full(op.result)
    zero = SHADOW.type(0)

    def step(regs: Regs) -> None:
        unsure, one, other = regs[of_cond], regs[of_a], regs[of_b]
        out = None
        if one is not None or other is not None:
            out = np.where(regs[cond], zero if one is None else one, zero if other is None else other)
        if unsure is not None:
            same = np.where((regs[a] == regs[b]) & (joined([one, other]) is None), zero, unsure)
            out = same if out is None else np.maximum(out, same)
        regs[target] = out if out is None else cleared(fitted(out, whole(regs)))
    return step


@TAINT.register(arith.FloorDiv)
@TAINT.register(arith.CeilDiv)
@TAINT.register(arith.Mod)
@TAINT.register(arith.Shl)
@TAINT.register(arith.Shr)
def within_a_domain(op: Any, low: Shadows) -> Step:
    """Divisions of integers, and shifts."""
    after = join(op, low)
    if not has_domain(op):
        return after
    operand, target, whole = low.slot(op.rhs), low.shadow(op.result), low.full(op.result)
    number = SHADOW.type(low.origins.of(op))

    def step(regs: Regs) -> None:
        after(regs)
        wrong = np.asarray(outside_of_domain(op, regs[operand]))
        if wrong.any():
            regs[target] = fitted(joined([regs[target], np.where(wrong, number, SHADOW.type(0))]), whole(regs))
    return step


@TAINT.register(shape.Broadcast)
@TAINT.register(shape.Reshape)
@TAINT.register(shape.Permute)
@TAINT.register(shape.Cat)
@TAINT.register(shape.Extract)
@TAINT.register(shape.Take)
def moved(op: Any, low: Any) -> Step:
    """Elements change places: the op's own closure moves their shadows. Indices decide over all of them."""
    tiles = [v for v in op.operands if v not in _indices(op)]
    sources, target, whole = [low.shadow(v) for v in tiles], low.shadow(op.result), low.full(op.result)
    shapes = [low.full(v) for v in tiles]
    entry = HANDLERS.of(op)
    assert entry is not None
    move = entry.handler(op, low)
    indices, of_indices = [low.slot(v) for v in _indices(op)], [low.shadow(v) for v in _indices(op)]
    outside = _outside(op, low)

    def step(regs: Regs) -> None:
        parts, out = [regs[s] for s in sources], None
        if any(part is not None for part in parts):
            given = [np.zeros(shape(regs), SHADOW) if part is None else part
                     for part, shape in zip(parts, shapes, strict=True)]
            out = cleared(move(*given, *(regs[i] for i in indices)))
        unsure = joined([_over(regs[i], out_rank) for i in of_indices])
        wrong = outside(regs) if outside is not None else None
        out = joined([out, unsure, wrong])
        regs[target] = out if out is None else fitted(out, whole(regs))

    out_rank = len(op.result.type.shape)
    return step


def _indices(op: Any) -> tuple[Value, ...]:
    if isinstance(op, shape.Extract):
        return op.index
    return (op.index,) if isinstance(op, shape.Take) else ()


def _over(value: Shadow, rank: int) -> Shadow:
    """The shadow of a scalar as one that stands over a tile's axes."""
    return value if value is None or value.ndim != 1 or rank == 0 else value.reshape(-1, *(1,) * rank)


def _outside(op: Any, low: Shadows) -> Callable[[Regs], Shadow] | None:
    """Which sub-tiles lie outside of the tile: what they hold is undefined."""
    if not isinstance(op, shape.Extract):
        return None
    counts = [n // m for n, m in zip(op.src.type.shape, op.shape, strict=True)]
    places, number, rank = [low.slot(i) for i in op.index], SHADOW.type(low.origins.of(op)), len(op.shape)

    def outside(regs: Regs) -> Shadow:
        wrong: Any = False
        for place, count in zip(places, counts, strict=True):
            wrong = wrong | (regs[place] < 0) | (regs[place] >= count)
        return _over(np.where(wrong, number, SHADOW.type(0)), rank) if np.any(wrong) else None
    return outside


@TAINT.register(reduce.Reduction)
@TAINT.register(reduce.ArgReduction)
def reduction(op: Any, low: Any) -> Step:
    axes, source, target = axes_of(op, low), low.shadow(op.src), low.shadow(op.result)
    values = low.slot(op.src)
    # One True decides over the maximum of bools, one False over the minimum.
    decides = isinstance(op, reduce.ReduceMax) if _of_bools(op.src) and isinstance(
        op, reduce.ReduceMax | reduce.ReduceMin) else None

    def step(regs: Regs) -> None:
        part = regs[source]
        if part is None:
            regs[target] = None
            return
        out = np.asarray(part.max(axis=axes))
        if decides is not None:
            decided = ((regs[values] == decides) & (part == 0)).any(axis=axes)
            out = np.where(decided, SHADOW.type(0), out)
        regs[target] = cleared(out)
    return step


def _of_bools(value: Value) -> bool:
    """Are these bools, or the 0 and 1 that `any` and `all` make of them?"""
    made = value.op
    return bool(value.type.dtype.is_bool or (isinstance(made, convert.Cast) and made.src.type.dtype.is_bool))


@TAINT.register(matmul.Mma)
def mma(op: matmul.Mma, low: Shadows) -> Step:
    a, b, acc = (low.shadow(v) for v in (op.a, op.b, op.acc))
    left, right = low.slot(op.a), low.slot(op.b)
    target, whole = low.shadow(op.result), low.full(op.result)
    integers = op.a.type.dtype.is_int

    def step(regs: Regs) -> None:
        one, other = regs[a], regs[b]
        if integers:  # zeros make a product defined
            one, other = _unless_zero(one, regs[right], other, -2), _unless_zero(other, regs[left], one, -1)
        rows = None if one is None else one.max(axis=-1)[..., :, None]
        columns = None if other is None else other.max(axis=-2)[..., None, :]
        out = joined([rows, columns, regs[acc]])
        regs[target] = out if out is None else cleared(fitted(out, whole(regs)))
    return step


def _unless_zero(part: Shadow, factors: Any, of_factors: Shadow, axis: int) -> Shadow:
    """The shadow of one side without the positions of K at which the other side has nothing but defined zeros."""
    if part is None:
        return None
    zero = (factors == 0) if of_factors is None else (factors == 0) & (of_factors == 0)
    nothing = zero.all(axis=-1 if axis == -2 else -2)  # over N of B, over M of A
    return cleared(np.where(nothing[..., None, :] if axis == -2 else nothing[..., :, None], SHADOW.type(0), part))
