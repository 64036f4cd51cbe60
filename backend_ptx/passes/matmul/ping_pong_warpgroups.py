"""Ping-pong warpgroups: two warpgroups that wait for their MMAs in every iteration alternate on the tensor cores.

    before: for(...) { ... %s = wgmma(...)  %t = wgmma_wait(accs=(%s)) ... %y = wgmma(...)  %z = wgmma_wait(accs=(%y)) }
    after:  take_turn()
            for(...) {
                ... %s = wgmma(...)
                pass_turn()
                %t = wgmma_wait(accs=(%s))
                ...                                         // meanwhile the other warpgroup's MMAs execute
                take_turn()
                %y = wgmma(...)
                %z = wgmma_wait(accs=(%y))
            }                                               // the turn is kept for the first MMAs of the next iteration
            pass_turn()

An iteration that starts the first MMA of the next one has a single run, and waits for a part of it. The turn is that
MMA: ptxas sinks what only the last one needs (exponentials) below the wait for the turn, and issues the first one's
instructions between them, so that the warpgroups compute most of these in turns.

Without turns, warpgroups that contend for the tensor cores fall into lockstep: both multiply, then both compute. Turns
raised attention (128 x 128 tiles, d = 128) from 581 to 661 TFLOP/s on an H200. The scheme is that of FlashAttention-3
(arXiv 2407.08608, section 3.1). Other iterations with a single run of MMAs get turns where threads compute with what
these leave, and they take long (`turns.LONG_RUN`). Else warpgroups alternate by themselves, and turns only cost time (a
GEMM with dequantised operands: 248 us with turns, 208 without).

Where teams of warps run a block of the launch each (`choose_warps`), the loop over products is one turn: the other team
stores its block meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.warpgroup import WARPS as GROUP
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.warpgroup import PassTurn, TakeTurn
from tilewright.backend_ptx.passes.matmul.turns import waited_runs
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Op
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.rewrite import Rewriter, only, rewrite


def ping_pong_warpgroups(c: Compilation) -> Preserved:
    """Needs the waits for MMAs and the CTA barriers in place: a warpgroup must not wait at a barrier while the other
    one waits for its turn."""
    if c.plan.teams == 1 and c.plan.warps != 2 * GROUP:
        return ALL
    takes, passes = _around_products(c) if c.plan.teams > 1 else _between_runs(c)
    for op in _releases(c, passes) if c.plan.teams > 1 else ():
        op.held = True
    if not takes:
        return ALL

    def turns(b: Rewriter, op: Op) -> None:
        if op in takes:
            b.emit(TakeTurn())
        b.keep(op)
        if op in passes:
            b.emit(PassTurn())

    ops = takes | passes
    rewrite(c.function, {type(op): only(ops, turns) for op in ops})
    if c.plan.teams == 1:
        c.decide(decisions.PING_PONG)
    return NONE


def _between_runs(c: Compilation) -> tuple[set[Op], set[Op]]:
    """The ops before which a warpgroup takes the tensor cores, and those after which it yields them."""
    takes: set[Op] = set()
    passes: set[Op] = set()
    for loop in c.function.walk():
        runs = waited_runs(c, loop)
        if len(runs) == 1:
            takes.add(runs[0][0])
            passes.add(runs[0][0])
        elif runs:  # an iteration starts and ends with the turn held
            takes |= {loop, *(first for first, _ in runs[1:])}
            passes |= {loop, *(last for _, last in runs[:-1])}
    return takes, passes


def _around_products(c: Compilation) -> tuple[set[Op], set[Op]]:
    """The same of teams that run a block each. The next one may wait for its tiles only when this one has waited for
    all of its own: until then a parity could stand for an earlier phase of a slot."""
    loops = [c.parents[c.homes[op]] for op in c.function.walk() if isinstance(op, Product)]
    return {loops[0]}, {loops[-1]}


def _releases(c: Compilation, loops: Collection[Op]) -> Iterator[Any]:
    """The releases of slots behind such loops that ptxas would sink below what is computed there: the other team would
    have a slot less meanwhile (16384x1024x1024 and GELU with 128x128x64 tiles, on an H100: 82 us in place of 60)."""
    for loop in loops:
        ops = c.homes[loop].ops
        behind = ops[ops.index(loop) + 1:]
        if any(op.elementwise and is_tile(op.results[0]) and not isinstance(op, Cast) for op in behind):
            yield from (op for op in behind if "held" in op.fields)
