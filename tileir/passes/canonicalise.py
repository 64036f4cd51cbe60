"""Canonicalise: one form for what can be written in several, and nothing where nothing happens.

Before:

    %a: tile<16x1xf32> = reshape(src=%x, shape=(16, 1))        // %x: tile<16xf32>
    %b: tile<1x16xf32> = reshape(src=%a, shape=(1, 16))
    %c: i32 = add(lhs=%two, rhs=%i)
    %s: tile<16xf32> = broadcast(src=%scale, shape=(16))
    %n: tile<16xf32> = neg(src=%s)
    %r: i32 = if(cond=%true) .then {
      yield(values=(%c))
    } .orelse {
      yield(values=(%i))
    }

After (%r is %c; the unused ones are left to dce):

    %b: tile<1x16xf32> = reshape(src=%x, shape=(1, 16))
    %c: i32 = add(lhs=%i, rhs=%two)
    %m: f32 = neg(src=%scale)
    %n: tile<16xf32> = broadcast(src=%m, shape=(16))

Every rule keeps every bit of every result: see `algebra.py`, `shapes.py` and `flow.py`, which hold them by family.
"""

from __future__ import annotations

import functools
from typing import Any

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import OPS
from tilewright.tileir.passes import algebra, flow, shapes
from tilewright.tileir.passes.fold import fold_elementwise
from tilewright.tileir.rewrite import Rewriter, Rule, constant_value
from tilewright.tileir.rules import RuleTable


def canonicalise(unit: Unit) -> None:
    Rewriter(_rules(), flow.AFTER).run(unit.function)


@functools.cache
def _rules() -> RuleTable[Rule]:
    rules = {cls: _elementwise(algebra.RULES.get(cls)) for cls in OPS.values() if cls.elementwise}
    return RuleTable("rule of canonicalise", {**rules, **shapes.RULES, **flow.RULES})


def _elementwise(rule: Rule | None) -> Rule:
    """The rules of an element-wise op: fold (for the constants that other rules make), its own, the one for splats."""

    def first_that_applies(op: Any, rewriter: Rewriter) -> Any:
        if constant_value(op.operands[0]) is not None:
            found: Any = fold_elementwise(op, rewriter)
            if found is not None:
                return found
        found = rule(op, rewriter) if rule is not None else None
        return shapes.computed_once(op, rewriter) if found is None else found

    return first_that_applies
