"""One layout rule for each op that changes a tile's shape, and cheap tiles rematerialised in another layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.ops.reduce import ArgReduction, Reduction
from tilewright.tileir.ops.shape import Broadcast, Cat, Extract, Permute, Reshape
from tilewright.tileir.rewrite import Rewriter, constant_value
from tilewright.tileir.rules import RuleTable

# With more sub-tiles than this a tile is not laid out so that each thread has its part of all of them.
MOST_SUB_TILES = 64


class Rule(NamedTuple):
    """`forward(op, source)`: the result's layout for which the op is free. `backward(op, result)`: likewise the
    sources' layout. Either gives None if no such layout exists. `exact`: `backward` gives the only one."""

    forward: Callable[[Any, Layout], Layout | None]
    backward: Callable[[Any, Layout], Layout | None]
    exact: bool


def in_registers(op: Extract) -> bool:
    """Whether each thread may hold its part of every sub-tile: there are few, and known places choose no register at
    run time."""
    few = op.src.type.size <= MOST_SUB_TILES * op.result.type.size
    return few and all(constant_value(i) is not None for i in op.index)


def _extract_source(op: Extract, result: Layout) -> Layout | None:
    return transform.extract_source(result, op.src.type.shape) if in_registers(op) else None


_REDUCE = Rule(
    lambda op, source: transform.reduce(source, op.reduced_axes),
    lambda op, result: transform.reduce_source(result, op.src.type.shape, op.reduced_axes), exact=False)

RULES: RuleTable[Rule] = RuleTable("layouts", {
    Reshape: Rule(lambda op, source: transform.reshape(source, op.shape),
                  lambda op, result: transform.reshape(result, op.src.type.shape), exact=True),
    Permute: Rule(lambda op, source: transform.permute(source, op.axes),
                  lambda op, result: transform.permute_source(result, op.axes), exact=True),
    Broadcast: Rule(lambda op, source: transform.broadcast(source, op.shape),
                    lambda op, result: transform.within(result, op.src.type.shape), exact=True),
    Cat: Rule(lambda op, source: transform.cat(source, op.axis),
              lambda op, result: transform.extract(result, op.lhs.type.shape), exact=False),
    Extract: Rule(lambda op, source: transform.extract(source, op.shape), _extract_source, exact=False),
    Reduction: _REDUCE,
    ArgReduction: _REDUCE,
})


def rule_of(op: Op) -> Rule:
    """The rule of a shape-changing op."""
    rule = RULES.of(op)
    assert rule is not None
    return rule


def meet(op: Op, source: Layout, result: Layout) -> tuple[Layout, Layout]:
    """The layouts that a shape-changing op itself takes and gives, if its source has `source` and its users need
    `result`.

    A conversion is due on each side on which they differ.
    """
    rule = rule_of(op)
    if rule.exact or isinstance(op, Cat):
        wanted = rule.backward(op, result)
        if wanted is not None:
            return wanted, result
    produced = rule.forward(op, source)
    return source, result if produced is None else produced


def replay(rewriter: Rewriter, steps: Iterable[tuple[Op, Layout]], value: Value) -> Value:
    """Copies of shape-changing ops one after another, the first from `value`, each with the layout of its result."""
    for step, layout in steps:
        copy = step.clone({step.operands[0]: value})
        value = copy.results[0].lay_out(layout)
        rewriter.keep(copy)
    return value


# ---- rematerialised in another layout -------------------------------------------------------------------------------


def _made_of(value: Value, layout: Layout) -> dict[Value, Layout] | None:
    """The tiles, with their layouts, of which a cheap op makes a value in this layout; None of other ops."""
    op = value.op
    tiles = [v for v in op.operands if is_tile(v)] if op is not None else []
    if op is None or not (op.cheap or op.rematerializable or RULES.of(op) is not None):
        return None
    if not tiles or RULES.of(op) is None:
        return dict.fromkeys(tiles, layout)
    wanted = rule_of(op).backward(op, layout) if rule_of(op).exact else None
    return None if wanted is None else {tiles[0]: wanted}


def moved_for(value: Value, layout: Layout) -> Iterator[tuple[Value, Layout]]:
    """The tiles, each with a layout, that have to move to other threads before cheap ops make a value in this one."""
    if value.type.layout == layout:
        return
    sources = _made_of(value, layout)
    if sources is None:
        yield value, layout
    else:
        for source, wanted in sources.items():
            yield from moved_for(source, wanted)


def again(b: Builder, value: Value, layout: Layout, move: Callable[[Builder, Value, Layout], Value]) -> Value:
    """A value in another layout, by cheap ops once more; `move` converts what they are made of."""
    if value.type.layout == layout:
        return value
    sources = _made_of(value, layout)
    if sources is None:
        return move(b, value, layout)
    assert value.op is not None
    copy = value.op.clone({source: again(b, source, wanted, move) for source, wanted in sources.items()})
    return b.value(copy, value.hint).lay_out(layout)
