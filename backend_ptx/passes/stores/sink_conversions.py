"""Sink conversions below the permutations and reshapes of a stored tile, where they can be split: part of
`split_stores`.

That saves the shared memory of whole tiles, which the rings of MMAs need.

    before: %c: tile<128x256xbf16, #1> = convert_layout(src=%x)
            %p: tile<256x128xbf16, #2> = permute(src=%c, axes=(1, 0))
            store(array=%y, index=(%i, %j), value=%p, ...)
    after:  %0: tile<256x128xbf16, #3> = permute(src=%x, axes=(1, 0))     // free: #3 says so
            %p: tile<256x128xbf16, #2> = convert_layout(src=%0)
            store(array=%y, index=(%i, %j), value=%p, ...)
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.passes.layouts.rules import rule_of
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.rewrite import Rewriter, rewrite

Chain = list[tuple[Op, Layout]]


def sink_conversions(c: Compilation) -> None:
    """Needs layouts on every tile."""
    function = c.function
    if not c.has(Product):
        return  # nothing else wants much shared memory
    users = c.uses
    chains: dict[Op, Chain] = {}
    for block in (function.body, *(b for op in function.walk() for b in op.blocks)):
        for op in block.ops:
            chain = _chain(op.value, block, users) if isinstance(op, Store) else None
            if chain:
                chains[chain[-1][0]] = chain
    if not chains:
        return
    gone = {op for chain in chains.values() for op in (chain[0][0].operands[0].op, *(step for step, _ in chain[:-1]))}
    rewrite(function, lambda rewriter, op: _rule(rewriter, op, chains, gone))
    c.forget()


def conversion_across(op: Op | None) -> ConvertLayout | None:
    """The op, if it is a conversion that crosses threads."""
    if not isinstance(op, ConvertLayout):
        return None
    stays = plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("none", "registers")
    return None if stays else op


def _chain(value: Value, block: Block, users: dict[Value, list[Op]]) -> Chain | None:
    """The ops between a conversion and a value, first one first, each with the layout of its result after the
    conversion has sunk below it; None if it cannot sink."""
    steps: list[Op] = []
    while value.op is not None and value.op.rearranges and value.op in block.ops and len(users[value]) == 1:
        steps.append(value.op)
        value = value.op.operands[0]
    conversion = conversion_across(value.op)
    if not steps or conversion is None or conversion not in block.ops or len(users[value]) != 1:
        return None
    if isinstance(conversion.src.op, Load):
        return None  # the load's ring does the conversion, if it gets one
    layout: Layout | None = conversion.src.type.layout
    out: Chain = []
    for step in reversed(steps):
        rule = rule_of(step)
        assert rule is not None and layout is not None
        layout = rule.forward(step, layout)
        if layout is None:
            return None
        out.append((step, layout))
    return out


def _rule(rewriter: Rewriter, op: Op, chains: dict[Op, Chain], gone: set[Op | None]) -> None:
    if op in gone:
        return
    chain = chains.get(op)
    if chain is None:
        rewriter.keep(op)
        return
    conversion = chain[0][0].operands[0].op
    assert isinstance(conversion, ConvertLayout)
    value = conversion.src
    for step, layout in chain:
        copy = step.clone({step.operands[0]: value})
        value = copy.results[0]
        value.lay_out(layout)
        rewriter.keep(copy)
    out = rewriter.value(ConvertLayout(src=value), op.results[0].hint).retype(op.results[0].type)
    rewriter.replace(op.results[0], out)
