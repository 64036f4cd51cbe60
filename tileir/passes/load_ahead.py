"""Load in one iteration of a loop the small tiles that the next one computes with, into registers: what several threads
need, or what is too little for a ring, would else be waited for in each iteration.

    before: %r = for(lower=%l, upper=%u, ..., init=(%x)) .loop(%t: i32, %h: tile<32x16xf32>) {
                %u: tile<1x1x32xbf16> = load(array=%input, index=(%i, %t, %d), ...)
                ...
                yield(values=(%y))
            }
    after:  %f: tile<1x1x32xbf16> = load(array=%input, index=(%i, %l, %d), ...)
            %r, %o = for(lower=%l, upper=%u, ..., init=(%x, %f)) .loop(%t: i32, %h: tile<32x16xf32>, %u: ...) {
                %v: tile<1x1x32xbf16> = load(array=%input, index=(%i, %t + 1, %d), ...)
                ...
                yield(values=(%y, %v))
            }

Nobody uses what the last iteration loads, which may lie outside the array: such elements are not accessed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tileir.analysis.places import harmless, movable_loads
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.analysis.uses import replace_everywhere
from tilewright.tileir.analysis.words import registers_of
from tilewright.tileir.builder import Builder
from tilewright.tileir.carried import carry, hand_on, innermost_loops
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.iterations import most_iterations
from tilewright.tileir.ops.arith import Add
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.passes.start_early import needed_for

ENOUGH = 8  # iterations: one more that loads costs little beside so many


def load_ahead(unit: Unit, most: int = 8) -> Preserved:
    """Loads of innermost loops, of arrays that the kernel does not write, where all tiles of a loop take at most so
    many registers of a thread."""
    movable, changed = movable_loads(unit), False
    for loop in innermost_loops(unit.function):
        count = most_iterations(loop, unit.facts)
        if not isinstance(loop, For) or (count is not None and count < ENOUGH):
            continue
        found = [op for op in loop.loop.ops if isinstance(op, Load) and op in movable and op.check_bounds]
        loads = [op for op in found if _address(unit, loop, op) is not None]
        if loads and sum(registers_of(load.results[0]) for load in loads) <= most:
            _carry(unit, loop, loads)
            changed = True
    return NONE if changed else ALL


def _address(unit: Unit, loop: For, load: Load) -> list[Op] | None:
    """The ops of the body that compute where it loads, None where not the loop's variable alone decides that.

    A view that the body makes may lie beyond its array behind the last iteration, and knows no bounds but its own.
    """
    body = loop.loop
    wanted = needed_for(body.ops[:body.ops.index(load)], load)
    params, made = set(body.params[1:]), [op for op in body.ops if op in wanted]
    fails = any(op.blocks or not harmless(op, unit.facts) or not params.isdisjoint(op.operands) for op in made)
    fails |= any(load.array in op.results for op in made)
    varying = {body.params[0]}
    for op in made:
        varying.update(() if varying.isdisjoint(op.operands) else op.results)
    if fails or not params.isdisjoint(load.operands) or varying.isdisjoint(load.operands):
        return None
    return made


def _carry(unit: Unit, loop: For, loads: Sequence[Load]) -> None:
    """Make the loop load for its next iteration."""
    body, home = loop.loop, unit.homes[loop]
    needed = {op for load in loads for op in _address(unit, loop, load) or ()}
    begun = [op for op in body.ops if op in needed or op in loads]
    before, ahead = (Builder(Block(), loads[0].span) for _ in range(2))
    init = _copies(before, loop, begun, loads, loop.lower)
    params, _ = carry(loop, init, [load.results[0].hint for load in loads])
    following = _copies(ahead, loop, begun, loads, ahead.value(Add(lhs=body.params[0], rhs=loop.step)))
    home.ops[(at := home.ops.index(loop)):at] = before.block.ops
    left = [op for op in body.ops if op not in loads]
    swapped = dict(zip((load.results[0] for load in loads), params, strict=True))
    for op in left:
        replace_everywhere(op, swapped)
    body.ops = [*ahead.block.ops, *left]
    hand_on(body, following)


def _copies(b: Builder, loop: For, begun: Sequence[Op], loads: Sequence[Load], variable: Value) -> list[Value]:
    """What the loads load in the iteration with this loop variable."""
    mapping = {loop.loop.params[0]: variable}
    for op in begun:
        b.emit(op.clone(mapping))
    return [mapping[load.results[0]] for load in loads]
