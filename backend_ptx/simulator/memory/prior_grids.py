"""The grids that a programmatic dependent launch need not wait for: what they may still do to memory.

They may read and write every array until a thread executes griddepcontrol.wait; which threads know that they have
completed follows from the clocks. A grid that ends without any wait may end before them, and what is launched after it
would take its end for theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Race, SimError
from tilewright.backend_ptx.simulator.memory.clocks import Clocks

Array = np.ndarray[Any, Any]
_NEVER = np.iinfo(np.int64).max


class PriorGrids:
    """Who has waited for them, of the present block or cluster."""

    def __init__(self, clocks: Clocks, warps: int, lanes: int) -> None:
        self._clocks = clocks
        self._waited = np.zeros(warps * lanes, bool)  # by thread
        self._when = np.full(warps, _NEVER)  # the time of each warp at its first wait
        self._lanes = lanes

    def new_block(self) -> None:
        self._waited[:] = False
        self._when[:] = _NEVER

    def wait(self, threads: Array) -> None:
        """These threads wait, and the grids complete."""
        warps = np.unique(threads // self._lanes)
        self._when[warps] = np.minimum(self._when[warps], self._clocks.now[warps])
        self._waited[threads] = True

    def require(self, what: str, threads: Array) -> None:
        """Race where a thread neither has waited nor comes after one that has."""
        late = threads[~self._waited[threads]]
        if len(late):
            known = self._clocks.far[late // self._lanes, : len(self._when)]
            unknown = late[~(known >= self._when).any(axis=1)]
            if len(unknown):
                raise Race(f"{what} before it has waited for the grids that it depends on", unknown)

    def check_end(self) -> None:
        """SimError where a block ends of which no thread has waited."""
        if not self._waited.any():
            raise SimError("the grid may end before the grids that it depends on: no thread has waited for these")
