"""Adjoints of element-wise arithmetic."""

from __future__ import annotations

from typing import Any

from tilewright.tileir import ops
from tilewright.tileir.core import Value
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import ADJOINTS, Factors, adjoint, constant
from tilewright.tileir.ops import arith

for _op in (arith.Constant, arith.Compare, arith.And, arith.Or, arith.Xor, arith.Shl, arith.Shr, arith.CeilDiv,
            arith.FloorDiv):
    ADJOINTS.add(_op, constant)


def _operands(op: Any) -> Factors:
    return op.operands, ()


def _all(op: Any) -> Factors:
    return (), (*op.operands, *op.results)


@adjoint(arith.Add)
def add(op: arith.Add, g: Value, r: Reverse) -> None:
    r.give(op.lhs, g)
    r.give(op.rhs, g)


@adjoint(arith.Sub)
def sub(op: arith.Sub, g: Value, r: Reverse) -> None:
    r.give(op.lhs, g)
    r.give(op.rhs, lambda: r.b.neg(g))


@adjoint(arith.Mul, scales=_operands)
def mul(op: arith.Mul, g: Value, r: Reverse) -> None:
    if op.lhs is op.rhs:
        r.give(op.lhs, lambda: r.b.mul(r.b.scaled(g, 2.0), r.now(op.lhs)))
        return
    r.give(op.lhs, lambda: r.b.mul(g, r.now(op.rhs)))
    r.give(op.rhs, lambda: r.b.mul(g, r.now(op.lhs)))


@adjoint(arith.Div, scales=lambda op: ((op.result,), (op.rhs,)))
def div(op: arith.Div, g: Value, r: Reverse) -> None:
    """Of lhs / rhs: g / rhs, and -(g / rhs) times the quotient."""
    each = r.once(lambda: r.b.div(g, r.now(op.rhs)))
    r.give(op.lhs, each)
    r.give(op.rhs, lambda: r.b.neg(r.b.mul(each(), r.now(op.result))))


@adjoint(arith.Fma, scales=lambda op: ((op.a, op.b), ()))
def fma(op: arith.Fma, g: Value, r: Reverse) -> None:
    r.give(op.a, lambda: r.b.mul(g, r.now(op.b)))
    r.give(op.b, lambda: r.b.mul(g, r.now(op.a)))
    r.give(op.c, g)


@adjoint(arith.Mod, scales=_all)
def mod(op: arith.Mod, g: Value, r: Reverse) -> None:
    """lhs - floor(lhs / rhs) * rhs, where the quotient does not jump."""
    r.give(op.lhs, g)
    r.give(op.rhs, lambda: r.b.neg(r.b.mul(g, r.b.value(arith.FloorDiv(lhs=r.now(op.lhs), rhs=r.now(op.rhs))))))


@adjoint(arith.Pow, scales=_all)
def power(op: arith.Pow, g: Value, r: Reverse) -> None:
    """rhs * lhs ** (rhs - 1), zero for an exponent of zero; and the power times log(lhs), zero for 0 ** rhs."""
    r.give(op.lhs, lambda: _of_base(op, g, r))
    r.give(op.rhs, lambda: _of_exponent(op, g, r))


def _of_base(op: arith.Pow, g: Value, r: Reverse) -> Value:
    b, base, exponent = r.b, r.now(op.lhs), r.now(op.rhs)
    less = b.value(arith.Pow(lhs=base, rhs=b.sub(exponent, b.like(exponent, 1))))
    slope = b.mul(b.cast(exponent, base.type.dtype), less)
    flat = b.compare(arith.Eq, exponent, b.like(exponent, 0))
    return b.mul(g, b.select(flat, b.like(slope, 0.0), slope))


def _of_exponent(op: arith.Pow, g: Value, r: Reverse) -> Value:
    b, base, exponent = r.b, r.now(op.lhs), r.now(op.rhs)
    zero = b.like(base, 0.0)
    flat = b.value(arith.And(lhs=b.compare(arith.Eq, base, zero), rhs=b.compare(arith.Ge, exponent, zero)))
    slope = b.mul(r.now(op.result), b.value(ops.math.Log(src=base)))
    return b.mul(g, b.select(flat, zero, slope))


@adjoint(arith.MinMax)
def extreme(op: arith.MinMax, g: Value, r: Reverse) -> None:
    """The chosen operand takes all; of two equal ones each takes half."""
    tie = r.once(lambda: r.b.compare(arith.Eq, r.now(op.lhs), r.now(op.rhs)))

    def share(operand: Value) -> Value:
        chosen = r.b.compare(arith.Eq, r.now(operand), r.now(op.result))
        return r.b.select(tie(), r.b.scaled(g, 0.5), r.b.select(chosen, g, r.b.like(g, 0.0)))

    r.give(op.lhs, lambda: share(op.lhs))
    r.give(op.rhs, lambda: share(op.rhs))


@adjoint(arith.Atan2, scales=_all)
def atan2(op: arith.Atan2, g: Value, r: Reverse) -> None:
    b = r.b

    def part() -> Value:
        y, x = r.now(op.lhs), r.now(op.rhs)
        return b.div(g, b.add(b.mul(x, x), b.mul(y, y)))

    each = r.once(part)
    r.give(op.lhs, lambda: b.mul(each(), r.now(op.rhs)))
    r.give(op.rhs, lambda: b.neg(b.mul(each(), r.now(op.lhs))))


@adjoint(arith.Select)
def select(op: arith.Select, g: Value, r: Reverse) -> None:
    def where(cond: Any, chosen: bool) -> Value:
        zero = r.b.like(g, 0.0)
        return r.b.select(r.now(cond), g, zero) if chosen else r.b.select(r.now(cond), zero, g)

    r.give(op.lhs, lambda: where(op.cond, True))
    r.give(op.rhs, lambda: where(op.cond, False))
