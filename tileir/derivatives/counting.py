"""While loops as loops that count, which have adjoints: how often the condition holds is found first.

    r = while (x) { c, v = f(x); condition(c, v) } { x = g(v) }

becomes

    n = the same loop, with a counter
    x = for i in range(n) { c, v = f(x); yield g(v) }
    c, r = f(x)

A `break` and a `return` inside a loop are such conditions.
"""

from __future__ import annotations

from tilewright.tileir.builder import Builder
from tilewright.tileir.carried import condition_of
from tilewright.tileir.core import Block, Function, Op, Value, clone_function
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.control import Condition, For, While, Yield
from tilewright.tileir.types import TileType

INDEX = TileType(int32)


def counted(function: Function) -> Function:
    """The function without while loops, but for those that count; itself where it has none."""
    if not any(isinstance(op, While) for op in function.walk()):
        return function
    made = clone_function(function)
    _rewrite(made.body)
    return made


def _rewrite(block: Block) -> None:
    """Replace the while loops of a block, from the outside in: the counting copies keep theirs."""
    before, block.ops = block.ops, []
    known: dict[Value, Value] = {}
    for op in before:
        op.replace_operands(known)
        if not isinstance(op, While):
            _replace_inside(op, known)
            for inner in op.blocks:
                _rewrite(inner)
            block.ops.append(op)
            continue
        b = Emitter(block)
        b.span = op.span
        _replace_inside(op, known)
        known.update(zip(op.results, _counting(b, op), strict=True))


def _counting(b: Emitter, op: While) -> list[Value]:
    """Append the loops in the place of a while loop; what its results are."""
    condition = condition_of(op)
    count = _count(b, op)
    known: dict[Value, Value] = {}
    zero, one = b.constant(0, INDEX), b.constant(1, INDEX)
    hints = ["", *(p.hint for p in op.before.params)]
    with b.into([INDEX, *(p.type.erased() for p in op.before.params)], hints) as body:
        known.update(zip(op.before.params, body.params[1:], strict=True))
        _append(b, op.before.ops[:-1], known)
        known.update(zip(op.after.params, [known.get(v, v) for v in condition.values], strict=True))
        _append(b, op.after.ops[:-1], known)
        b.emit(Yield(values=tuple(known.get(v, v) for v in op.after.terminator.operands)))
    _rewrite(body)
    made = b.emit(For(lower=zero, upper=count, step=one, init=op.init, loop=body))
    known = dict(zip(op.before.params, made.results, strict=True))
    _append(b, op.before.ops[:-1], known)
    return [known.get(v, v) for v in condition.values]


def _count(b: Emitter, op: While) -> Value:
    """Append the loop with a counter, and without effects."""
    known: dict[Value, Value] = {}
    before, after = Block(), Block()
    for block, old in ((before, op.before), (after, op.after)):
        known.update(zip(old.params, [block.add_param(p.type, p.hint) for p in old.params], strict=True))
        block.ops = [inner.clone(known) for inner in old.ops[:-1]]
        without_effects(block)
    passed, counter = before.add_param(INDEX, "trips"), after.add_param(INDEX, "trips")
    condition = condition_of(op)
    inner = Builder(before)
    inner.span = op.span
    values = tuple(known.get(v, v) for v in condition.values)
    inner.emit(Condition(cond=known.get(condition.cond, condition.cond), values=(*values, passed)))
    last = Emitter(after)
    last.span = op.span
    more = last.add(counter, last.constant(1, INDEX))
    last.emit(Yield(values=(*(known.get(v, v) for v in op.after.terminator.operands), more)))
    made = b.emit(While(init=(*op.init, b.constant(0, INDEX)), before=before, after=after))
    return made.results[-1]


def without_effects(block: Block) -> None:
    """Leave out what the ops of a block do beside computing results."""
    block.ops = [op for op in block.ops if not op.acts]
    for op in block.ops:
        for inner in op.blocks:
            without_effects(inner)


def _append(b: Builder, ops: list[Op], known: dict[Value, Value]) -> None:
    b.block.ops += [op.clone(known) for op in ops]


def _replace_inside(op: Op, known: dict[Value, Value]) -> None:
    """New operands for all ops in the bodies of one."""
    for block in op.blocks:
        for inner in block.walk():
            inner.replace_operands(known)
