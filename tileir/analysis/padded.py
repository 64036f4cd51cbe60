"""Tiles of which all elements are equal that are computed from a load's elements outside of its array.

A load yields one padding for all of them, and element-wise ops with numbers that are the same for the whole tile keep
them equal. So do tests of columns: of 0, 1, ... those below the array's extent lie inside, and none that is outside.
Where a ring brings what was loaded, such a test selects the padding.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.tileir.analysis.axes import is_tile
from tilewright.tileir.analysis.linear import Forms, Linear
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import int32, int64
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops.arith import And, Constant, Lt, Select
from tilewright.tileir.ops.arrays import Extent
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Broadcast


class Columns(NamedTuple):
    """A test of columns: the axis along which these count up, and by which step."""

    test: Value
    counts: tuple[int, int]


class Below(NamedTuple):
    """Which columns are below an extent."""

    columns: Value
    extent: Extent


def padded_tiles(unit: Unit) -> dict[Value, Load | Columns]:
    """The load of each such tile: its elements where the load's are outside of the array are equal. Or the test of
    columns: they are where it does not hold."""
    out: dict[Value, Load | Columns] = {}
    tests: dict[Value, Below] = {}
    for op in unit.function.walk():
        if isinstance(op, Load) and op.shape and op.memory_order is MemoryOrder.WEAK:
            out[op.result] = op
        elif op.view and op.operands[0] in out:
            out[op.results[0]] = out[op.operands[0]]
        elif (test := _tested(op)) is not None:
            tests[op.results[0]] = test
        elif op.elementwise and len(op.results) == 1:
            tiles = [v for v in op.operands if is_tile(v) and not _is_splat(v)]
            loads = {out.get(v) for v in tiles if v not in tests}
            load = loads.pop() if len(loads) == 1 else None
            if load is not None and all(_ends_with(load, tests[v], unit) for v in tiles if v in tests):
                out[op.results[0]] = load
            elif isinstance(op, Select) and _is_splat(op.rhs) and (columns := _columns(op.cond, unit)) is not None:
                out[op.results[0]] = columns
    return out


def _columns(condition: Value, unit: Unit) -> Columns | None:
    """A test of columns without which a condition does not hold."""
    if isinstance(condition.op, And):
        return _columns(condition.op.lhs, unit) or _columns(condition.op.rhs, unit)
    counts = tests_columns(condition, unit)
    return None if counts is None else Columns(condition, counts)


def _is_splat(value: Value) -> bool:
    """Whether all elements of a tile are equal."""
    op = value.op
    return isinstance(op, Constant) or (isinstance(op, Broadcast) and op.src.type.size == 1)


def _tested(op: Op) -> Below | None:
    """The numbers that an op finds below an extent, and that extent."""
    extent = op.rhs.op.src.op if isinstance(op, Lt) and isinstance(op.rhs.op, Broadcast) else None
    return Below(op.lhs, extent) if isinstance(op, Lt) and isinstance(extent, Extent) else None


def _ends_with(load: Load | Columns, test: Below, unit: Unit) -> bool:
    """Whether a test of columns fails wherever the load of a row is outside of its array."""
    columns, extent = test
    if not isinstance(load, Load):
        return False
    if extent.array is not load.array or load.order[-1] != extent.axis or load.shape[-1] != columns.type.size:
        return False
    forms, index = Forms(unit.facts), load.index[-1]
    tested, place = forms.of(columns), forms.of(index)
    if tested is None or place is None or unit.facts[index].low < 0:
        return False
    return tested == place.scaled(load.steps[-1]).plus(Linear(along=((len(columns.type.shape) - 1, 1),)))


def tests_columns(value: Value, unit: Unit) -> tuple[int, int] | None:
    """(axis, step) of a tile of bools that says which numbers, none of them negative, are below another one, where they
    count up along the axis by the step: where an element holds, so do all before it. None of other tiles."""
    op = value.op
    if not isinstance(op, Lt) or not _is_splat(op.rhs) or op.lhs.type.dtype not in (int32, int64):
        return None
    if min(unit.facts[v].low for v in (op.lhs, op.rhs)) < 0:
        return None
    form = Forms(unit.facts).of(op.lhs)
    return form.along[0] if form is not None and [step > 0 for _, step in form.along] == [True] else None
