"""Values through control flow: what loops and branches carry, what it is computed from, and how to carry more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.control import Condition, For, If, While, Yield
from tilewright.tileir.types import Type

Loop = For | While
Region = Loop | Function


def body_of(loop: Region) -> Block:
    """The body of a loop or function; the condition of a while loop is in another block."""
    if isinstance(loop, Function):
        return loop.body
    return loop.loop if isinstance(loop, For) else loop.after


def innermost_loops(function: Function) -> list[Loop]:
    """The loops that have no loop in them."""
    loops = [op for op in function.walk() if isinstance(op, (For, While))]
    return [loop for loop in loops if not any(isinstance(op, (For, While)) for op in loop.inside())]


def entries(loop: Loop) -> list[Value]:
    """The parameters for the carried values, in the order of `init` and of what the body yields."""
    return loop.loop.params[1:] if isinstance(loop, For) else loop.before.params


def condition_of(loop: While) -> Condition:
    end = loop.before.terminator
    assert isinstance(end, Condition)
    return end


def carried(op: Op) -> list[tuple[Value, ...]]:
    """The values of each carried variable: init, body parameter, yielded value and result."""
    if isinstance(op, For):
        return list(zip(op.init, op.loop.params[1:], op.loop.terminator.operands, op.results, strict=True))
    if isinstance(op, While):
        groups = list(zip(op.init, op.before.params, op.after.terminator.operands, strict=True))
        return [*groups, *zip(condition_of(op).values, op.after.params, op.results, strict=True)]
    if isinstance(op, If):
        return list(zip(op.then.terminator.operands, op.orelse.terminator.operands, op.results, strict=True))
    return []


def origins(
    values: Iterable[Value], parents: Mapping[Block, Op], known: Callable[[Value], bool] = lambda value: False,
) -> Iterator[Value]:
    """The values, and all from which they are computed, what decides control flow among them; not what `known` values
    are computed from."""
    work, seen = list(values), set[Value]()
    while work:
        value = work.pop()
        if value not in seen:
            seen.add(value)
            yield value
            work += () if known(value) else _sources(value, parents)


def _sources(value: Value, parents: Mapping[Block, Op]) -> Sequence[Value]:
    op = maker_of(value, parents)
    if op is None or not op.blocks:
        return () if op is None else op.operands
    met = [v for group in carried(op) if value in group for v in group]
    if isinstance(op, For):
        return [op.lower, op.upper, op.step, *met]
    return [condition_of(op).cond, *met] if isinstance(op, While) else [*op.operands, *met]


def maker_of(value: Value, parents: Mapping[Block, Op]) -> Op | None:
    """The op that a value is a result of, or a parameter of whose body; None for a parameter of the function."""
    return parents.get(value.owner) if isinstance(value.owner, Block) else value.owner


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


def carry_past(
    op: Op, around: Sequence[Op], homes: Mapping[Op, Block], init: Value, following: Value, hint: str,
) -> Value:
    """Carry one more value through all control flow around an op (innermost first): `init` before the outermost, and
    `following`, which is known at the op, from there on. Gives the value before the op."""
    entering: list[Value] = []
    for outer in reversed(around):
        entering.insert(0, init)
        if isinstance(outer, (For, While)):
            [init], _ = carry(outer, [init], [hint])
    inside = [homes[inner] for inner in (op, *around)]
    for block, outer, before in zip(inside, around, entering, strict=False):
        if isinstance(outer, (For, While)):
            hand_on(body_of(outer), [following])
            following = outer.results[-1]
        else:
            for branch in outer.blocks:
                hand_on(branch, [following if branch is block else before])
            [following] = add_results(outer, [before.type], [hint])
    return init
