"""Split counted loops where a comparison has one value from some iteration on, or up to it: most iterations then run
without the branch or the mask.

    before: %r = for(lower=%0, upper=%n, step=%1, init=(%x)) .loop(%j: i32, %acc) {
                %c: i1 = ge(lhs=%j, rhs=%full)
                %y = if(cond=%c) .then { yield(values=(%masked)) } .orelse { yield(values=(%acc)) }
                ...
            }
    after:  %m = min(lhs=max(lhs=%full, rhs=%0), rhs=%n)
            %q = for(lower=%0, upper=%m, step=%1, init=(%x)) .loop(%j: i32, %acc) { ... }       // %y is %acc
            %r = for(lower=%m, upper=%n, step=%1, init=(%q)) .loop(%j: i32, %acc) { ... }       // %y is %masked

A mask (`lt(lhs=%j * 64 + arange(64), rhs=%n)`) is known where it is for every element; the other iterations keep it.
Where a tile of sums may wrap (rows of queries behind keys: `%i * 128 + arange(128) + (%keys - %queries)`), the kernel
looks whether it does: all iterations keep the mask then.
Only the innermost loops are split, where something is saved and where more than a few iterations may gain. No bit of
any result changes: iterations execute in the same order, with the same ops.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.linear import Linear
from tilewright.tileir.analysis.ranges import top
from tilewright.tileir.analysis.thresholds import Quotient, Threshold, Thresholds
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value, clone_block
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.iterations import most_iterations
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For, If
from tilewright.tileir.ops.math import Not
from tilewright.tileir.ops.memory import Gather, Scatter
from tilewright.tileir.ops.shape import Broadcast, Permute, Reshape
from tilewright.tileir.passes.canonicalise import canonicalise
from tilewright.tileir.passes.cse import cse
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.fold import fold
from tilewright.tileir.rewrite import Rewriter, constant_value, rewrite
from tilewright.tileir.types import TileType

# Fewer iterations without the comparison are not worth a loop of their own.
FEW = 2
# Elements that a branch or a mask must have: fewer cost less than the start of another loop.
ENOUGH = 512
# Ops of the largest body that is copied.
MOST_OPS = 600


class Known(NamedTuple):
    """A comparison, the value that it has in the main loop, and where that begins or ends."""

    op: Any
    value: bool
    threshold: Threshold


class Gain(NamedTuple):
    """The value of a condition that saves work, and the elements saved in each iteration."""

    value: bool
    elements: int


Tell = Callable[[For, Sequence[Known]], None]


def split_ranges(unit: Unit, tell: Tell) -> Preserved:
    """`tell` is called with each loop that is split, and the comparisons that its main loop is without."""
    loops = [op for op in unit.function.walk() if isinstance(op, For)]
    found = {loop: known for loop in loops if (known := _known(loop, unit))}
    if not found:
        return ALL
    order, facts = _numbers(unit.function), unit.facts

    def rule(rewriter: Rewriter, op: For) -> None:
        known = found.get(op)
        if known is None:
            rewriter.keep(op)
            return
        tell(op, known)
        for old, new in zip(op.results, _split(_Cuts(rewriter, op, order, facts), known), strict=True):
            rewriter.replace(old, new)

    rewrite(unit.function, {For: rule})
    for clean_up in (fold, canonicalise, cse, dce):
        unit.forget(NONE)
        clean_up(unit)
    return NONE


def _numbers(function: Function) -> dict[Value, int]:
    """Values in program order."""
    values = [*function.body.params]
    for op in function.walk():
        values += [*op.results, *(param for block in op.blocks for param in block.params)]
    return {value: number for number, value in enumerate(values)}


def _known(loop: For, unit: Unit) -> list[Known]:
    """The comparisons that are worth a loop without them."""
    body = loop.loop
    most = most_iterations(loop, unit.facts)
    if unit.facts[loop.step].low < 1 or (most is not None and most <= FEW):
        return []
    inner = list(body.walk())
    if len(inner) > MOST_OPS or any(op.repeats for op in inner):
        return []
    thresholds = Thresholds(loop, unit.facts)
    known = [found for op in body.ops if isinstance(op, arith.Compare) and (found := _worth(op, thresholds, unit.uses))]
    before, after = ([k.threshold.at for k in known if k.threshold.below is below] for below in (True, False))
    return known if known and thresholds.most(after, before) > FEW else []


def _worth(op: Any, thresholds: Thresholds, users: dict[Value, list[Op]]) -> Known | None:
    gain = _gain(op.result, users)
    if gain is None or gain.elements < ENOUGH:
        return None
    for value in (gain.value, not gain.value):
        threshold = thresholds.of(op, value)
        if threshold is not None:
            return Known(op, value, threshold)
    return None


def _gain(condition: Value, users: dict[Value, list[Op]]) -> Gain | None:
    """What is saved where a condition is known, by the user that gains most."""
    gains = [gain for user in users.get(condition, ()) if (gain := _gain_of(user, condition, users))]
    return max(gains, key=lambda gain: gain.elements, default=None)


def _gain_of(user: Any, condition: Value, users: dict[Value, list[Op]]) -> Gain | None:
    match user:
        case If():
            then, orelse = _elements(user.then), _elements(user.orelse)
            return Gain(then < orelse, max(then, orelse))
        case arith.Select() if user.cond is condition:
            computed = constant_value(user.lhs) is None or constant_value(user.rhs) is not None
            return Gain(computed, user.result.type.size)
        case Gather() | Scatter() if user.mask is condition:
            return Gain(True, condition.type.size)
        case Not():
            gain = _gain(user.result, users)
            return None if gain is None else Gain(not gain.value, gain.elements)
        case arith.And() | arith.Or() | Broadcast() | Reshape() | Permute():
            return _gain(user.result, users)
    return None


def _elements(block: Block) -> int:
    """Elements that the ops of a block compute."""
    values = (v for op in block.walk() for v in op.results)
    return sum(v.type.size for v in values if isinstance(v.type, TileType))


def _split(cuts: _Cuts, known: Sequence[Known]) -> tuple[Value, ...]:
    """The loops before, in and after the range in which all comparisons are known; gives the last one's results."""
    b, loop = cuts.b, cuts.loop
    starts = {k.threshold.at for k in known if not k.threshold.below}
    ends = {k.threshold.at for k in known if k.threshold.below}
    first = cuts.cut(starts, arith.Max) if starts else None
    last = cuts.cut(ends, arith.Min) if ends else None
    if first is not None and last is not None:
        last = b.value(arith.Max(lhs=first, rhs=last))
    if assumed := dict.fromkeys(end for k in known for end in k.threshold.ends):
        fits = cuts.within_int32(assumed)
        if last is None:
            assert first is not None
            first = b.value(arith.Select(cond=fits, lhs=first, rhs=loop.upper))
        else:
            last = b.value(arith.Select(cond=fits, lhs=last, rhs=loop.lower if first is None else first))
    main = {k.op.result: k.value for k in known}
    lower, init = loop.lower, loop.init
    if first is not None:
        others = {k.op.result: not k.value for k in known if _told(k, starts) and not (assumed or k.threshold.below)}
        init = _part(b, loop, lower, first, init, others)
        lower = first
    init = _part(b, loop, lower, loop.upper if last is None else last, init, main)
    if last is None:
        return init
    others = {k.op.result: not k.value for k in known if _told(k, ends) and k.threshold.below and not assumed}
    return _part(b, loop, last, loop.upper, init, others)


def _told(known: Known, thresholds: Iterable[Quotient]) -> bool:
    """Whether the comparison has the other value in all iterations beyond the thresholds."""
    return known.threshold.exact and set(thresholds) == {known.threshold.at}


def _reduced(quotient: Quotient) -> Quotient:
    """The same in smaller numbers: floor((g * x + n) / (g * d)) = floor((x + floor(n / g)) / d)."""
    form, divisor = quotient
    common = math.gcd(divisor, *(factor for _, factor in form.terms))
    few = frozenset((value, factor // common) for value, factor in form.terms)
    return Quotient(form._replace(terms=few, number=form.number // common), divisor // common)


class _Cuts(NamedTuple):
    """Where a loop is cut. `order`: values in program order; `facts`: of the function before."""

    b: Rewriter
    loop: For
    order: dict[Value, int]
    facts: Facts

    def cut(self, thresholds: Iterable[Quotient], choose: type[arith.Min | arith.Max]) -> Value:
        """The first value of the loop variable at or beyond all thresholds (for `Min`: any), within the loop's
        bounds."""
        b, loop, found = self.b, self.loop, sorted(map(_reduced, thresholds), key=self._key)
        counted = loop.lower.type.dtype
        alone = constant_value(loop.step) == 1
        dtype = int32 if counted is int32 and alone and all(map(self._near, found)) else int64
        lower, upper = (b.cast(bound, dtype) for bound in (loop.lower, loop.upper))
        at, *others = (self._quotient(t, dtype) for t in found)
        for other in others:
            at = b.value(choose(lhs=at, rhs=other))
        at = b.value(arith.Min(lhs=b.value(arith.Max(lhs=at, rhs=lower)), rhs=upper))
        if not alone:  # on to the next value that the variable takes
            step = b.cast(loop.step, int64)
            steps = b.value(arith.CeilDiv(lhs=b.value(arith.Sub(lhs=at, rhs=lower)), rhs=step))
            at = b.value(arith.Add(lhs=lower, rhs=b.value(arith.Mul(lhs=steps, rhs=step))))
            at = b.value(arith.Min(lhs=at, rhs=b.number(counted.int_range[1], int64)))
        return b.cast(at, counted)

    def within_int32(self, ends: Iterable[Linear]) -> Value:
        """Whether no end of a sum lies beyond int32. Where one does, no iteration may do without what it compares."""
        b, (least, most) = self.b, int32.int_range
        numbers = [self._quotient(Quotient(end), int64) for end in ends]
        low, high = (functools.reduce(lambda x, y: b.value(choose(lhs=x, rhs=y)), numbers)
                     for choose in (arith.Min, arith.Max))
        above = b.value(arith.Ge(lhs=low, rhs=b.number(least, int64)))
        return b.value(arith.And(lhs=above, rhs=b.value(arith.Le(lhs=high, rhs=b.number(most, int64)))))

    def _terms(self, form: Linear) -> list[tuple[Value, int]]:
        return sorted(form.terms, key=lambda term: self.order[term[0]])

    def _key(self, quotient: Quotient) -> Any:
        form = quotient.form
        return quotient.divisor, form.number, sorted((self.order[v], n) for v, n in form.terms)

    def _near(self, quotient: Quotient) -> bool:
        """Whether no step of `_quotient` leaves int32: registers of GPUs have 32 bits."""
        low = high = quotient.form.number
        for value, factor in self._terms(quotient.form):
            ends = sorted(end * factor for end in self.facts[value][:2])
            low, high = low + ends[0], high + ends[1]
            if not all(top(int32).low <= n <= top(int32).high for n in (*ends, low, high)):
                return False
        return True

    def _quotient(self, quotient: Quotient, dtype: DType) -> Value:
        b = self.b
        total = b.number(quotient.form.number, dtype)
        for value, factor in self._terms(quotient.form):
            scalar = b.renamed.get(value, value)
            term = b.value(arith.Mul(lhs=b.cast(scalar, dtype), rhs=b.number(factor, dtype)))
            total = b.value(arith.Add(lhs=term, rhs=total))
        if quotient.divisor == 1:
            return total
        return b.value(arith.FloorDiv(lhs=total, rhs=b.number(quotient.divisor, dtype)))


def _part(
    b: Builder, loop: For, lower: Value, upper: Value, init: tuple[Value, ...], known: dict[Value, bool],
) -> tuple[Value, ...]:
    """A copy of the loop over a part of its range, in which some comparisons are known."""
    mapping: dict[Value, Value] = {}
    body = clone_block(loop.loop, mapping)
    renamed = {mapping[old]: b.value(arith.Constant(value=value, type=old.type)) for old, value in known.items()}
    for op in body.walk():
        op.replace_operands(renamed)
    made = b.emit(For(lower=lower, upper=upper, step=loop.step, init=init, loop=body))
    for new, old in zip(made.results, loop.results, strict=True):
        new.hint = old.hint
    return made.results
