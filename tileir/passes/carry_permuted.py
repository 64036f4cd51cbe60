"""Loops carry a tile with its axes in the order in which they use it.

    before: %r = for(..., init=(%zero)) .loop(%k: i32, %t: tile<128x64xf32>) {
                %p: tile<64x128xf32> = permute(src=%t, axes=(1, 0))
                %s: tile<64x128xf32> = wgmma(a=%a, b=%b, acc=%p, ...)
                %u: tile<128x64xf32> = permute(src=%s, axes=(1, 0))
                yield(values=(%u))
            }
    after:  %q = for(..., init=(%zeros)) .loop(%k: i32, %p: tile<64x128xf32>) {
                %s: tile<64x128xf32> = wgmma(a=%a, b=%b, acc=%p, ...)
                yield(values=(%s))
            }
            %r: tile<128x64xf32> = permute(src=%q, axes=(1, 0))

A backend asks for it where it computes transposes: what stays outstanding from one iteration to the next may have no
other use between them. No bit changes.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import NONE, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.ops.shape import Permute
from tilewright.tileir.types import TileType

Axes = tuple[int, ...]


def carry_permuted(unit: Unit) -> None:
    """Needs a function without layouts. Loops inside others come first, so that these find what they have become."""
    loops = [op for op in unit.function.walk() if isinstance(op, For)]
    for loop in sorted(loops, key=lambda loop: -len(unit.around(loop))):
        for number in range(len(loop.init)):
            axes = _order_of_use(loop, number, unit)
            if axes is not None:
                _carry(loop, number, axes, unit)
                unit.forget(NONE)


def _order_of_use(loop: For, number: int, unit: Unit) -> Axes | None:
    """The order of the axes in which a loop's body takes what it carries, and in which it computes the next one."""
    users = unit.uses.get(loop.loop.params[1 + number], ())
    orders = {user.axes if isinstance(user, Permute) else None for user in users}
    made = loop.loop.terminator.operands[number].op
    if len(orders) != 1 or not isinstance(made, Permute):
        return None
    [axes] = orders
    return axes if axes is not None and made.axes == _inverse(axes) else None


def _carry(loop: For, number: int, axes: Axes, unit: Unit) -> None:
    param, result, home = loop.loop.params[1 + number], loop.results[number], unit.homes[loop]
    before, after = Builder(Block(), loop.span), Builder(Block(), loop.span)
    init, values = [*loop.init], [*loop.loop.terminator.operands]
    init[number] = _permuted(before, init[number], axes)
    made, end = values[number].op, loop.loop.terminator
    assert isinstance(made, Permute) and isinstance(end, Yield)
    values[number] = made.src
    loop.init, end.values = tuple(init), tuple(values)
    takes = [user for user in unit.uses[param] if isinstance(user, Permute)]
    dead = {*takes, *([made] if len(unit.uses[made.result]) == 1 else ())}
    for value in (param, result):
        value.become(init[number].type)
    _rename(unit.uses, {take.result: param for take in takes})
    _rename(unit.uses, {result: after.value(Permute(src=result, axes=_inverse(axes)), result.hint)})
    at = home.ops.index(loop)
    home.ops[at:at + 1] = [*before.block.ops, loop, *after.block.ops]
    for op in dead:
        unit.homes[op].ops.remove(op)


def _permuted(b: Builder, value: Value, axes: Axes) -> Value:
    """The value with its axes in another order: what it was made of, if that has this order."""
    op = value.op
    if isinstance(op, Permute) and op.axes == _inverse(axes):
        return op.src
    if isinstance(op, Constant):
        shape = tuple(value.type.shape[axis] for axis in axes)
        return b.value(Constant(value=op.value, type=TileType(value.type.dtype, shape)), value.hint)
    return b.value(Permute(src=value, axes=axes), value.hint)


def _inverse(axes: Axes) -> Axes:
    return tuple(axes.index(axis) for axis in range(len(axes)))


def _rename(users: dict[Value, list[Op]], new: dict[Value, Value]) -> None:
    for value in new:
        for user in users.get(value, ()):
            user.replace_operands(new)
