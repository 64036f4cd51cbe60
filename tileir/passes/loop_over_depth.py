"""Split the depth (K) of an MMA whose operands are too large for a machine: a loop over sub-tiles of both.

    before: %a: tile<64x1024xbf16> = load(array=%x, index=(%i, %0), steps=(64, 1024), ...)     // 128 KiB
            %b: tile<1024x128xbf16> = load(array=%y, index=(%0, %j), ...)                      // 256 KiB
            %d = mma(a=%a, b=%b, acc=%c)
    after:  %d = for(lower=%0, upper=%16, step=%1, init=(%c)) .loop(%k: i32, %acc) {
                %a: tile<64x64xbf16> = load(array=%x, index=(%i, %0 * 16 + %k), steps=(64, 64), ...)
                %b: tile<64x128xbf16> = load(array=%y, index=(%0 * 16 + %k, %j), ...)
                yield(values=(mma(a=%a, b=%b, acc=%acc)))
            }

Operands must be loads, at most cast and permuted, of arrays that the kernel does not write. A backend calls it if a
limit of the plan (`max_depth`) asks for it, and for products outside of loops whose operands leave no room for those of
a second block: nothing would overlap with their loads, of which a loop starts some ahead.
"""

from __future__ import annotations

from tilewright.tileir.analysis.unit import NONE, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Value
from tilewright.tileir.dtypes import int32, int64
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.arith import Add, Constant, Mul
from tilewright.tileir.ops.control import For, Yield
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Permute
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import TileType


def loop_over_depth(unit: Unit, most: int, room: int | None = None) -> None:
    """MMAs deeper than `most` become loops over sub-tiles of that depth, if their operands allow it; with `room`, only
    MMAs outside of loops and branches whose operands take more bytes."""
    function, users = unit.function, unit.uses
    wanted = {op.a for op in function.walk() if isinstance(op, Mma)
              and (room is None or (op.a.type.bytes + op.b.type.bytes > room and not unit.around(op)))}
    if not wanted:
        return
    alias_class = unit.dependences.alias_class
    written = {alias_class(memory) for op in function.walk() if op.effectful for memory in op.effects().writes}

    def can_be_cut(value: Value) -> bool:
        op = value.op
        if op is None or len(users.get(value, ())) != 1:
            return False
        if isinstance(op, (Cast, Permute)):
            return can_be_cut(op.src)
        return (isinstance(op, Load) and op.memory_order is MemoryOrder.WEAK and op.steps == op.shape
                and alias_class(op.array) not in written)

    def rule(rewriter: Rewriter, op: Mma) -> None:
        if op.a in wanted and op.a.type.shape[-1] > most and can_be_cut(op.a) and can_be_cut(op.b):
            rewriter.replace(op.result, _loop(rewriter, op, op.a.type.shape[-1] // most))
        else:
            rewriter.keep(op)

    rewrite(function, {Mma: rule})
    unit.forget(NONE)
    dce(unit)


def _loop(rewriter: Rewriter, op: Mma, count: int) -> Value:
    lower, upper, step = (rewriter.value(Constant(value=n, type=TileType(int32))) for n in (0, count, 1))
    body = Block()
    number, acc = body.add_param(TileType(int32), "k"), body.add_param(op.acc.type, op.acc.hint)
    b = Builder(body, op.span)
    rank = len(op.a.type.shape)
    a, other = _part(b, op.a, rank - 1, count, number), _part(b, op.b, rank - 2, count, number)
    made = b.value(Mma(a=a, b=other, acc=acc, **op.attributes))
    b.emit(Yield(values=(made,)))
    return rewriter.value(For(lower=lower, upper=upper, step=step, init=(op.acc,), loop=body))


def _part(b: Builder, value: Value, axis: int, count: int, number: Value) -> Value:
    """Sub-tile `number` of `count` along an axis, by a load of its own."""
    op = value.op
    if isinstance(op, Cast):
        return b.value(Cast(src=_part(b, op.src, axis, count, number), **op.attributes), value.hint)
    if isinstance(op, Permute):
        return b.value(Permute(src=_part(b, op.src, op.axes[axis], count, number), axes=op.axes), value.hint)
    assert isinstance(op, Load)
    shape = tuple(n // count if k == axis else n for k, n in enumerate(op.shape))
    first = op.index[axis]
    wide = TileType(int64)
    parts = b.value(Mul(lhs=_wide(b, first), rhs=b.value(Constant(value=count, type=wide))))
    place = b.value(Add(lhs=parts, rhs=_wide(b, number)))
    index = tuple(place if k == axis else i for k, i in enumerate(op.index))
    return b.value(Load(array=op.array, index=index, **{**op.attributes, "shape": shape, "steps": shape}), value.hint)


def _wide(b: Builder, index: Value) -> Value:
    """In 64 bits: tiles far outside the array must stay outside."""
    return index if index.type.dtype is int64 else b.value(Cast(src=index, dtype=int64))
