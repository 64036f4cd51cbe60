"""Loops that carry a running maximum on which no output depends (shifts.py), begun with its last value.

    top, total = for(init=(-1e30, 0)) { higher = max(top, max(t)); yield higher, total * exp(top - higher) + ... }

becomes

    top   = for(init=-1e30) { yield max(top, max(t)) }
    total = for(init=0) { yield total + ... }                          with top in the place of both maxima

The first of them goes where the kernel has stored the maximum, or a sum with it as the logarithm of a row's sum is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.derivatives.counting import without_effects
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.derivatives.shifts import Shift
from tilewright.tileir.ops import arith, convert, math, shape
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.types import TileType


def restart(body: Block, home: Block, shift: Shift, start: Value | None) -> Mapping[Value, Value]:
    """Put the loop's new form into its block, `home`, within the function's body. `start` is what the maximum is; None
    to compute it by a loop of its own. Gives what has become of the loop's results."""
    loop, position = shift.loop, shift.position
    assert loop is not None
    at = home.ops.index(loop)
    b = Emitter(Block())
    b.span = loop.span
    again = loop.clone({})
    top = start
    if top is None:
        b.emit(again)
        for block in again.blocks:
            without_effects(block)
        top = b.value(math.StopGradient(src=again.results[position]), shift.result.hint)
    made = b.emit(_adding(b, shift, top))
    rest = iter(made.results)
    became = {result: top if k == position else next(rest) for k, result in enumerate(loop.results)}
    home.ops[at : at + 1] = []
    for op in body.walk():
        op.replace_operands(became)
    home.ops[at:at] = b.block.ops
    return became


def _adding(b: Emitter, shift: Shift, top: Value) -> For:
    """The loop in which the maximum is `top` from the beginning."""
    loop, position = shift.loop, shift.position
    assert loop is not None
    trip, *carried = loop.loop.params
    others = [param for k, param in enumerate(carried) if k != position]
    with b.into([p.type.erased() for p in (trip, *others)], [p.hint for p in (trip, *others)]) as block:
        copier = _Copier(b, dict(zip((trip, *others), block.params, strict=True)))
        copier.now[shift.before] = copier.now[shift.update.result] = top
        for op in loop.loop.ops[:-1]:
            if op is not shift.update:
                copier.copy(op)
        ends = [end for k, end in enumerate(loop.loop.terminator.operands) if k != position]
        b.emit(Yield(values=tuple(copier.now.get(end, end) for end in ends)))
    init = tuple(value for k, value in enumerate(loop.init) if k != position)
    return For(lower=loop.lower, upper=loop.upper, step=loop.step, init=init, loop=block)


class _Copier:
    """Copies ops, and leaves out what the equal maxima make of them: their difference is 0, its exponential 1."""

    def __init__(self, b: Emitter, now: dict[Value, Value]) -> None:
        self.b = b
        self.now = now
        self.numbers: dict[Value, float] = {}

    def copy(self, op: Op) -> None:
        number = self._number(op)
        if number is not None and isinstance(op.result.type, TileType):
            made = self.b.constant(number, op.result.type.erased())
            self.numbers[made] = number
            self.now[op.result] = made
            return
        short = self._short(op)
        if short is not None:
            self.now[op.result] = short
            return
        self.b.block.ops.append(op.clone(self.now))

    def _of(self, value: Value) -> Value:
        return self.now.get(value, value)

    def _is(self, value: Value, number: float) -> bool:
        return self.numbers.get(self._of(value)) == number

    def _number(self, op: Any) -> float | None:
        """The number that an op's result is, as far as it follows from the maxima being equal."""
        match op:
            case arith.Sub() if self._of(op.lhs) is self._of(op.rhs):
                return 0.0
            case arith.Mul() if self._is(op.lhs, 0.0) or self._is(op.rhs, 0.0):
                return 0.0
            case arith.Fma() if self._cancels(op):
                return 0.0
            case math.Exp() | math.Exp2() if self._is(op.src, 0.0):
                return 1.0
            case shape.Broadcast() | shape.Reshape() | convert.Cast():
                return self.numbers.get(self._of(op.src))
        return None

    def _cancels(self, op: arith.Fma) -> bool:
        """Whether this is a * b - a * b."""
        less = self._of(op.c).op
        same = less.src.op if isinstance(less, math.Neg) else None
        return isinstance(same, arith.Mul) and {same.lhs, same.rhs} == {self._of(op.a), self._of(op.b)}

    def _short(self, op: Any) -> Value | None:
        """What stands for a product with 1."""
        if isinstance(op, arith.Mul):
            pairs = ((op.lhs, op.rhs), (op.rhs, op.lhs))
            return next((self._of(other) for one, other in pairs if self._is(one, 1.0)), None)
        if isinstance(op, arith.Fma):
            pairs = ((op.a, op.b), (op.b, op.a))
            other = next((self._of(other) for one, other in pairs if self._is(one, 1.0)), None)
            return None if other is None else self.b.add(other, self._of(op.c))
        return None


# ---- the maximum from what was stored


def maximum_from(
    b: Emitter, stored: Value, loaded: Value, shift: Shift, earlier: Callable[[Value], Value],
) -> tuple[Value, list[Value]] | None:
    """What stands for the maximum, made of `loaded`, which is what the kernel had stored as `stored`; and the values
    that are 1 then, as the total of a softmax whose maximum is the logarithm of the sum. None where it cannot be told
    from what was stored. `earlier` gives a value that is computed further down."""
    path = _path(stored, shift)
    sums = [(op, way) for op, way in path or () if isinstance(op, (arith.Add, arith.Fma))]
    degree = shift.degrees.get(stored)
    if path is None or len(sums) > 1 or (sums and (degree is None or degree.terms)):
        return None
    ones: list[Value] = []
    for op, way in path:
        if isinstance(op, (arith.Add, arith.Fma)):
            rest = _one_of(op, way)
            if rest is None:
                return None
            ones = rest
        loaded = _undone(b, op, way, loaded, earlier)
    return loaded, ones


def _path(value: Value, shift: Shift) -> list[tuple[Any, Value]] | None:
    """The ops from a value down to the maximum, each with the operand that leads there."""
    if value is shift.result:
        return []
    op = value.op
    match op:
        case shape.Reshape() | convert.Cast():
            ways: Sequence[Value] = (op.src,)
        case arith.Mul() | arith.Div():
            ways = (op.lhs,) if isinstance(op, arith.Div) or _fixed(op.rhs) else (op.rhs,) if _fixed(op.lhs) else ()
        case arith.Add():
            ways = op.operands
        case arith.Fma():
            ways = (op.c, *(one for one, other in ((op.a, op.b), (op.b, op.a)) if _fixed(other)))
        case _:
            ways = ()
    for way in ways:
        rest = _path(way, shift)
        if rest is not None:
            return [(op, way), *rest]
    return None


def _fixed(value: Value) -> bool:
    """Whether a factor is a constant or a scalar."""
    while isinstance(value.op, (shape.Broadcast, shape.Reshape, convert.Cast)):
        value = value.op.src
    return isinstance(value.op, arith.Constant) or not value.type.shape


def _undone(b: Emitter, op: Any, way: Value, loaded: Value, earlier: Callable[[Value], Value]) -> Value:
    """The operand of an op whose result is this; what else it adds is zero."""
    match op:
        case shape.Reshape():
            return b.reshape(loaded, way.type.shape)
        case convert.Cast():
            return b.cast(loaded, way.type.dtype)
        case arith.Mul():
            return b.div(loaded, earlier(op.rhs if way is op.lhs else op.lhs))
        case arith.Div():
            return b.mul(loaded, earlier(op.rhs))
        case arith.Fma() if way is not op.c:
            return b.div(loaded, earlier(op.b if way is op.a else op.a))
    return loaded


def _one_of(op: Any, way: Value) -> list[Value] | None:
    """What is added to the maximum is the logarithm of a value, which is 1 where the sum is taken as the maximum: that
    value, and those that it is made of without a change. None where it is something else."""
    if isinstance(op, arith.Fma) and way is op.c:
        value = op.a if _fixed(op.b) else op.b
    else:
        value = op.c if isinstance(op, arith.Fma) else op.rhs if way is op.lhs else op.lhs
    while isinstance(value.op, (shape.Reshape, convert.Cast)) or (
            isinstance(value.op, (arith.Mul, arith.Div)) and (_fixed(value.op.rhs))):
        value = value.op.src if isinstance(value.op, (shape.Reshape, convert.Cast)) else value.op.lhs
    if not isinstance(value.op, (math.Log, math.Log2)):
        return None
    made = value.op.src
    found = [made]
    while isinstance(made.op, shape.Reshape):
        made = made.op.src
        found.append(made)
    return found
