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

MMAs that add to one accumulator follow each other without a wait: the unit keeps their order. But if an iteration
writes the registers of A, it ends with a wait: an outstanding MMA still reads them.

If a unit's accumulators live in a space of their own, the pass also moves them there before the first MMA that adds to
a tile in registers, and back after the wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.matmul import Product, is_outstanding
from tilewright.backend_ptx.ops.units import MatrixUnit
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.ops.arith import Constant, Lt
from tilewright.tileir.ops.control import For, If, Yield
from tilewright.tileir.types import SharedType

Users = dict[Value, list[Op]]
# The carried values of a loop that stay outstanding, by position, and the units that compute them.
Carried = dict[int, MatrixUnit]


def wait_for_mmas(c: Compilation) -> Preserved:
    """Needs the operands of MMAs in place, and a function without waits."""
    function = c.function
    if not any(is_outstanding(op) for op in function.walk()):
        return ALL
    users = c.uses
    loops = (op for op in function.walk() if isinstance(op, For))
    _Waits(users, {loop: found for loop in loops if (found := in_flight(loop, users))}).visit(function.body)
    return NONE


def in_flight(loop: For, users: Users) -> Carried:
    """The carried values that only MMAs of the loop use, so that no iteration has to wait for them."""
    out: Carried = {}
    for i, param in enumerate(loop.loop.params[1:]):
        value: Value = param
        steps: list[Product] = []
        while (step := _next_product(value, users, loop.loop)) is not None:
            value = step.result
            steps.append(step)
        ends = users.get(value, [])
        yielded = loop.loop.terminator.operands
        alone = ends == [loop.loop.terminator] and [v for v in yielded if v is value] == [yielded[i]]
        one_unit = len({step.unit for step in steps}) == 1
        if one_unit and alone and not any(_writes_a(loop.loop, step) for step in steps):
            out[i] = steps[0].unit
    return out


def _writes_a(body: Block, product: Product) -> bool:
    """Whether each iteration writes the registers of an MMA's A."""
    if isinstance(product.a.type, SharedType):
        return False
    return product.a in body.params or any(product.a in op.results for op in body.ops)


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

    def __init__(self, users: Users, carried: Mapping[For, Carried]) -> None:
        self.users = users
        self.carried = carried
        # Values outstanding at the end of an iteration, and those outstanding at the start of the next.
        self.quiet = {loop.loop.terminator.operands[i] for loop, found in carried.items() for i in found}
        self.held = {loop.loop.params[1 + i] for loop, found in carried.items() for i in found}

    def visit(self, block: Block) -> None:
        pending: dict[Value, MatrixUnit] = {}  # outstanding
        renamed: dict[Value, Value] = {}
        ops: list[Op] = []
        for op in block.ops:
            reads = dict.fromkeys(all_reads(op)) if pending else ()
            due = [v for v in reads if v in pending and not self._passes(op, v)]
            for unit in dict.fromkeys(pending[v] for v in due):
                mine = [v for v in due if pending[v] is unit]
                made, values = _wait(unit, mine, op.span)
                ops += made
                renamed.update(zip(mine, values, strict=True))
            for value in due:
                del pending[value]
            if renamed:
                replace_everywhere(op, renamed)
            for inner in op.blocks:
                self.visit(inner)
            if isinstance(op, Product) and op.unit.asynchronous:
                if op.acc not in pending and op.acc not in self.held:
                    made, [op.acc] = _enter(op.unit, [op.acc], op.span)
                    ops += made
                pending[op.result] = op.unit
            elif isinstance(op, For) and op in self.carried:
                found = self.carried[op]
                if not all(isinstance(op.init[i].op, Constant) for i in found):
                    made = _where_it_runs(op, found)
                    renamed.update(zip(op.results, made[-1].results, strict=True))
                    ops += made
                    continue
                ops += _enter_loop(op, found)
                pending.update((op.results[i], unit) for i, unit in found.items())
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


def _wait(unit: MatrixUnit, values: Sequence[Value], span: Span) -> tuple[list[Op], Sequence[Value]]:
    """The wait for accumulators, and their values in registers after it."""
    wait = _moved(unit.wait_for(tuple(values)), values, span)
    if unit.fetch is None:
        return [wait], wait.results
    fetched = [_moved(unit.fetch(src=value), [value], span) for value in wait.results]
    return [wait, *fetched], [op.result for op in fetched]


def _enter(unit: MatrixUnit, values: Sequence[Value], span: Span) -> tuple[list[Op], Sequence[Value]]:
    """Move tiles from registers to the space of the unit's accumulators."""
    if unit.enter is None:
        return [], values
    ops = [_moved(unit.enter(src=value), [value], span) for value in values]
    return ops, [op.result for op in ops]


def _enter_loop(loop: For, carried: Carried) -> list[Op]:
    """Move the initial accumulators of a loop to the space of their units."""
    init, ops = list(loop.init), []
    for i, unit in carried.items():
        made, [init[i]] = _enter(unit, [init[i]], loop.span)
        ops += made
    loop.init = tuple(init)
    return ops


def _where_it_runs(loop: For, carried: Carried) -> list[Op]:
    """The loop and the waits after it, inside a branch that is taken if there is an iteration.

    If accumulators come from memory and the loop may be skipped, ptxas sees loads between the first MMA and the wait,
    and serialises all MMAs (C7515).
    """
    b = Builder(Block(), loop.span)
    with b.into() as orelse:
        b.emit(Yield(values=loop.init))
    with b.into() as then:
        b.block.ops += [*_enter_loop(loop, carried), loop]
        values = list(loop.results)
        for unit in dict.fromkeys(carried.values()):
            mine = [i for i in carried if carried[i] is unit]
            waits, results = _wait(unit, [loop.results[i] for i in mine], loop.span)
            b.block.ops += waits
            for i, result in zip(mine, results, strict=True):
                values[i] = result
        b.emit(Yield(values=tuple(values)))
    runs = b.value(Lt(lhs=loop.lower, rhs=loop.upper))
    b.block.ops.append(_moved(If(cond=runs, then=then, orelse=orelse), loop.results, loop.span))
    return b.block.ops
