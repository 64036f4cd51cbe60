"""For and while loops: their bodies, the values that they carry, and how to make them carry more."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.control import Condition, For, While, Yield
from tilewright.tileir.types import Type

Loop = For | While


def body_of(loop: Loop) -> Block:
    """The loop body; the condition of a while loop is in another block."""
    return loop.loop if isinstance(loop, For) else loop.after


def entries(loop: Loop) -> list[Value]:
    """The parameters for the carried values, in the order of `init` and of what the body yields."""
    return loop.loop.params[1:] if isinstance(loop, For) else loop.before.params


def condition_of(loop: While) -> Condition:
    end = loop.before.terminator
    assert isinstance(end, Condition)
    return end


def carry(loop: Loop, init: Sequence[Value], hints: Sequence[str]) -> tuple[list[Value], list[Value]]:
    """Make a loop carry more values: their parameters in the body, and results. `hand_on` must make the body yield
    them."""
    named = list(zip(init, hints, strict=True))
    loop.init = (*loop.init, *init)
    if isinstance(loop, While):
        end = condition_of(loop)
        end.values = (*end.values, *(loop.before.add_param(v.type, hint) for v, hint in named))
    params = [body_of(loop).add_param(v.type, hint) for v, hint in named]
    return params, add_results(loop, [v.type for v in init], hints)


def add_results(op: Op, types: Sequence[Type], hints: Sequence[str]) -> list[Value]:
    """New results of a structured op."""
    results = [Value(t, hint, op) for t, hint in zip(types, hints, strict=True)]
    op.results = (*op.results, *results)
    return results


def hand_on(block: Block, values: Sequence[Value]) -> None:
    """Make a block yield these too."""
    end = block.terminator
    assert isinstance(end, Yield)
    end.values = (*end.values, *values)
