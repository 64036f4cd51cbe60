"""Loops whose iterations blocks may share: all that they carry are sums.

Integers add up in any order. Floats do where they are results of reductions, which combine in any order, too: what a
kernel adds up element by element, or rounded to another side than the nearest, keeps its order.
"""

from __future__ import annotations

from tilewright.tileir.analysis.axes import LEAST_BITS
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.reduce import ReduceSum


def loop_of_sums(unit: Unit, blocks: int, most: int) -> For | None:
    """The only loop that no other one is around, if it carries at most `most` elements, which begin with zero, and all
    that an iteration does is to add to them what it computes of tiles that it loads. None for other functions, and
    where so many blocks might count beyond the integers of its bounds."""
    loops = [op for op in unit.function.body.ops if op.repeats]
    if len(loops) != 1 or not isinstance(loop := loops[0], For) or not loop.init:
        return None
    if not all(_is_zero(v) for v in loop.init) or not all(_is_sum(unit, loop, k) for k in range(len(loop.init))):
        return None
    inside, known = list(loop.inside()), unit.facts
    last = known[loop.lower].high + blocks * known[loop.step].high
    fits = last <= loop.lower.type.dtype.int_range[1] and sum(v.type.size for v in loop.init) <= most
    loads = any(isinstance(op, Load) and op.shape for op in inside)
    return loop if fits and loads and not any(_acts(op) for op in inside) else None


def _is_zero(value: Value) -> bool:
    return isinstance(value.op, Constant) and value.op.value == 0 and value.type.dtype.bitwidth >= LEAST_BITS


def _is_sum(unit: Unit, loop: For, number: int) -> bool:
    """Whether an iteration only adds to what is carried in this place, or a loop in it does."""
    carried, end = loop.loop.params[1 + number], loop.loop.terminator
    assert end is not None
    handed_on = end.operands[number]
    if len(unit.uses.get(carried, ())) != 1 or list(unit.uses.get(handed_on, ())) != [end]:
        return False
    [user] = unit.uses[carried]
    if isinstance(user, For) and list(user.init).count(carried) == 1:
        place = list(user.init).index(carried)
        return handed_on is user.results[place] and _is_sum(unit, user, place)
    if not isinstance(user, Add) or handed_on is not user.result or user.lhs is user.rhs:
        return False
    plain = user.rounding is RoundingMode.RN and not user.ftz  # as blocks add their sums up
    return handed_on.type.dtype.is_int or (plain and _is_reduced(user.rhs if user.lhs is carried else user.lhs))


def _is_reduced(value: Value) -> bool:
    while value.op is not None and value.op.view:
        value = value.op.operands[0]
    return isinstance(value.op, ReduceSum)


def _acts(op: Op) -> bool:
    effects = op.effects()
    return bool(effects.writes) or effects.io or effects.ordered
