"""Choose for each tile that is live across a barrier: keep it in registers, or load or rematerialise it.

    before: %w = load(array=%weight, index=(%zero), ...)
            ... the sum of %x over all warps ...
            ... %x * %scale * %w ...
    after:  ... the sum of %x over all warps ...
            %w = load(array=%weight, index=(%zero), ...)
            ... %x * %scale * %w ...

Live registers lower occupancy, and beyond those of a thread they spill to memory. The alternatives to keeping a tile,
in the order of their cost:

* *sink* a load below the reductions that its tile is live across (tileir/passes/sinking.py). Only tiles that all CTAs
  load: these hit L2, per-CTA data usually misses it and keeps program order. Element-wise ops then read them strip by
  strip (lower/strips.py).
* *reload* a tile in each iteration that licm hoisted out of the loop, from cache, and sink that load: where it would
  spill, or where no ring takes the loop's rows and more CTAs then fit the SM.
* *spill* a loaded tile to shared memory, and rematerialise from it (spilling.py), for another CTA on the SM. What would
  spill from registers to memory is left to `spill_tiles`, which knows what is in a slot of a ring already.

Loads of later iterations are prefetched by `pipeline_loops`.

The resource model decides, by the occupancy that registers and shared memory allow without an alternative, and
with it.
"""

from __future__ import annotations

from functools import cached_property

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.pressure.bodies import Body, bodies
from tilewright.backend_ptx.passes.pressure.spilling import find_spill, spill_tiles_of
from tilewright.backend_ptx.resources.occupancy import FEW_WARPS, resident
from tilewright.backend_ptx.resources.registers import OTHER, live_registers
from tilewright.tileir.analysis.live import taken
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.analysis.places import in_few_places, movable_loads
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.analysis.words import registers_of
from tilewright.tileir.core import Op
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.passes import sinking
from tilewright.tileir.passes.dce import dce

# Reloads take L2 bandwidth in each iteration: tiles that only lower occupancy stay in registers, where a ring
# prefetches the rows (layer norm of 16384 columns fell from 1.00 to 0.85 of the non-persistent kernel's rate on an
# H200). Spilled rows are read once more for each phase: for occupancy only if no more than this many CTAs could run.
MOST_SPILLED = 1


def relieve_pressure(c: Compilation) -> Preserved:
    """Needs layouts, and reductions split where they cross warps. Sets the plan's occupancy."""
    relief = _Relief(c)
    for choose in (relief.reload, relief.sink, relief.spill):
        for body in relief.bodies():
            choose(body)
    return NONE if relief.changed else ALL


class _Relief:
    """Chooses by the model, body by body."""

    def __init__(self, c: Compilation) -> None:
        self.c = c
        self.changed = False
        self.reloaded = set[Op]()
        self._bodies: list[Body] | None = None

    @cached_property
    def movable(self) -> set[Load]:
        return movable_loads(self.c)

    def bodies(self) -> list[Body]:
        """Those of the function as it is now."""
        if self._bodies is None:
            self._bodies = list(bodies(self.c.function))
        return self._bodies

    def _change(self) -> None:
        self.changed, self._bodies = True, None
        self.c.forget()

    def reload(self, body: Body) -> None:
        apart = body.repeats and moves_elements(self.c.function)
        if body.multiplies or not (body.phase or (apart and body.step)) or not self.movable:
            return
        spills = bool(body.phase) and self._spills(body)
        movable = sinking.with_what_follows(self.movable if spills else self._shared(), self.c.function)
        hoisted = {v for v in taken(body.block) if v.op in movable}  # which the body could load itself
        kept = live_registers(self.c.function, body.block) if apart else 0
        ctas, more = self._resident(kept), self._resident(kept - sum(map(registers_of, hoisted)))
        if hoisted and (spills or (apart and ctas < more and ctas * self.c.plan.warps <= FEW_WARPS)):
            self.reloaded |= sinking.reload(body.block, hoisted, movable)
            self._change()
            dce(self.c)

    def _spills(self, body: Body) -> bool:
        """Whether registers hold no CTA, even with what could be read again from shared memory there."""
        spill = find_spill(body)
        least = body.registers() if spill is None else min(body.registers(), max(spill.stored, spill.loaded))
        return self._resident(least) == 0

    def _shared(self) -> list[Load]:
        """Loads of tiles that all blocks read at one of few places."""
        return [op for op in self.movable if in_few_places(op.index, self.c.facts)]

    def _resident(self, held: int) -> int:
        """How many CTAs registers allow if each thread holds so many in tiles."""
        return resident(held + OTHER, 32 * self.c.plan.warps, 0, self.c.target)

    def sink(self, body: Body) -> None:
        if body.multiplies or not body.step:
            return
        shared = self._shared()
        if not shared and not self.reloaded:
            return
        late = sinking.used_late(
            body.block, body.step, sinking.with_what_follows(shared, self.c.function).keys() | self.reloaded)
        if late:
            sinking.sink(body.block, late)
            self._change()

    def spill(self, body: Body) -> None:
        if spill_tiles_of(self.c, body, MOST_SPILLED):
            self._change()
