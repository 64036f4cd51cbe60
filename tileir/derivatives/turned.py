"""Tiles that are only used transposed are computed transposed.

    s = mma(q, k^T); p = exp(s - row); mma(p^T, g)      becomes      t = mma(k, q^T); p = exp(t - row^T); mma(p, g)

A product is turned with its operands, which are mostly loaded and can be read either way; what is computed element by
element follows it, and stays in the registers in which the next product wants it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tilewright.tileir.analysis.convert import exact_cast
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.derivatives.emitter import Emitter
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.control import Yield
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.shape import Broadcast, Permute, Reshape
from tilewright.tileir.types import TileType


def turn_tiles(function: Function) -> bool:
    """Turn what is only used transposed; says whether there was such a thing. Dead ops are left behind."""
    turned = _only_transposed(function)
    if not any(isinstance(op, Mma) for op in turned):
        return False
    now: dict[Value, Value] = {}
    replaced: dict[Value, Value] = {}
    for block in _blocks(function.body):
        before, block.ops = block.ops, []
        b = Emitter(block)
        for op in before:
            op.replace_operands(replaced)
            block.ops.append(op)
            b.span = op.span
            if op in turned:
                now[op.result] = _turned(b, op, now)
            elif _transposes(op) and op.src in now:  # type: ignore[attr-defined]
                replaced[op.result] = now[op.src]  # type: ignore[attr-defined]
    for op in function.walk():
        op.replace_operands(replaced)
    return True


def unwiden(function: Function) -> None:
    """Let what was widened only to be narrowed again, with another shape between, be itself: the operand of a product
    as it is loaded. What registers hold wide for other uses, too, is narrowed there. Dead ops are left behind."""
    used = Counter(value for op in function.walk() for value in op.operands)
    replaced: dict[Value, Value] = {}
    for block in _blocks(function.body):
        before, block.ops = block.ops, []
        b = Emitter(block)
        for op in before:
            b.span = op.span
            narrow = _before_widening(b, op.src, op.dtype, used) if isinstance(op, Cast) else None
            if narrow is not None:
                replaced[op.result] = narrow
            block.ops.append(op)
    for op in function.walk():
        op.replace_operands(replaced)


def _before_widening(b: Emitter, value: Value, dtype: DType, used: Mapping[Value, int]) -> Value | None:
    """The value before it was widened from a dtype, moved as it has been since; None where it was not, or has other
    uses on the way."""
    op = value.op
    if used[value] != 1 or not isinstance(op, (Cast, Reshape, Permute)):
        return None
    if isinstance(op, Cast):
        return op.src if op.src.type.dtype is dtype and exact_cast(dtype, op.dtype) else None
    source = _before_widening(b, op.src, dtype, used)
    if source is None:
        return None
    if isinstance(op, Reshape):
        return b.value(Reshape(src=source, shape=op.shape))
    return b.value(Permute(src=source, axes=op.axes))


def _only_transposed(function: Function) -> set[Op]:
    """The products and element-wise ops all of whose users transpose their results, or are such ops themselves."""
    users: dict[Value, list[Op]] = {}
    for op in function.walk():
        for value in op.operands:
            users.setdefault(value, []).append(op)
    found = {op for op in function.walk() if _may_turn(op)}
    while True:
        wrong = {op for op in found if not users.get(op.result) or not all(
            _transposes(user) or user in found for user in users[op.result])}
        wrong |= {op for op in found if not all(_follows(value, found) for value in _tiles(op))}
        if not wrong:
            return found
        found -= wrong


def _may_turn(op: Op) -> bool:
    if len(op.results) != 1 or not _is_matrix(op.result):
        return False
    return isinstance(op, Mma) or (type(op).elementwise and not isinstance(op, Yield))


def _is_matrix(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.rank == 2


def _tiles(op: Any) -> list[Value]:
    """The operands that must be turned, too: of a product the accumulator; its factors are transposed."""
    return [op.acc] if isinstance(op, Mma) else [value for value in op.operands if _is_matrix(value)]


def _follows(value: Value, found: set[Op]) -> bool:
    """Whether a value can be had transposed for nothing."""
    op = value.op
    return op in found or isinstance(op, Constant) or (isinstance(op, Broadcast) and op.src.type.rank in (0, 2))


def _transposes(op: Op) -> bool:
    return isinstance(op, Permute) and tuple(op.axes) == (1, 0)


def _turned(b: Emitter, op: Any, now: dict[Value, Value]) -> Value:
    """The op's result transposed."""
    fields: dict[str, Any] = {name: getattr(op, name) for name in op.fields}
    if isinstance(op, Mma):
        fields["a"], fields["b"] = _transposed(b, op.b), _transposed(b, op.a)
        fields["acc"] = _matrix(b, op.acc, now)
    else:
        for name, _ in op._operand_fields:
            if _is_matrix(fields[name]):
                fields[name] = _matrix(b, fields[name], now)
    return b.value(type(op)(**fields), op.result.hint)


def _matrix(b: Emitter, value: Value, now: dict[Value, Value]) -> Value:
    """A tile transposed: one that was turned, a constant, or numbers that are repeated along an axis."""
    if value in now:
        return now[value]
    rows, columns = value.type.shape
    op: Any = value.op
    if isinstance(op, Constant):
        return b.value(Constant(value=op.value, type=TileType(value.type.dtype, (columns, rows))))
    source = op.src
    if source.type.shape:
        source = b.value(Reshape(src=source, shape=source.type.shape[::-1]))
    return b.spread(source, (columns, rows))


def _transposed(b: Emitter, value: Value) -> Value:
    if _transposes(value.op) if value.op is not None else False:
        source: Value = value.op.src  # type: ignore[union-attr]
        return source
    return b.value(Permute(src=value, axes=(1, 0)))


def _blocks(block: Block) -> list[Block]:
    """The block, then those inside, so that what is used there has been turned."""
    return [block, *(found for op in block.ops for inner in op.blocks for found in _blocks(inner))]
