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

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.passes.layouts.rules import rule_of
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.rewrite import Rewriter, rewrite

Chain = list[tuple[Op, Layout]]


def hoist_conversions(c: Compilation) -> Preserved:
    """Needs layouts on every tile."""
    function = c.function
    users = c.uses
    chains = {op: found for op in function.walk() if (found := _chain(op, users)) is not None}
    if not chains:
        return ALL
    rewrite(function, lambda rewriter, op: _rule(rewriter, op, chains))
    _drop(function, {op for chain in chains.values() for op, _ in chain})
    return NONE


def _chain(op: Op, users: dict[Value, list[Op]]) -> Chain | None:
    """The ops between a load or gather and a conversion, last one first, each with the layout that its source needs."""
    if not isinstance(op, ConvertLayout) or _stays(op):
        return None
    out: Chain = []
    value, layout = op.src, op.result.type.layout
    while not isinstance(value.op, (Load, Gather)):
        here = value.op
        wanted = None if here is None else _source_layout(here, layout)
        if here is None or wanted is None or not _only_converted(value, users):
            return None
        out.append((here, wanted))
        value, layout = here.operands[0], wanted
    return out or None


def _stays(op: ConvertLayout) -> bool:
    return plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("none", "registers")


def _source_layout(op: Op, layout: Layout) -> Layout | None:
    """The layout of the source with which an op gives `layout`; None if no conversion is hoisted above the op."""
    if op.rearranges:
        rule = rule_of(op)
        assert rule is not None
        return rule.backward(op, layout)
    if isinstance(op, Cast) and op.src.type.dtype.bytes <= op.dtype.bytes:
        return layout
    return None


def _only_converted(value: Value, users: dict[Value, list[Op]]) -> bool:
    """Whether every use of a value ends in a conversion that is hoisted above it."""
    for user in users.get(value, []):
        if isinstance(user, ConvertLayout):
            if _stays(user):
                return False
        elif not (user.rearranges or isinstance(user, Cast)) or not _only_converted(user.results[0], users):
            return False
    return True


def _rule(rewriter: Rewriter, op: Op, chains: dict[Op, Chain]) -> None:
    chain = chains.get(op)
    if chain is None:
        rewriter.keep(op)
        return
    first, layout = chain[-1]
    source = first.operands[0]
    value = rewriter.value(ConvertLayout(src=source)).retype(source.type.with_layout(layout))
    targets = [*(wanted for _, wanted in reversed(chain[:-1])), op.results[0].type.layout]
    for (step, _), wanted in zip(reversed(chain), targets, strict=True):
        copy = step.clone({step.operands[0]: value})
        value = copy.results[0]
        value.lay_out(wanted)
        rewriter.keep(copy)
    rewriter.replace(op.results[0], value)


def _drop(function: Function, passed: set[Op]) -> None:
    """Remove the ops whose copies below the hoisted conversions have taken over all users."""
    used = {value for op in function.walk() if op not in passed for value in op.operands}
    work = list(passed)
    kept: set[Op] = set()
    while work:
        op = work.pop()
        if op not in kept and op.results[0] in used:
            kept.add(op)
            used.update(op.operands)
            work = list(passed - kept)
    for block in [function.body, *(b for op in function.walk() for b in op.blocks)]:
        block.ops = [op for op in block.ops if op not in passed or op in kept]
