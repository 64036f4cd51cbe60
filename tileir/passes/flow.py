"""Rules of canonicalise for structured control flow: known branches and trip counts, values that never vary."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import control
from tilewright.tileir.ops import math as functions
from tilewright.tileir.rewrite import Rewriter, Rule, constant_value
from tilewright.tileir.rules import RuleTable


def _agree(values: Sequence[Value], others: Sequence[Value]) -> bool:
    """Whether the types agree to the last fact and layout, so that one may stand for the other."""
    return [v.type for v in values] == [v.type for v in others]


def _if(op: control.If, rewriter: Rewriter) -> Sequence[Value] | None:
    """A known condition leaves one branch."""
    chosen = constant_value(op.cond)
    if chosen is None:
        return None
    block = op.then if chosen else op.orelse
    return rewriter.inline(block, ()) if _agree(op.results, block.terminator.operands) else None


def _if_results(op: control.If, rewriter: Rewriter) -> None:
    """A result that is the same in both branches is that value; one that is True and False is the condition."""
    then, orelse = op.then.terminator, op.orelse.terminator
    assert isinstance(then, control.Yield) and isinstance(orelse, control.Yield)
    for result, a, b in zip(op.results, then.values, orelse.values, strict=True):
        if a is b and a.type == result.type:
            rewriter.renamed[result] = a
        elif constant_value(a) is True and constant_value(b) is False and not result.type.shape:
            rewriter.renamed[result] = op.cond


def _for(op: control.For, rewriter: Rewriter) -> Sequence[Value] | None:
    """A loop that runs zero or one times is no loop; a carried value that never changes is its first value."""
    lower, upper, step = (constant_value(v) for v in (op.lower, op.upper, op.step))
    if op.lower is op.upper or (lower is not None and upper is not None and upper <= lower):
        return op.init
    yielded = op.loop.terminator.operands
    if lower is not None and upper is not None and step is not None and 0 < upper - lower <= step:
        arguments = (op.lower, *op.init)
        if _agree(op.loop.params, arguments) and _agree(op.results, yielded):
            return rewriter.inline(op.loop, arguments)
    for first, param, last, result in zip(op.init, op.loop.params[1:], yielded, op.results, strict=True):
        if last is param or last is first:
            _is_always(first, [param, result], rewriter)
    return None


def _while(op: control.While, rewriter: Rewriter) -> Sequence[Value] | None:
    """A carried value that never changes is its first value."""
    passed = op.before.terminator.operands[1:]
    seen = dict(zip(op.after.params, passed, strict=True))  # what the body's parameters are in terms of `before`
    yielded = op.after.terminator.operands
    for first, param, last in zip(op.init, op.before.params, yielded, strict=True):
        if seen.get(last, last) is param or last is first:
            same = [r for r, p in zip(op.results, passed, strict=True) if p is param]
            same += [q for q, p in seen.items() if p is param]
            _is_always(first, [param, *same], rewriter)
    return None


def _is_always(value: Value, others: list[Value], rewriter: Rewriter) -> None:
    rewriter.renamed.update((other, value) for other in others if other.type == value.type)


def _while_never(op: control.While, rewriter: Rewriter) -> Sequence[Value] | None:
    """A condition that is False at once leaves what it computed."""
    condition = op.before.terminator
    assert isinstance(condition, control.Condition)
    known = constant_value(condition.cond) is False
    if not known or not _agree(op.before.params, op.init) or not _agree(op.results, condition.values):
        return None
    return rewriter.inline(op.before, op.init)[1:]


def _not_in_condition(op: control.If, rewriter: Rewriter) -> None:
    """if(not c) runs its bodies the other way round."""
    inner = op.cond.op
    if isinstance(inner, functions.Not):
        op.cond, op.then, op.orelse = inner.src, op.orelse, op.then


def _if_before(op: control.If, rewriter: Rewriter) -> Sequence[Value] | None:
    _not_in_condition(op, rewriter)
    return _if(op, rewriter)


RULES: dict[type[Op], Rule] = {control.If: _if_before, control.For: _for, control.While: _while}
AFTER: RuleTable[Rule] = RuleTable("rule after the bodies", {control.If: _if_results, control.While: _while_never})
