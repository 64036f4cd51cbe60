"""Wait for products of warpgroups where their results are used, as late as possible.

    before: %r = for(..., init=(%zero)) .loop(%k: i32, %acc: tile<128x256xf32>) {
                %s: tile<128x256xf32> = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                yield(values=(%s))
            }
            %h = cast(src=%r, ...)
    after:  %r = for(..., init=(%zero)) .loop(%k: i32, %acc: tile<128x256xf32>) {
                %s: tile<128x256xf32> = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                yield(values=(%s))                          // still in flight: only the next round's wgmma takes it
            }
            %0: tile<128x256xf32> = wgmma_wait(accs=(%r))
            %h = cast(src=%0, ...)

Products that add to one accumulator follow each other without a wait: tensor cores keep their order. But where A is in
registers that a round writes anew, the round ends with a wait: a product in flight still reads them.
"""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.warpgroup import Wgmma, WgmmaWait
from tilewright.tileir.analysis.uses import all_reads, uses
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.arith import Constant, Lt
from tilewright.tileir.ops.control import For, If, Yield
from tilewright.tileir.types import SharedType

Users = dict[Value, list[Op]]


def wait_for_mmas(c: Compilation) -> None:
    """Needs operands of wgmma in place; no wait must stand yet."""
    function = c.function
    if not any(isinstance(op, Wgmma) for op in function.walk()):
        return
    users = uses(function)
    carried = {loop: found for loop in function.walk() if isinstance(loop, For) and (found := in_flight(loop, users))}
    quiet = {loop.loop.terminator.operands[i] for loop, found in carried.items() for i in found}
    _visit(function.body, users, carried, quiet)


def in_flight(loop: For, users: Users) -> list[int]:
    """The carried values that a loop's products alone touch, so that no round has to wait for them."""
    out = []
    for i, param in enumerate(loop.loop.params[1:]):
        value: Value = param
        steps: list[Wgmma] = []
        while (step := _next_product(value, users, loop.loop)) is not None:
            value = step.result
            steps.append(step)
        ends = users.get(value, [])
        yielded = loop.loop.terminator.operands
        alone = ends == [loop.loop.terminator] and [v for v in yielded if v is value] == [yielded[i]]
        if steps and alone and not any(_writes_a(loop.loop, step) for step in steps):
            out.append(i)
    return out


def _writes_a(body: Block, product: Wgmma) -> bool:
    """Whether each round writes the registers of a product's A."""
    if isinstance(product.a.type, SharedType):
        return False
    return product.a in body.params or any(product.a in op.results for op in body.ops)


def _next_product(value: Value, users: Users, block: Block) -> Wgmma | None:
    """The product of a block that alone uses a value, as its accumulator."""
    found = users.get(value, [])
    if len(found) != 1 or not isinstance(found[0], Wgmma) or found[0] not in block.ops:
        return None
    op = found[0]
    return op if op.acc is value and value not in (op.a, op.b) else None


def _visit(block: Block, users: Users, carried: dict[For, list[int]], quiet: set[Value]) -> None:
    pending: set[Value] = set()  # in flight
    renamed: dict[Value, Value] = {}
    ops: list[Op] = []
    for op in block.ops:
        due = [v for v in dict.fromkeys(all_reads(op)) if v in pending and not _passes(op, v, users, quiet)]
        if due:
            wait = WgmmaWait(accs=tuple(due), pending=0)
            wait.span = op.span
            for value, result in zip(due, wait.results, strict=True):
                result.type, result.hint = value.type, value.hint
                renamed[value] = result
                pending.remove(value)
            ops.append(wait)
        op.replace_operands(renamed)
        for inner in op.blocks:
            for nested in inner.walk():
                nested.replace_operands(renamed)
            _visit(inner, users, carried, quiet)
        if isinstance(op, Wgmma):
            pending.add(op.result)
        elif isinstance(op, For) and op in carried:
            if not all(isinstance(op.init[i].op, Constant) for i in carried[op]):
                made = _where_it_runs(op, carried[op])
                renamed.update(zip(op.results, made[-1].results, strict=True))
                ops += made
                continue
            pending.update(op.results[i] for i in carried[op])
        ops.append(op)
    block.ops = ops


def _where_it_runs(loop: For, flying: list[int]) -> list[Op]:
    """The loop and the wait behind it inside a branch that is taken if there is a round.

    Where accumulators come from memory and may go around the loop, ptxas sees loads between the first product and the
    wait, and lets no products overlap (C7515).
    """
    wait = WgmmaWait(accs=tuple(loop.results[i] for i in flying), pending=0)
    wait.span = loop.span
    values = list(loop.results)
    for i, result in zip(flying, wait.results, strict=True):
        result.type, result.hint = loop.results[i].type, loop.results[i].hint
        values[i] = result
    runs = Lt(lhs=loop.lower, rhs=loop.upper)
    then, orelse = Block(), Block()
    then.ops = [loop, wait, Yield(values=tuple(values))]
    orelse.ops = [Yield(values=loop.init)]
    guarded = If(cond=runs.result, then=then, orelse=orelse)
    for made in (runs, guarded, then.terminator, orelse.terminator):
        made.span = loop.span
    for old, new in zip(loop.results, guarded.results, strict=True):
        new.type, new.hint = old.type, old.hint
    return [runs, guarded]


def _passes(op: Op, value: Value, users: Users, quiet: set[Value]) -> bool:
    """Whether a use needs no wait: the accumulator of a next product that alone uses it, or the end of a round."""
    if isinstance(op, Wgmma):
        return op.acc is value and value not in (op.a, op.b) and len(users[value]) == 1
    return op.terminator and value in quiet
