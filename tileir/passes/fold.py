"""Fold: ops whose operands are constants become constants.

Before:

    %a: i32 = constant(value=6, type=tile<i32>)
    %b: i32 = constant(value=7, type=tile<i32>)
    %c: i32 = mul(lhs=%a, rhs=%b)
    %t: tile<16xi32> = broadcast(src=%c, shape=(16))
    %n: i32 = extent(array=%x, axis=0)                      // %x: array<64xf32, strides=1>

After (the unused ones are left to dce):

    %t: tile<16xi32> = constant(value=42, type=tile<16xi32>)
    %n: i32 = constant(value=64, type=tile<i32>)

Elements are evaluated by `analysis/evaluate.py`, which gives what the interpreter gives or nothing: division by zero,
functions that are not correctly rounded, and results that are NaN stay as they are.
"""

from __future__ import annotations

import functools
from typing import Any

from tilewright.tileir.analysis.evaluate import evaluate
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import OPS, Op, Value
from tilewright.tileir.ops import arrays, reduce, shape
from tilewright.tileir.rewrite import Rewriter, Rule, constant_value
from tilewright.tileir.rules import RuleTable


def fold(unit: Unit) -> None:
    Rewriter(fold_rules()).run(unit.function)


@functools.cache
def fold_rules() -> RuleTable[Rule]:
    """The rule of every op that can fold."""
    rules: dict[type[Op], Rule] = {cls: fold_elementwise for cls in OPS.values() if cls.elementwise}
    rules.update({cls: _splat for cls in (shape.Broadcast, shape.Reshape, shape.Permute, shape.Extract, shape.Take)})
    rules.update({reduce.Reduction: _idempotent, shape.Cat: _cat, shape.Iota: _iota})
    rules.update({arrays.Extent: _extent, arrays.Stride: _stride})
    return RuleTable("rule of fold", rules)


def fold_elementwise(op: Op, rewriter: Rewriter) -> Value | None:
    """The rule of element-wise ops."""
    values = []
    for operand in op.operands:
        value = constant_value(operand)
        if value is None:
            return None
        values.append(value)
    result = evaluate(op, values)
    return None if result is None else rewriter.constant(result, op.result.type.erased())


def _splat(op: Any, rewriter: Rewriter) -> Value | None:
    """The op moves or chooses elements, and all are equal."""
    value = constant_value(op.src)
    if value is None or (value != value and isinstance(op, reduce.Reduction)) or getattr(op, "ftz", False):
        return None
    return rewriter.constant(value, op.result.type.erased())


def _idempotent(op: reduce.Reduction, rewriter: Rewriter) -> Value | None:
    return _splat(op, rewriter) if op.idempotent else None


def _cat(op: shape.Cat, rewriter: Rewriter) -> Value | None:
    left, right = constant_value(op.lhs), constant_value(op.rhs)
    if left is None or right is None or repr(left) != repr(right):  # repr tells 0.0 from -0.0
        return None
    return rewriter.constant(left, op.result.type.erased())


def _iota(op: shape.Iota, rewriter: Rewriter) -> Value | None:
    return rewriter.constant(0, op.result.type.erased()) if op.size == 1 else None


def _extent(op: arrays.Extent, rewriter: Rewriter) -> Value | None:
    known = op.array.type.extents[op.axis]
    return None if known is None else rewriter.constant(known, op.result.type)


def _stride(op: arrays.Stride, rewriter: Rewriter) -> Value | None:
    known = op.array.type.strides[op.axis]
    return None if known is None else rewriter.constant(known, op.result.type)
