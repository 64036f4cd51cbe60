"""What a later iteration computes, and from which carried values: for whoever works some iterations ahead.

Ops qualify that may run for an iteration that never executes; the caller says which those are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from tilewright.tileir.carried import Loop, body_of, condition_of, entries
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.control import For, While


class Computed(NamedTuple):
    """The ops of a block that compute some values, in order, and the parameters of the block that these take."""

    ops: tuple[Op, ...]
    params: tuple[Value, ...]


class Recurrence(NamedTuple):
    """How carried values are computed from those of the previous iteration: `state` are their parameters, `steps` the
    ops of the body that compute the next ones. In a while loop, `head` are the ops of its first block that compute the
    body's parameters from the state, and also `condition` (None: known too late)."""

    state: tuple[Value, ...] = ()
    head: tuple[Op, ...] = ()
    steps: tuple[Op, ...] = ()
    condition: Value | None = None


def computed(
    block: Block, wanted: Iterable[Value], early: Callable[[Op], bool],
    known: Callable[[Value, Op], bool] = lambda value, op: False,
) -> Computed | None:
    """What computes values in a block, None if some op is not `early`. The search ends at values (and the ops that give
    them) that are `known` otherwise."""
    inside = {r: op for op in block.ops for r in op.results}
    chosen, read = set[Op](), set[Value]()
    work = list(wanted)
    while work:
        value = work.pop()
        read.add(value)
        op = inside.get(value)
        if op is None or op in chosen or known(value, op):
            continue
        if not early(op):
            return None
        chosen.add(op)
        work += op.operands
    return Computed(tuple(op for op in block.ops if op in chosen), tuple(p for p in block.params if p in read))


def find_recurrence(loop: Loop, params: Collection[Value], early: Callable[[Op], bool]) -> Recurrence | None:
    """How the parameters of the body in a later iteration are computed from those of this one; None if some op for
    that is not `early`."""
    body, before = body_of(loop), loop.before if isinstance(loop, While) else Block()
    wanted: dict[Block, list[Value]] = {before: [], body: []}
    state: dict[Value, None] = {}
    work = [*params]
    condition = condition_of(loop).cond if isinstance(loop, While) else None
    if condition is not None:
        if (found := computed(before, [condition], early)) is None:
            condition = None  # whether the iteration executes is known too late
        else:
            work += found.params
            wanted[before].append(condition)
    while work:
        param = work.pop()
        if param in state or (isinstance(loop, For) and param is body.params[0]):
            continue
        if isinstance(loop, While) and param in body.params:
            block, value = before, condition_of(loop).values[body.params.index(param)]
        else:
            state[param] = None
            block, value = body, body.terminator.operands[entries(loop).index(param)]
        if (found := computed(block, [value], early)) is None:
            return None
        wanted[block].append(value)
        work += found.params
    head, steps = (found.ops for block, values in wanted.items() if (found := computed(block, values, early)))
    return Recurrence(tuple(state), head, steps, condition)
