"""Structured control flow: blocks and phis. Conditions are scalars, so all threads of a CTA branch alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.backend_ptx.llvm.builder import Phi
from tilewright.backend_ptx.lower.blocks import lower_block
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import Fragment, flatten, lanes_of, rebuild
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir.core import Block, Value
from tilewright.tileir.ops import control as ops


class Carried:
    """Values that merge at the start of a block, as phis."""

    def __init__(self, ctx: Context, patterns: Sequence[Fragment], values: Sequence[Value]) -> None:
        parts = [flatten(pattern) for pattern in patterns]
        phis = iter(ctx.b.phis([v for part in parts for v in part]))
        self.phis: list[list[Phi]] = [[next(phis) for _ in part] for part in parts]
        for pattern, value, mine in zip(patterns, values, self.phis, strict=True):
            ctx.set(value, rebuild(pattern, [p.value for p in mine], value.type))

    def arrive(self, fragments: Sequence[Fragment], label: str) -> None:
        """What the values are when control comes from the block `label`."""
        for phis, fragment in zip(self.phis, fragments, strict=True):
            for phi, value in zip(phis, flatten(fragment), strict=True):
                phi.add(value, label)


def _fragments(ctx: Context, values: Sequence[Value]) -> list[Any]:
    return [ctx[v] for v in values]


@lower(ops.For)
def for_(ctx: Context, op: ops.For) -> None:
    """Rotated: one test before the loop, one at its end; the distance left is unsigned, so that nothing overflows."""
    b = ctx.b
    lower_, upper, step = ctx[op.lower], ctx[op.upper], ctx[op.step]
    signed = op.lower.type.dtype.is_signed
    init = _fragments(ctx, op.init)
    body, done = b.label("loop"), b.label("done")
    before = b.block
    # Registers are set to what the first iteration starts with at the branch, and where LLVM makes a block before the
    # loop: their place is that of the first tile among it.
    start = next((v.op.span for v in op.init if v.op is not None and lanes_of(v.type)), op.span)
    ctx.locate(start)
    b.cbr(b.icmp("slt" if signed else "ult", lower_, upper), body, done)
    b.start(body)
    carried = Carried(ctx, [lower_, *init], op.loop.params)
    counter = ctx[op.loop.params[0]]
    lower_block(ctx, op.loop)
    following = _fragments(ctx, op.loop.terminator.operands)
    ctx.locate(op.span)
    more = b.icmp("ugt", b.sub(upper, counter), step)
    after = b.add(counter, step)
    last = b.block
    ctx.locate(op.span, loop=start)
    b.cbr(more, body, done)
    ctx.locate(op.span)
    carried.arrive([lower_, *init], before)
    carried.arrive([after, *following], last)
    b.start(done)
    results = Carried(ctx, init, op.results)
    results.arrive(init, before)
    results.arrive(following, last)


@lower(ops.While)
def while_(ctx: Context, op: ops.While) -> None:
    b = ctx.b
    init = _fragments(ctx, op.init)
    test, body, done = b.label("test"), b.label("body"), b.label("done")
    before = b.block
    b.br(test)
    b.start(test)
    carried = Carried(ctx, init, op.before.params)
    carried.arrive(init, before)
    lower_block(ctx, op.before)
    condition = op.before.terminator
    assert isinstance(condition, ops.Condition)
    passed = _fragments(ctx, condition.values)
    b.cbr(ctx[condition.cond], body, done)
    b.start(body)
    for param, fragment in zip(op.after.params, passed, strict=True):
        ctx.set(param, fragment)
    lower_block(ctx, op.after)
    carried.arrive(_fragments(ctx, op.after.terminator.operands), b.block)
    b.br(test)
    b.start(done)
    for result, fragment in zip(op.results, passed, strict=True):
        ctx.set(result, fragment)


@lower(ops.If)
def if_(ctx: Context, op: ops.If) -> None:
    def way(block: Block) -> list[Any]:
        lower_block(ctx, block)
        return _fragments(ctx, block.terminator.operands)

    ways = ctx.b.branch(ctx[op.cond], lambda: way(op.then), lambda: way(op.orelse), ("then", "else"))
    merged = Carried(ctx, ways[0][0], op.results)
    for fragments, label in ways:
        merged.arrive(fragments, label)
