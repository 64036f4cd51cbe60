"""Add the result of an op that runs beside the threads in the next iteration, so that this one need not wait for it.

    before: %r = for(..., init=(%x)) .loop(%k: i32, %acc: tile<64x64xf32>) {
                %p: tile<64x64xf32> = wgmma(a=%a, b=%b, acc=%zero, ...)
                %s: tile<64x64xf32> = add(lhs=%acc, rhs=%p)
                yield(values=(%s))
            }
    after:  %q, %o = for(..., init=(%x, %none)) .loop(%k: i32, %acc: tile<64x64xf32>, %last: tile<64x64xf32>) {
                %s: tile<64x64xf32> = add(lhs=%acc, rhs=%last)
                %p: tile<64x64xf32> = wgmma(a=%a, b=%b, acc=%zero, ...)
                yield(values=(%s, %p))
            }
            %r: tile<64x64xf32> = add(lhs=%q, rhs=%o)

What is added first is -0.0, which changes no float: the same numbers are added in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.tileir.analysis.unit import NONE, Unit
from tilewright.tileir.carried import carry, hand_on
from tilewright.tileir.core import Op
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.control import For


def add_late(unit: Unit, loops: Sequence[For], is_beside: Callable[[Op], bool]) -> None:
    """In these loops, the results of ops that `is_beside` holds for, and that are floats."""
    for loop in loops:
        for number, value in enumerate(loop.loop.terminator.operands):
            add, param = value.op, loop.loop.params[1 + number]
            if not isinstance(add, Add) or not value.type.dtype.is_float or param not in add.operands:
                continue
            [part] = {*add.operands} - {param} or {param}
            here = part.op in loop.loop.ops and add in loop.loop.ops
            if here and part.op is not None and is_beside(part.op) and all(
                    len(unit.uses[v]) == 1 for v in (param, part, value)):
                _delay(unit, loop, number, add, part.op)
                unit.forget(NONE)


def _delay(unit: Unit, loop: For, number: int, add: Add, op: Op) -> None:
    part, result, home, ops = op.results[0], loop.results[number], unit.homes[loop], loop.loop.ops
    none = Constant(value=-0.0, type=part.type.erased())
    none.span = loop.span
    [last], [left] = carry(loop, [none.result.retype(part.type)], [part.hint])
    hand_on(loop.loop, [part])
    total = add.clone({loop.loop.params[1 + number]: result, part: left})
    total.results[0].retype(result.type).hint = result.hint
    for user in unit.uses.get(result, ()):
        user.replace_operands({result: total.results[0]})
    add.replace_operands({part: last})
    ops.remove(add)
    ops.insert(ops.index(op), add)
    at = home.ops.index(loop)
    home.ops[at:at + 1] = [none, loop, total]
