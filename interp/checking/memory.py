"""The memory of a checked launch: every access is looked at, then performed as plain memory does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.interp.checking.bounds import check_bounds
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.report import DEFAULT_CHECKS, Report, command_line
from tilewright.interp.memory import Change, Memory, Region, Values
from tilewright.tileir.core import Function, Op


class CheckedMemory(Memory):
    """Checks one launch. `checks` are names of `CHECKS`."""

    def __init__(self, checks: frozenset[str] = DEFAULT_CHECKS) -> None:
        self.checks = checks
        self.log = Log(command_line(checks))
        self._bounds = "bounds" in checks

    @property
    def reports(self) -> list[Report]:
        """What the launch has shown so far."""
        return self.log.reports()

    def begin(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        self.grid = grid

    def read(self, region: Region, op: Op) -> Values:
        if self._bounds:
            check_bounds(region, op, self.log)
        return region.read()

    def write(self, region: Region, values: Values, op: Op) -> None:
        if self._bounds:
            check_bounds(region, op, self.log)
        region.write(values)

    def update(self, region: Region, change: Change, op: Op) -> Values:
        if self._bounds:
            check_bounds(region, op, self.log)
        return region.update(change)
