"""Tiles of which all elements are equal that are computed from a load's elements outside of its array.

A load yields one padding for all of them, and element-wise ops with numbers that are the same for the whole tile keep
them equal. So do tests of columns: of 0, 1, ... those below the array's extent lie inside, and none that is outside.
"""

from __future__ import annotations

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.uses import viewed
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.arith import Constant, Lt
from tilewright.tileir.ops.arrays import Extent
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Broadcast, Iota


def padded_tiles(unit: Unit) -> dict[Value, Load]:
    """The load of each such tile: its elements where the load's are outside of the array are equal."""
    out: dict[Value, Load] = {}
    tests: dict[Value, Extent] = {}
    for op in unit.function.walk():
        if isinstance(op, Load) and op.shape and op.memory_order is MemoryOrder.WEAK:
            out[op.result] = op
        elif op.view and op.operands[0] in out:
            out[op.results[0]] = out[op.operands[0]]
        elif (extent := _tested(op)) is not None:
            tests[op.results[0]] = extent
        elif op.elementwise and len(op.results) == 1:
            tiles = [v for v in op.operands if is_tile(v) and not _is_splat(v)]
            loads = {out.get(v) for v in tiles if v not in tests}
            load = loads.pop() if len(loads) == 1 else None
            if load is not None and all(_ends_with(load, tests[v], v, unit) for v in tiles if v in tests):
                out[op.results[0]] = load
    return out


def _is_splat(value: Value) -> bool:
    """Whether all elements of a tile are equal."""
    op = value.op
    return isinstance(op, Constant) or (isinstance(op, Broadcast) and op.src.type.size == 1)


def _tested(op: Op) -> Extent | None:
    """The extent below which an op finds the columns 0, 1, ..."""
    if not isinstance(op, Lt) or not isinstance(viewed(op.lhs).op, Iota) or not isinstance(op.rhs.op, Broadcast):
        return None
    extent = op.rhs.op.src.op
    return extent if isinstance(extent, Extent) else None


def _ends_with(load: Load, extent: Extent, test: Value, unit: Unit) -> bool:
    """Whether a test of columns fails wherever the load of a row is outside of its array."""
    return (extent.array is load.array and load.order[-1] == extent.axis and load.shape[-1] == test.type.size
            and unit.facts[load.index[-1]].within(0, 0))
