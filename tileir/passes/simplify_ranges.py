"""Simplify by ranges: what the facts of `analysis/facts.py` decide needs no computing.

Before:

    %i: i32 = block_id(axis=0)
    %n: i32 = extent(array=%x, axis=0)                 // %x: array<?xf32, strides=1, extent_div=16>
    %c: i1 = ge(lhs=%i, rhs=%zero)
    %r: i32 = mod(lhs=%n, rhs=%sixteen)
    %m: i32 = max(lhs=%n, rhs=%zero)

After (%m is %n; the unused ones are left to dce):

    %c: i1 = constant(value=true, type=tile<i1>)
    %r: i32 = constant(value=0, type=tile<i32>)

Integers of a known range that are compared as floats are compared as integers (compared.py). Slices get the alignment
and the divisors that follow from their bounds (sharpen_slices.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.ranges import IntFact
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import arith
from tilewright.tileir.passes.compared import as_integers, compared
from tilewright.tileir.passes.sharpen_slices import sharpen_slices
from tilewright.tileir.rewrite import Rewriter, constant_value
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType


def simplify_ranges(unit: Unit) -> Preserved:
    known = unit.facts
    sharpened = sharpen_slices(unit)
    nothing = all(_decided(op, known) is None and compared(op, known) is None for op in unit.function.walk())
    if nothing and not sharpened:
        return ALL

    def rule(op: Op, rewriter: Rewriter) -> Value | None:
        decided = _decided(op, known)
        if decided is None:
            found = compared(op, known)
            return None if found is None else as_integers(found, rewriter)
        if not isinstance(decided, int):
            return decided
        type_: TileType = op.result.type
        return rewriter.constant(bool(decided) if type_.dtype.is_bool else decided, type_.erased())

    Rewriter(RuleTable("rule of simplify_ranges", {Op: rule})).run(unit.function)
    return NONE


def _decided(op: Op, known: Facts) -> Value | int | None:
    """What the result of an op is, a number or another value, if that is known."""
    fact = known.get(op.results[0]) if len(op.results) == 1 else None
    if fact is None or op.blocks or constant_value(op.result) is not None:
        return None
    if fact.constant is not None and op.effects().none:
        return fact.constant
    choose = _CHOOSE.of(op)
    return choose(op, known) if choose is not None and not op.result.type.dtype.is_bool else None


def _min(op: Any, known: Facts) -> Value | None:
    return _smaller(op.lhs, op.rhs, known)


def _max(op: Any, known: Facts) -> Value | None:
    smaller = _smaller(op.lhs, op.rhs, known)
    return None if smaller is None else op.rhs if smaller is op.lhs else op.lhs


def _smaller(a: Value, b: Value, known: Facts) -> Value | None:
    x, y = known[a], known[b]
    return a if x.high <= y.low else b if y.high <= x.low else None


def _mod(op: Any, known: Facts) -> Value | None:
    """x % d is x where 0 <= x < d."""
    x, d = known[op.lhs], known[op.rhs]
    return op.lhs if x.low >= 0 and x.high < d.low else None


def _and(op: Any, known: Facts) -> Value | None:
    """A mask of ones that covers every value changes nothing."""
    x, mask = known[op.lhs], known[op.rhs].constant
    covers = mask is not None and mask >= 0 and mask & (mask + 1) == 0
    return op.lhs if covers and x.within(0, mask or 0) else None


def _select(op: Any, known: Facts) -> Value | None:
    chosen: IntFact = known[op.cond]
    return None if chosen.constant is None else op.lhs if chosen.constant else op.rhs


_CHOOSE: RuleTable[Callable[[Any, Facts], Value | None]] = RuleTable("choice by range", {
    arith.Min: _min, arith.Max: _max, arith.Mod: _mod, arith.And: _and, arith.Select: _select,
})
