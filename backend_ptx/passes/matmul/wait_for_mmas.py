"""Wait for outstanding MMAs where their results are used, as late as possible.

    before: %r = for(..., init=(%zero)) .loop(%k: i32, %acc: tile<128x256xf32>) {
                %s: tile<128x256xf32> = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                yield(values=(%s))
            }
            %h = cast(src=%r, ...)
    after:  %r = for(..., init=(%zero)) .loop(%k: i32, %acc: tile<128x256xf32>) {
                %s: tile<128x256xf32> = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                yield(values=(%s))                          // outstanding: the next iteration's wgmma takes it
            }
            %0: tile<128x256xf32> = wgmma_wait(accs=(%r))
            %h = cast(src=%0, ...)

In loops that the tensor cores bind (`resources/pipes.py`), MMAs start as early as their operands are there, before ops
that do not compute these. A wait leaves those outstanding that started after the one whose result is used. An H200
gains 20 to 30 percent where products of an iteration do not depend on each other (gradients of attention), and 2 to 4
where one runs on (attention, d = 128). Where MUFU binds, warpgroups lose their turns (d = 64: 452 to 416 TFLOP/s).

Parts of a range that run few iterations (`edges`) keep the order of the program, which the assembler is done with
sooner: of attention, whose last tiles are masked, in 327 ms in place of 369 (H100), at the same speed.

Where threads bind a loop and turn an operand, an iteration starts the first MMA of the next one before its own last one
(`start_ahead`). It waits for it at its end, and for the last one where the next iteration uses the result.

MMAs that add to one accumulator follow each other without a wait: the unit keeps their order. But if an iteration
writes the registers of A, an outstanding MMA still reads them: the wait stands before they are written, and what
computes A up to there (loads, conversions) runs beside it. Where threads compute much and a cast writes them, the MMA
starts part by part, each when that part of the iteration before has ended: none waits for all others. Where MMAs of
the next iteration start before that (attention's scores, before the weights of the iteration before are replaced), the
unit goes on to them without a gap. Iterations that read the accumulator first end with the wait.

If a unit's accumulators live in a space of their own, the pass also moves them there before the first MMA that adds to
a tile in registers, and back after the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.matmul import Product, is_outstanding
from tilewright.backend_ptx.ops.units import MatrixUnit
from tilewright.backend_ptx.passes.pipelining.legality import tma_reason
from tilewright.backend_ptx.resources.pipes import FMA, MUFU, TENSOR, bounds
from tilewright.backend_ptx.resources.registers import OTHER
from tilewright.backend_ptx.roles import consumer_registers
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere, viewed
from tilewright.tileir.analysis.words import registers_of
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.dtypes import float32
from tilewright.tileir.iterations import edges
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.arith import Constant, Lt
from tilewright.tileir.ops.control import For, If, Yield
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Permute
from tilewright.tileir.passes.add_late import add_late
from tilewright.tileir.passes.start_ahead import start_ahead
from tilewright.tileir.passes.start_early import start_early
from tilewright.tileir.types import SharedType

SHARE = 4
"""An MMA starts part by part where threads compute for so large a share of the time that the tensor cores multiply: the
MMAs of the other warpgroups hide less, as each scheduler has one warp of a warpgroup, which waits for each result. On
an H200, of an RMS norm's operand A (a quarter, by 128x256x64; a half, by 128x128x64) 4096^3 takes 202 and 272 us in
place of 222 and 297, of silu(a) * g 376 in place of 396; of rows scaled (less than a fifth) 190 in place of 184."""
Users = dict[Value, list[Op]]
Move = Callable[..., Op]
# The carried values of a loop that stay outstanding, by position: the units that compute them, and the ops before which
# the next iteration waits for them.
Kept = dict[int, tuple[MatrixUnit, list[Op]]]


def wait_for_mmas(c: Compilation) -> Preserved:
    """Needs the operands of MMAs in place, and a function without waits."""
    function = c.function
    if not any(is_outstanding(op) for op in function.walk()):
        return ALL
    loops = [op for op in function.walk() if isinstance(op, For)]
    limits = [b for b in bounds(function, c.target) if b.pipe == TENSOR and c.limits.early_mmas]
    bound = {b.loop for b in limits}
    computing = {b.loop for b in limits if SHARE * (b.cycles.get(FMA, 0) + b.cycles.get(MUFU, 0)) >= b.interval}
    early = bound.difference(edges([loop for loop in loops if loop in bound]))
    others = [loop for loop in loops if loop not in bound and c.limits.early_mmas and _gains_ahead(c, loop)]
    ahead = start_ahead(c, others, is_outstanding, lambda op: isinstance(op, Load) and not tma_reason(op, c))
    add_late(c, [loop for loop in loops if loop in early], lambda op: isinstance(op, Product) and bool(_writers(op)))
    users = c.uses
    moved = [loop for loop in loops if loop in early and start_early(loop.loop, is_outstanding)]
    room = consumer_registers(c.plan.teams * c.plan.warps, c.hints.occupancy, c.target) - OTHER
    alone = [op for op in function.walk() if is_outstanding(op)]
    kept = {loop.loop: found for loop in loops if (found := in_flight(
        loop, users, loop in early, loop in ahead, room, alone if loop in computing else ()))}
    _Waits(users, kept).visit(function.body)
    late = max((sum(bool(until) for _, until in found.values()) for found in kept.values()), default=0)
    stepwise = any(isinstance(op, Product) and op.in_parts for op in alone)
    c.plan.early = bool(moved or late or stepwise)
    if c.plan.early:
        c.decide(decisions.STEPWISE_MMAS if stepwise else decisions.early_mmas(late))
    return NONE


def _gains_ahead(c: Compilation, loop: For) -> bool:
    """Whether an iteration starts the first MMA of the next one: where threads turn an operand beside what they
    compute, and registers hold that accumulator beside what the loop carries, and once more that or another one. On an
    H100 attention over 8-bit floats gains 15 percent (d = 128); with d = 64 bfloat16, of which threads turn nothing,
    loses 2."""
    if not any(getattr(op, "k_of_sums", False) for op in loop.loop.ops):
        return False
    sums = [op.results[0] for op in loop.loop.ops if isinstance(op, Product) and isinstance(op.acc.op, Constant)]
    held = sum(map(registers_of, (*loop.loop.params[1:], *sums[:1]))) + max(map(registers_of, sums), default=0)
    return held + OTHER <= consumer_registers(c.plan.teams * c.plan.warps, c.hints.occupancy, c.target)


def in_flight(
    loop: For, users: Users, early: bool, ahead: bool, room: int, alone: Sequence[Op] = (),
) -> Kept:
    """The carried values that an iteration leaves outstanding: only MMAs use them, or, if MMAs may start `early`, the
    next iteration starts MMAs before it uses them, or only writes the registers of A; or it comes to them late, as the
    one before has started its first MMA `ahead`: then those of the last MMA. `room`: registers of a thread. `alone`:
    the function's MMAs, of which one alone may wait for its own parts."""
    out: Kept = {}
    body, yielded = loop.loop, loop.loop.terminator.operands
    order = {op: i for i, op in enumerate(body.ops)}
    products = [op for op in body.ops if is_outstanding(op)]
    first = min(map(order.__getitem__, products), default=len(order))
    for i, param in enumerate(body.params[1:]):
        value: Value = param
        steps: list[Product] = []
        while (step := _next_product(value, users, body)) is not None:
            value = step.result
            steps.append(step)
        until: list[Op] = []
        if value is not yielded[i] and is_outstanding(last := yielded[i].op) and last in order:
            assert isinstance(last, Product)
            steps, until = [last], [op for op in body.ops if param in all_reads(op)]
        computed = [op for step in steps for op in _writers(step, room, order) if op in order]
        mine = users.get(yielded[i]) == [body.terminator] and yielded.count(yielded[i]) == 1
        if early and mine and value is yielded[i] and steps == alone and _is_stepwise(steps[0], computed):
            computed = []
        until += computed
        late = not until or (ahead and yielded[i].op is products[-1]) or (early and not steps[0].unit.enter and (
            min(until, key=order.__getitem__) in computed or min(order[op] for op in until) > first))
        if mine and late and len({step.unit for step in steps}) == 1:
            out[i] = steps[0].unit, until
    return out


def _is_stepwise(product: Product, writers: Sequence[Op]) -> bool:
    """Whether an MMA starts part by part, each behind the wait for that part of the iteration before: the unit goes on
    with the other parts while threads write the words of one. Only a cast does nothing but write words."""
    cast = writers[0] if writers == [product.a.op] else None
    return isinstance(cast, Cast) and cast.src.type.dtype is float32 and product.start_in_parts(cast.src)


def _writers(product: Product, room: int = 1 << 16, inside: Container[Op] | None = None) -> list[Op]:
    """The op that writes the registers of an MMA's A. Permuting what was computed writes none; bytes that were loaded
    are put into words after it. Where registers have no room for what is computed before it, beside those that the MMA
    still uses, an op before it, `inside` the loop."""
    writer = viewed(product.a).op
    while isinstance(writer, Permute) and (source := viewed(writer.src).op) is not None and source.elementwise:
        writer = source
    if isinstance(product.a.type, SharedType) or writer is None:
        return []
    room -= registers_of(product.acc) + registers_of(product.a)
    while writer.elementwise and registers_of(largest := max(writer.operands, key=registers_of)) > room and (
            before := viewed(largest).op) is not None and before.elementwise and (inside is None or before in inside):
        writer = before
    return [writer]


def _next_product(value: Value, users: Users, block: Block) -> Product | None:
    """The MMA of a block that is the only user of a value, as its accumulator."""
    found = users.get(value, [])
    if len(found) != 1 or found[0] not in block.ops or not is_outstanding(found[0]):
        return None
    op = found[0]
    assert isinstance(op, Product)
    return op if op.acc is value and value not in (op.a, op.b) else None


class _Waits:
    """Inserts the waits of a function."""

    def __init__(self, users: Users, kept: Mapping[Block, Kept]) -> None:
        self.users = users
        self.kept = kept
        # Values outstanding at the end of an iteration, and those outstanding at the start of the next, which does not
        # wait for them.
        self.quiet = {body.terminator.operands[i] for body, found in kept.items() for i in found}
        self.held = {body.params[1 + i] for body, found in kept.items() for i, (_, until) in found.items() if not until}

    def visit(self, block: Block) -> None:
        # Accumulators that may be outstanding, their units, how many MMAs of the block had started with theirs, and
        # ops before which they must be complete, whether these read them or not.
        kept = self.kept.get(block, {})
        pending = {block.params[1 + i]: (unit, 0, until) for i, (unit, until) in kept.items() if until}
        renamed: dict[Value, Value] = {}
        ops: list[Op] = []
        started = 0
        for op in block.ops:
            reads = set(all_reads(op)) if pending else set()
            # Behind a loop the barriers of an exchange keep a release where it is, that of a slot which the loop's MMAs
            # read: ptxas sank it below all that computes with the result, and the producer had a slot less meanwhile.
            meets = isinstance(op, ConvertLayout) and op.crosses
            due = [v for v, (_, _, until) in pending.items() if (meets and isinstance(v.op, For)) or (
                (v in reads or op in until) and not self._passes(op, v))]
            for unit in dict.fromkeys(pending[v][0] for v in due):
                newer = min(started - pending[v][1] for v in due if pending[v][0] is unit)
                # It covers what the iteration before left, too.
                mine = [v for v, (other, _, until) in pending.items() if other is unit and (v in due or until)]
                made, values = _wait(unit, mine, op.span, newer)
                ops += made
                renamed.update(zip(mine, values, strict=True))
                pending = {v: found for v, found in pending.items() if v not in mine}
            if renamed:
                replace_everywhere(op, renamed)
            for inner in op.blocks:
                self.visit(inner)
            if isinstance(op, Product) and op.unit.asynchronous:
                if op.acc not in pending and op.acc not in self.held:
                    made, [op.acc] = _through(op.unit.enter, [op.acc], op.span)
                    ops += made
                started += 1
                pending[op.result] = op.unit, started, []
            elif isinstance(op, For) and op.loop in self.kept:
                found = self.kept[op.loop]
                if not all(isinstance(op.init[i].op, Constant) for i in found):
                    made = _where_it_runs(op, found)
                    renamed.update(zip(op.results, made[-1].results, strict=True))
                    ops += made
                    continue
                ops += _enter_loop(op, found)
                pending.update((op.results[i], (unit, started, [])) for i, (unit, _) in found.items())
            ops.append(op)
        block.ops = ops

    def _passes(self, op: Op, value: Value) -> bool:
        """Whether a use needs no wait: by an MMA that is the only user and accumulates into it, or at the end of an
        iteration."""
        if isinstance(op, Product) and op.unit.asynchronous:
            return op.acc is value and value not in (op.a, op.b) and len(self.users[value]) == 1
        return op.terminator and value in self.quiet


def _moved(op: Op, values: Sequence[Value], span: Span) -> Op:
    """The op, whose results are these values in another place."""
    op.span = span
    for value, result in zip(values, op.results, strict=True):
        result.retype(value.type).hint = value.hint
    return op


def _wait(unit: MatrixUnit, values: Sequence[Value], span: Span, newer: int) -> tuple[list[Op], Sequence[Value]]:
    """The wait for accumulators, that leaves `newer` MMAs outstanding, and their values in registers after it."""
    wait = _moved(unit.wait_for(tuple(values), newer), values, span)
    fetched, results = _through(unit.fetch, wait.results, span)
    return [wait, *fetched], results


def _through(move: Move | None, values: Sequence[Value], span: Span) -> tuple[list[Op], Sequence[Value]]:
    """Move tiles between registers and the space of a unit's accumulators, if that is another one."""
    if move is None:
        return [], values
    ops = [_moved(move(src=value), [value], span) for value in values]
    return ops, [op.result for op in ops]


def _enter_loop(loop: For, kept: Kept) -> list[Op]:
    """Move the initial accumulators of a loop to the space of their units."""
    init, ops = list(loop.init), []
    for i, (unit, _) in kept.items():
        made, [init[i]] = _through(unit.enter, [init[i]], loop.span)
        ops += made
    loop.init = tuple(init)
    return ops


def _where_it_runs(loop: For, kept: Kept) -> list[Op]:
    """The loop and the waits after it, inside a branch that is taken if there is an iteration.

    If accumulators come from memory and the loop may be skipped, ptxas sees loads between the first MMA and the wait,
    and serialises all MMAs (C7515).
    """
    b = Builder(Block(), loop.span)
    with b.into() as orelse:
        b.emit(Yield(values=loop.init))
    with b.into() as then:
        b.block.ops += [*_enter_loop(loop, kept), loop]
        values = list(loop.results)
        for unit in dict.fromkeys(unit for unit, _ in kept.values()):
            mine = [i for i in kept if kept[i][0] is unit]
            waits, results = _wait(unit, [loop.results[i] for i in mine], loop.span, 0)
            b.block.ops += waits
            for i, result in zip(mine, results, strict=True):
                values[i] = result
        b.emit(Yield(values=tuple(values)))
    runs = b.value(Lt(lhs=loop.lower, rhs=loop.upper))
    b.block.ops.append(_moved(If(cond=runs, then=then, orelse=orelse), loop.results, loop.span))
    return b.block.ops
