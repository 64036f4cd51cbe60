"""Adjoints of loops and branches.

A loop runs once more, from its last iteration to its first, and carries the adjoints of what the forward loop carries,
and of what its body reads from around it. Values at the start of an iteration that adjoints need are recomputed
from the loop's beginning, or from the nearest iteration that has kept them (keeping.py). Where the adjoints do not
depend on the order of iterations, they run as in the forward loop, and carry its values along.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.derivatives.activity import outside_values
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import ADJOINTS
from tilewright.tileir.ops.arith import CeilDiv
from tilewright.tileir.ops.control import For, If, Yield


@dataclass(slots=True)
class _Backward:
    """How a loop runs for its adjoints: as its forward one, or from the end; and what it carries."""

    loop: For
    active: list[int]  # positions of carried values that have adjoints
    free: list[Value]  # values from around the loop that its body reads and that have adjoints
    forward: bool = False
    block: Block = field(default_factory=Block)
    order_matters: bool = False
    given: list[Value] = field(default_factory=list)  # those of `free` that got something
    starts: list[Value] = field(default_factory=list)  # the adjoints of `active`, which a forward loop only hands on


@ADJOINTS.register(For)
def loop(op: For, r: Reverse) -> None:
    active = [k for k, param in enumerate(op.loop.params[1:]) if r.wants(param)]
    starts = [r.take(op.results[k]) for k in active]
    plan = _Backward(op, active, [v for v in outside_values(op.loop) if r.wants(v)])
    last = _last_trip(op, r)
    _build(plan, r, last)
    if len(plan.given) < len(plan.free) or not plan.order_matters:
        plan = _Backward(op, active, plan.given, forward=not plan.order_matters, starts=starts)
        _build(plan, r, last)
    zeros = [r.zero(value) for value in plan.free]
    lower, upper, step = (r.now(v) for v in (op.lower, op.upper, op.step))
    if plan.forward:
        init = (*(r.now(v) for v in op.init), *starts, *zeros)
        made = r.b.emit(For(lower=lower, upper=upper, step=step, init=init, loop=plan.block))
    else:
        count = r.b.value(CeilDiv(lhs=r.b.sub(upper, lower), rhs=step))
        zero, one = r.b.like(lower, 0), r.b.like(lower, 1)
        made = r.b.emit(For(lower=zero, upper=count, step=one, init=(*starts, *zeros), loop=plan.block))
    results = made.results[len(made.results) - len(active) - len(plan.free) :]
    for value, result in zip([*(op.init[k] for k in active), *plan.free], results, strict=True):
        r.give(value, result)


def _last_trip(op: For, r: Reverse) -> Value:
    """The loop variable of the last iteration, if there is one."""
    lower, upper, step = (r.now(v) for v in (op.lower, op.upper, op.step))
    count = r.b.value(CeilDiv(lhs=r.b.sub(upper, lower), rhs=step))
    return r.b.add(lower, r.b.mul(r.b.sub(count, r.b.like(count, 1)), step))


def _build(plan: _Backward, r: Reverse, last: Value) -> None:
    """Make the body: the iteration again, and its adjoints."""
    op = plan.loop
    carried = op.init if plan.forward else ()
    handed = [*(op.init[k] for k in plan.active), *plan.free]
    adjoints_of = [*(op.results[k] for k in plan.active), *plan.free]
    types = [op.lower.type, *(v.type for v in carried), *(r.adjoint_type(v) for v in adjoints_of)]
    hints = ["", *(v.hint for v in op.loop.params[1:][: len(carried)]), *(f"d_{v.hint}" for v in handed)]
    with r.inside([t.erased() for t in types], hints) as block:
        trip, *given = block.params
        adjoints = given[len(carried) :]
        if plan.forward:
            r.same(adjoints, plan.starts)
        starts = given[: len(carried)] if plan.forward else None
        if starts is None:
            trip = r.b.sub(last, r.b.mul(trip, r.now(op.step)))
            starts = _again(op, trip, r)
        following = r.replay_body(op.loop, [trip, *starts], keep=True)
        ends = op.loop.terminator.operands
        for k, adjoint in zip(plan.active, adjoints, strict=False):
            r.give(ends[k], adjoint)
        r.reverse(op.loop)
        handed_on = [r.take(op.loop.params[1 + k]) for k in plan.active]
        plan.order_matters = any(a is not b for a, b in zip(handed_on, adjoints, strict=False))
        plan.given = [value for value in plan.free if value in r.adjoints]
        sums = [a if v not in r.adjoints else r.b.sum_early(a, r.take(v))
                for v, a in zip(plan.free, adjoints[len(plan.active) :], strict=True)]
        r.b.emit(Yield(values=(*(following if plan.forward else ()), *handed_on, *sums)))
    plan.block = block


def _again(op: For, trip: Value, r: Reverse) -> list[Value]:
    """The carried values at the start of an iteration: the loop up to there, from its beginning or from what was kept.
    Nothing is left of it where no adjoint needs them."""
    kept = r.kept.get(op)
    first, init = (r.now(op.lower), [r.now(v) for v in op.init]) if kept is None else kept.start(r, trip)
    with r.inside([v.type.erased() for v in op.loop.params], [v.hint for v in op.loop.params]) as block:
        r.b.emit(Yield(values=tuple(r.replay_body(op.loop, block.params))))
    made = r.b.emit(For(lower=first, upper=trip, step=r.now(op.step), init=tuple(init), loop=block))
    if kept is None:
        r.recomputing[made] = op, made.results
    return list(made.results)


@ADJOINTS.register(If)
def branch(op: If, r: Reverse) -> None:
    seeds = {k: r.take(result) for k, result in enumerate(op.results) if result in r.adjoints}
    free = [v for v in outside_values(op.then, op.orelse) if r.wants(v)]
    bodies: list[tuple[Block, dict[Value, Value]]] = []
    for side in op.blocks:
        with r.inside() as block:
            r.replay_body(side, (), keep=True)
            for k, adjoint in seeds.items():
                r.give(side.terminator.operands[k], adjoint)
            r.reverse(side)
            bodies.append((block, r.adjoints))
    given = [v for v in free if any(v in adjoints for _, adjoints in bodies)]
    for block, adjoints in bodies:
        outer, r.b.block = r.b.block, block
        r.b.emit(Yield(values=tuple(adjoints[v] if v in adjoints else r.zero(v) for v in given)))
        r.b.block = outer
    made = r.b.emit(If(cond=r.now(op.cond), then=bodies[0][0], orelse=bodies[1][0]))
    for value, result in zip(given, made.results, strict=True):
        r.give(value, result)


def ops_around(block: Block, wanted: set[Op]) -> bool:
    """Add to `wanted` the ops whose bodies hold some of these; says whether the block does."""
    found = False
    for op in block.ops:
        if any([ops_around(inner, wanted) for inner in op.blocks]):
            wanted.add(op)
        found = found or op in wanted
    return found
