"""Loops of unchecked launches that would never end: those that repeat themselves, found after many iterations.

Blocks that wait for others run one after another. So a loop that leaves what it carries and memory as they were goes on
for ever, and the launch ends with an error at its line. Only another thread of the program, with a launch of its own,
could change memory meanwhile: where there is one, it has some time for that.
"""

from __future__ import annotations

from threading import active_count
from time import monotonic, sleep
from typing import Any

from tilewright.interp.changes import Spin, Watching, accesses, carried_by
from tilewright.interp.checking.places import block_coordinates, element_of
from tilewright.interp.chunk import Chunk, Regs
from tilewright.tileir.diagnostics import Related, TileError
from tilewright.tileir.ops import control

PATIENCE = 4096
"""Iterations that nobody looks at."""

LOOK = 256
"""The most iterations of one look, where they access memory."""

GRACE = 2.0
"""Seconds that other threads have."""


class Patience:
    """What is known of a loop before it runs."""

    def __init__(self, loop: control.While, low: Any) -> None:
        self.loop = loop
        self.carried = carried_by(loop, low)
        self.most = LOOK if accesses(loop) else PATIENCE

    def ends(self, chunk: Chunk) -> Vigil:
        """Now is the time to look at the iterations of these blocks."""
        return Vigil(self, chunk)


class Vigil:
    """A look at the further iterations of one run of a loop, by these blocks; `end` gives them their memory back."""

    def __init__(self, patience: Patience, chunk: Chunk) -> None:
        self._patience = patience
        self._chunk, self._memory = chunk, chunk.memory
        self._spin, self._watching = Spin(1), Watching(chunk.memory)
        self._found: float | None = None
        chunk.memory = self._watching

    def look(self, regs: Regs) -> None:
        """An iteration has ended; an error if the loop repeats itself."""
        period = self._spin.look(lambda: self._patience.carried(regs), self._watching.watch, self._patience.most)
        if not period:
            return
        others = self._memory.patient(period)
        if not (self._waits() if others is None else others):
            raise self._error(regs[0], period)

    def end(self) -> None:
        """The loop has ended."""
        self._chunk.memory = self._memory

    def _waits(self) -> bool:
        """Let other threads work, if there are any and their time is not over."""
        if self._found is None:
            self._found = monotonic()
        if active_count() == 1 or monotonic() - self._found > GRACE:
            return False
        sleep(0.01)
        return True

    def _error(self, chunk: Chunk, period: int) -> TileError:
        loop, last = self._patience.loop, self._watching.watch.last_read
        block = f"in block {block_coordinates(chunk, 0)}"
        every = "an iteration changes nothing" if period == 1 else f"{period} iterations leave everything as it was"
        related = [] if last is None else [Related(last[1].span, "the loop reads it here")]
        if last is None or period > 1:
            return TileError(f"this loop never ends: {every}", loop.span, related=related, notes=[block])
        region = last[0]
        element = ", ".join(map(str, element_of(region, (0,) * len(region.shape))))
        unchanged, reason, hint = self._memory.waiting
        return TileError(
            f"this loop waits for {region.array.name}[{element}], {unchanged}", loop.span, related=related,
            notes=[block, reason], hints=[hint])
