"""NaN and Inf that reach memory, and where they were born.

Steps behind the ops (births.py) note the first NaN and the first Inf that an op makes of operands without. That alone
is no report: padding that a store skips, and what a mask or a minimum drops, harms nobody. A store of a NaN or of an
infinity reports the first of those ops that its value comes from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.interp.checking.log import Log
from tilewright.interp.checking.report import Report
from tilewright.interp.formats import as_float
from tilewright.interp.memory import Region
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import atomics, memory


class Numerics:
    """What ops have made in one launch."""

    def __init__(self, function: Function, log: Log) -> None:
        self.log = log
        self._births: dict[tuple[Op, str], Report] = {}
        self._order = {op: n for n, op in enumerate(function.walk())}
        self._owners = {p: op for op in function.walk() for block in op.blocks for p in block.params}
        self._sources: dict[Op, list[Op]] = {}
        self._told: set[tuple[Op, str]] = set()

    def knows(self, op: Op, kind: str) -> bool:
        """Has the op made one before?"""
        return (op, kind) in self._births

    def born(self, op: Op, report: Report) -> None:
        """An op has made a NaN or an infinity."""
        self._births.setdefault((op, report.kind), report)

    def write(self, region: Region, values: Any, op: Op) -> None:
        """Values reach memory."""
        value = _written(op)
        if value is None or not value.type.dtype.is_float or not self._births:
            return
        numbers = np.asarray(as_float(values, value.type.dtype))
        odd = ~np.isfinite(numbers)
        if not odd.any():
            return
        if region.mask is not None:
            odd = odd & region.mask
        if np.any(odd & np.isnan(numbers)):
            self._report(op, value, "nan")
        if np.any(odd & np.isinf(numbers)):
            self._report(op, value, "overflow")

    def _report(self, store: Op, value: Value, kind: str) -> None:
        if (store, kind) in self._told:
            return
        made = [op for op in self._slice(store, value) if (op, kind) in self._births]
        if not made:
            return
        self._told.add((store, kind))
        report = self._births[made[0], kind]
        infinities = [op for op in self._slice(made[0], *made[0].operands) if (op, "overflow") in self._births]
        if kind == "nan" and infinities:
            report = replace(report, related=infinities[0].span, related_label="an infinity is made here")
        self.log.add((kind, made[0]), 1, lambda: report)

    def _slice(self, key: Op, *values: Value) -> list[Op]:
        """The ops whose float results these values are made of, in the order of the kernel."""
        found = self._sources.get(key)
        if found is None:
            found = self._sources[key] = sorted(ops_behind(values, self._owners, _carries), key=self._order.__getitem__)
        return found


def _carries(value: Value) -> bool:
    """May a value hold a NaN?"""
    return getattr(value.type, "dtype", None) is not None and value.type.dtype.is_float


def _written(op: Any) -> Value | None:
    return op.value if isinstance(op, memory.Store | memory.Scatter | atomics.AtomicRmw) else None


def ops_behind(values: Any, owners: dict[Value, Op], follow: Any) -> set[Op]:
    """The ops that values are computed from, through values that `follow` admits. Loops and branches count whole."""
    found: set[Op] = set()
    waiting = [value for value in values if follow(value)]
    while waiting:
        value = waiting.pop()
        op = owners.get(value) or value.op
        if op is None or op in found:
            continue
        found.add(op)
        ends = [v for block in op.blocks for v in block.terminator.operands]
        waiting += [v for v in (*op.operands, *ends) if follow(v)]
    return found
