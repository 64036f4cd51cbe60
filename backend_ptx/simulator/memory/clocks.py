"""The clocks of a launch: when each warp did what, which accesses have passed a proxy fence, which blocks have started.

Time of a warp advances at each barrier it passes, so two accesses of one warp without a barrier between them are
unordered too, unless one thread made both: since Volta the lanes of a warp run at their own pace.

Bulk copies and matrix units access memory by another way ("proxy") than threads. Each bulk copy's landing counts as a
write by an *engine*, a warp that exists only here (one for each mbarrier); and what threads write must pass a proxy
fence before matrix units and copies may read it, and what they read before copies may overwrite it: an arrival on an
mbarrier overtakes a read that is queued behind other warps' stores (seen on an H200). Every ordinary access has a
number, and `fenced[w, v]` is the latest access of warp v that warp w knows to have passed one.

Between CTAs some instructions order accesses to shared memory alone: what they tell does not count for
global memory, which has its own times, `far`.
"""

from __future__ import annotations

import numpy as np

from tilewright.tileir.clocks import Array, Message, VectorClocks

_FAR = 1  # the second time
_ACCESSES, _FENCED = range(2)  # marks: latest access known, by number; latest one known to have passed a proxy fence


class Clocks(VectorClocks):
    """The vector clocks of the warps of one block or cluster. These run one after another, so time only grows."""

    def __init__(self, warps: int, cluster: int = 1) -> None:
        self.accesses = 0  # number of the latest ordinary access to shared memory
        super().__init__(warps, times=1 if cluster == 1 else 2, marks=2)
        self.started = self.now.copy()  # when the present block began; who knows a warp's time of then has heard of it

    @property
    def far(self) -> Array:
        """`known` for global memory."""
        return np.asarray(self.ordered[-1])

    @property
    def fenced(self) -> Array:
        """The number of the latest access of each warp that each warp knows to have passed a proxy fence."""
        return self.marks(_FENCED)

    def _note_accesses(self, warps: Array) -> None:
        self.marks(_ACCESSES)[warps, warps] = self.accesses

    def join(self, who: Array) -> None:
        self._note_accesses(who)
        super().join(who)

    def meet(self, who: Array) -> None:
        self._note_accesses(who)
        super().meet(who)

    def tell(self, warps: Array, whole: bool = True, far: bool = True) -> Message:
        """As `release`; not `far`: it counts for shared memory only."""
        if whole:
            self._note_accesses(warps)
        return self.release(warps, whole=whole, without=() if far else range(_FAR, len(self.ordered)))

    def fence(self, warps: Array) -> None:
        """A proxy fence by `warps`: all accesses that they know of have passed it."""
        self._note_accesses(warps)
        fenced = self.fenced
        fenced[warps] = np.maximum(fenced[warps], self.marks(_ACCESSES)[warps])

    def new_block(self) -> None:
        """The next block starts: what came before is judged per block, not per warp."""
        everybody = np.arange(len(self.now))
        self.join(everybody)
        self.started = self.now.copy()
        super().meet(everybody)

    def presence(self, warps: Array) -> Message:
        """What a waiter learns of warps that tell only that they have started."""
        return self.message(warps, self.started[warps])
