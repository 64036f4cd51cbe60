"""Whether the CTAs of a cluster may divide a kernel's stores: accesses that must stay in order stay in one CTA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilewright.backend_ptx import decisions
from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.control import If
from tilewright.tileir.ops.memory import Scatter, TileAccess

WHOLE = "whole"
"""The first CTA alone writes what all CTAs compute."""


def keeps_order(unit: Unit, chosen: Mapping[Value, int]) -> str | None:
    """None if the cut keeps the order of accesses; else the reason. `chosen`: the tiles that are cut, each with its
    axis.

    Two accesses of one array, of which one writes, stay in one CTA only if both cut the array at the same positions.
    Each written array must therefore be accessed in one way throughout.
    """
    function = unit.function
    acting = [op for op in function.walk() if op.effectful]
    for op in acting:
        if op.effects().ordered or isinstance(op, Atomic):
            return decisions.orders_whole_block(op.opcode, op.span)
    dependences = unit.dependences
    once = {op for op in acting if all(isinstance(outer, If) for outer in unit.around(op))}
    ways: dict[Value, set[Any]] = {}
    written: dict[Value, Op] = {}
    for op in acting:
        effects = op.effects()
        for memory in (*effects.reads, *effects.writes):
            ways.setdefault(dependences.alias_class(memory), set()).add(_way(op, chosen, once))
        written.update((dependences.alias_class(memory), op) for memory in effects.writes)
    for memory, op in written.items():
        if len(ways[memory]) > 1 or None in ways[memory]:
            return decisions.accessed_in_two_ways(memory.hint, op.opcode, op.span)
    return None


def _way(op: Op, chosen: Mapping[Value, int], once: set[Op]) -> Any:
    """How an op cuts an array; None if several CTAs may access the same element."""
    if isinstance(op, TileAccess):
        axis = chosen.get(op.tile)
        if axis is None:
            return WHOLE if op.effects().writes else op
        same_grid = op.steps[axis] == op.tile.type.shape[axis]
        return (op.array, op.order[axis], op.steps[axis]) if same_grid else None
    if any(is_tile(v) and v in chosen for v in (*op.operands, *op.results)):
        return op if isinstance(op, Scatter) and op in once else None
    return WHOLE if op.effects().writes else op
