"""Who uses which value."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from tilewright.tileir.core import Block, Function, Op, Value


def uses(function: Function) -> dict[Value, list[Op]]:
    """The ops that read each value, terminators included; a value that none reads has no entry."""
    out: defaultdict[Value, list[Op]] = defaultdict(list)
    for op in function.walk():
        for value in op.operands:
            out[value].append(op)
    return dict(out)


def parents(function: Function) -> dict[Block, Op]:
    """The op that owns each nested block."""
    return {getattr(op, name): op for op in function.walk() for name in op._body_fields}


def homes(function: Function) -> dict[Op, Block]:
    """The block in which each op stands."""
    blocks = [function.body]
    for block in blocks:  # which grows on the way
        blocks += [getattr(op, name) for op in block.ops for name in op._body_fields]
    return {op: block for block in blocks for op in block.ops}


def all_reads(op: Op) -> list[Value]:
    """What an op and its bodies read."""
    return [*op.operands, *(v for inner in op.inside() for v in inner.operands)]


def read_from_outside(op: Op) -> list[Value]:
    """What an op and its bodies read of other ops and of blocks around it."""
    inside = [op, *op.inside()]
    blocks = {block for inner in inside for block in inner.blocks}
    return [v for v in all_reads(op) if v.owner not in blocks and v.owner not in inside]


def replace_everywhere(op: Op, new: Mapping[Value, Value]) -> None:
    """Substitute operands of an op and of its bodies."""
    op.replace_operands(new)
    for inner in op.inside():
        inner.replace_operands(new)


def only_for(ops: Collection[Op], block: Block, users: Mapping[Value, Sequence[Op]]) -> set[Op]:
    """These ops, and those of a block whose results only they need."""
    out = set(ops)
    for op in reversed(block.ops):
        readers = [user for r in op.results for user in users.get(r, ())]
        if readers and all(user in out for user in readers):
            out.add(op)
    return out


def viewed(value: Value) -> Value:
    """The value whose registers a view reads; the value itself if it is no view."""
    while value.op is not None and value.op.view:
        value = value.op.operands[0]
    return value
