"""Loops carry a tile with its axes in the order in which they use it, and in the shape.

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

A backend asks for it where it computes transposes, or drops axes of length 1: what stays outstanding from one iteration
to the next may have no other use between them. No bit changes.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import NONE, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.ops.shape import Permute, Reshape
from tilewright.tileir.types import TileType

Moved = Permute | Reshape


def carry_permuted(unit: Unit) -> None:
    """Needs a function without layouts. Loops inside others come first, so that these find what they have become."""
    loops = [op for op in unit.function.walk() if isinstance(op, For)]
    for loop in sorted(loops, key=lambda loop: -len(unit.around(loop))):
        for number in range(len(loop.init)):
            while (move := _first_move(loop, number, unit)) is not None:
                _carry(loop, number, move, unit)
                unit.forget(NONE)


def _first_move(loop: For, number: int, unit: Unit) -> Moved | None:
    """What a loop's body first makes of what it carries, if it computes the next one by the reverse of that."""
    users = unit.uses.get(loop.loop.params[1 + number], ())
    made = loop.loop.terminator.operands[number].op
    first = next(iter(users), None)
    if not isinstance(first, Moved) or not isinstance(made, Moved) or not _undoes(made, first):
        return None
    return first if all(isinstance(user, Moved) and _is_like(user, first) for user in users) else None


def _is_like(one: Moved, other: Moved) -> bool:
    """Whether two ops move elements alike, those of tiles of one type."""
    return type(one) is type(other) and one.attributes == other.attributes


def _undoes(one: Op | None, other: Moved) -> bool:
    """Whether an op leads from what another one leads to back to where that began."""
    if isinstance(one, Permute):
        return isinstance(other, Permute) and one.axes == _inverse(other.axes)
    return isinstance(one, Reshape) and isinstance(other, Reshape) and (
        (one.src.type.shape, one.shape) == (other.shape, other.src.type.shape))


def _carry(loop: For, number: int, move: Moved, unit: Unit) -> None:
    param, result, home = loop.loop.params[1 + number], loop.results[number], unit.homes[loop]
    before, after = Builder(Block(), loop.span), Builder(Block(), loop.span)
    init, values = [*loop.init], [*loop.loop.terminator.operands]
    shape = result.type.shape
    init[number] = _moved(before, init[number], move)
    made, end = values[number].op, loop.loop.terminator
    assert isinstance(made, Moved) and isinstance(end, Yield)
    values[number] = made.src
    loop.init, end.values = tuple(init), tuple(values)
    takes = [user for user in unit.uses[param] if isinstance(user, Moved)]
    dead = {*takes, *([made] if len(unit.uses[made.result]) == 1 else ())}
    for value in (param, result):
        value.become(init[number].type)
    _rename(unit.uses, {take.result: param for take in takes})
    _rename(unit.uses, {result: after.value(_reverse(result, move, shape), result.hint)})
    at = home.ops.index(loop)
    home.ops[at:at + 1] = [*before.block.ops, loop, *after.block.ops]
    for op in dead:
        unit.homes[op].ops.remove(op)


def _moved(b: Builder, value: Value, move: Moved) -> Value:
    """The value moved likewise: what it was made of, if it was made by the reverse."""
    op = value.op
    if isinstance(op, Moved) and _undoes(op, move):
        return op.src
    if isinstance(op, Constant):
        type_ = TileType(value.type.dtype, move.result.type.shape)
        return b.value(Constant(value=op.value, type=type_), value.hint)
    return b.value(move.clone({move.src: value}), value.hint)


def _reverse(value: Value, move: Moved, shape: tuple[int, ...]) -> Moved:
    """What moves a value back to this shape."""
    if isinstance(move, Permute):
        return Permute(src=value, axes=_inverse(move.axes))
    return Reshape(src=value, shape=shape)


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axes.index(axis) for axis in range(len(axes)))


def _rename(users: dict[Value, list[Op]], new: dict[Value, Value]) -> None:
    for value in new:
        for user in users.get(value, ()):
            user.replace_operands(new)
