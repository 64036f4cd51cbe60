"""Chains of element-wise ops that lead to one op, such as what follows a matrix multiply up to its store."""

from __future__ import annotations

from collections.abc import Collection

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Op, Value


def chain_to(ends: Collection[Op], value: Value, unit: Unit) -> list[Op]:
    """The element-wise ops that compute a value and that nothing but `ends` needs, of the block that computes it and of
    tiles of its shape, in program order."""
    if value.op is None:
        return []
    ops, inside = unit.homes[value.op].ops, set(ends)
    for op in reversed(ops[:ops.index(value.op) + 1]):
        same = op.elementwise and op.results[0].type.shape == value.type.shape
        if same and only_used_by(op.results[0], inside, unit):
            inside.add(op)
    return [op for op in ops if op in inside and op not in ends]


def only_used_by(value: Value, ops: Collection[Op], unit: Unit) -> bool:
    """Whether a value is used, and by these ops alone."""
    users = unit.uses.get(value, ())
    return bool(users) and all(user in ops for user in users)


def after_inner_blocks(block: Block, last: Op) -> list[Op]:
    """The ops of a block before `last` that follow those with bodies: where what the last loop computes is used."""
    ops = block.ops[:block.ops.index(last)]
    start = max((i + 1 for i, op in enumerate(ops) if op.blocks), default=0)
    return ops[start:]
