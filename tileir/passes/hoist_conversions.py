"""Hoist conversions above casts and reshapes, up to the load or gather, so that a ring replaces them.

    before: %t: tile<64x32xf16, #0> = load(array=%a, ...)
            %p: tile<32x64xf16, #1> = permute(src=%t, axes=(1, 0))
            %d: tile<32x64xf16, #2> = convert_layout(src=%p)
    after:  %t: tile<64x32xf16, #0> = load(array=%a, ...)
            %0: tile<64x32xf16, #3> = convert_layout(src=%t)              // #3: what makes the permute to #2 free
            %d: tile<32x64xf16, #2> = permute(src=%0, axes=(1, 0))

A conversion is hoisted above a cast only if the cast's source takes no more bytes. It is hoisted only above ops without
other users, so no work is duplicated.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.rules import replay, rule_of
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, only, rewrite


class Chain(NamedTuple):
    """The ops between a load or gather and a conversion, first one first, each with the layout of its result once
    `source` is converted to `layout`."""

    source: Value
    layout: Layout
    steps: list[tuple[Op, Layout]]


def hoist_conversions(unit: Unit) -> Preserved:
    """Needs layouts on every tile."""
    conversions = [op for op in unit.function.walk() if isinstance(op, ConvertLayout) and op.crosses]
    chains = {op: found for op in conversions if (found := _chain(op, unit.uses)) is not None}
    if not chains:
        return ALL

    def hoist(rewriter: Rewriter, op: ConvertLayout) -> None:
        source, layout, steps = chains[op]
        value = rewriter.value(ConvertLayout(src=source)).retype(source.type.with_layout(layout))
        rewriter.replace(op.result, replay(rewriter, steps, value))

    rewrite(unit.function, {ConvertLayout: only(chains, hoist)})
    unit.forget()
    dce(unit)  # the ops above which conversions were hoisted
    return NONE


def _chain(op: ConvertLayout, users: dict[Value, list[Op]]) -> Chain | None:
    """The chain above a conversion; None if the conversion stays."""
    steps: list[tuple[Op, Layout]] = []
    value, layout = op.src, op.result.type.layout
    while not isinstance(value.op, (Load, Gather)):
        here = value.op
        wanted = None if here is None else _source_layout(here, layout)
        if here is None or wanted is None or not _only_converted(value, users):
            return None
        steps.append((here, layout))
        value, layout = here.operands[0], wanted
    return Chain(value, layout, steps[::-1]) if steps else None


def _source_layout(op: Op, layout: Layout) -> Layout | None:
    """The layout of the source with which an op gives `layout`; None if no conversion is hoisted above the op."""
    if op.rearranges:
        return rule_of(op).backward(op, layout)
    narrow = isinstance(op, Cast) and op.src.type.dtype.bytes <= op.dtype.bytes
    return layout if narrow else None


def _only_converted(value: Value, users: dict[Value, list[Op]]) -> bool:
    """Whether every use of a value ends in a conversion that is hoisted above it."""
    return all(
        user.crosses if isinstance(user, ConvertLayout)
        else (user.rearranges or isinstance(user, Cast)) and _only_converted(user.results[0], users)
        for user in users.get(value, ()))
