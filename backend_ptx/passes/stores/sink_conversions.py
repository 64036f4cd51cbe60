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
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.passes.layouts.rules import replay, rule_of
from tilewright.tileir.core import Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, rewrite


def sink_conversions(c: Compilation) -> None:
    """Needs layouts on every tile."""
    if not c.has(Product):
        return  # nothing else wants much shared memory
    found = [_chain(op, c) for op in c.function.walk() if isinstance(op, Store)]
    chains = {chain[1][-1][0]: chain for chain in found if chain is not None}
    if not chains:
        return

    def sink(rewriter: Rewriter, op: Op) -> None:
        if op not in chains:
            rewriter.keep(op)
            return
        conversion, steps = chains[op]
        value = replay(rewriter, steps, conversion.src)
        rewriter.replace(op.results[0], rewriter.value(ConvertLayout(src=value)).retype(op.results[0].type))

    rewrite(c.function, sink)
    c.forget()
    dce(c)  # the ops below which conversions have sunk


def _chain(store: Store, c: Compilation) -> tuple[ConvertLayout, list[tuple[Op, Layout]]] | None:
    """A conversion and the shape-changing ops between it and a store, first one first, each with the layout of its
    result once the conversion has sunk below them; None if there is none that can."""
    def only_here(value: Value) -> bool:
        return value.op is not None and c.homes[value.op] is c.homes[store] and len(c.uses[value]) == 1

    moves: list[Op] = []
    value = store.value
    while value.op is not None and value.op.rearranges and only_here(value):
        moves.append(value.op)
        value = value.op.operands[0]
    conversion = value.op
    if not moves or not isinstance(conversion, ConvertLayout) or not conversion.crosses or not only_here(value):
        return None
    if isinstance(conversion.src.op, Load):
        return None  # the load's ring does the conversion, if it gets one
    layout: Layout | None = conversion.src.type.layout
    steps: list[tuple[Op, Layout]] = []
    for move in reversed(moves):
        assert layout is not None
        layout = rule_of(move).forward(move, layout)
        if layout is None:
            return None
        steps.append((move, layout))
    return conversion, steps
