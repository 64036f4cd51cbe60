"""Lifetimes of values: what a body captures, where a value dies, how many bytes a block needs at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilewright.interp.formats import format_of
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.types import SharedType, TileType


def captured(*blocks: Block) -> list[Value]:
    """Values that the blocks use and none of them defines, each once, in order of use."""
    inside: set[Value] = set()
    used: dict[Value, None] = {}
    for block in blocks:
        inside.update(block.params)
        for op in block.walk():
            used.update(dict.fromkeys(op.operands))
            inside.update(op.results)
            for body in op.blocks:
                inside.update(body.params)
    return [v for v in used if v not in inside]


def uses(op: Op) -> list[Value]:
    """Values that an op reads, its bodies included."""
    return [*op.operands, *captured(*op.blocks)] if op.blocks else op.operands


def deaths(ops: Sequence[Op]) -> list[list[Value]]:
    """For each of the ops of a block, the results of others of them that are used there for the last time, or never."""
    own = {r for op in ops for r in op.results}
    out: list[list[Value]] = []
    seen: set[Value] = set()
    for op in reversed(ops):
        dying = [v for v in dict.fromkeys([*uses(op), *op.results]) if v in own and v not in seen]
        seen.update(dying)
        out.append(dying)
    return out[::-1]


def byte_size(value: Value) -> int:
    """Bytes of a value in registers, for one block."""
    type_ = value.type
    if isinstance(type_, TileType):
        return type_.size * format_of(type_.dtype).held.itemsize
    if isinstance(type_, SharedType):
        return type_.size * type_.copies * format_of(type_.dtype).held.itemsize
    return 0


def peak_bytes(function: Function, nowhere: Collection[Value] = ()) -> int:
    """The most bytes that are live at once in one block; values of `nowhere` take none."""
    return _peak(function.body, nowhere)


def _peak(block: Block, nowhere: Collection[Value]) -> int:
    def size(values: Sequence[Value]) -> int:
        return sum(byte_size(v) for v in values if v not in nowhere)

    live = size(block.params)
    peak = live
    for op, dying in zip(block.ops, deaths(block.ops), strict=True):
        inner = max((_peak(b, nowhere) for b in op.blocks), default=0)
        live += size(op.results)
        peak = max(peak, live + inner)
        live -= size(dying)
    return peak
