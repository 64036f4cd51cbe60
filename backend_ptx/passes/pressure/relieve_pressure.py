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
* *reload* a tile in each iteration that licm hoisted out of the loop, from cache, and sink that load.
* *spill* a loaded tile to shared memory, and rematerialise from it (spilling.py).

Loads of later iterations are prefetched by `pipeline_loops`.

The resource model decides, by the occupancy that registers and shared memory allow without an alternative, and
with it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.pressure.bodies import Body, bodies
from tilewright.backend_ptx.passes.pressure.spilling import emit_spill, find_spill, to_keep
from tilewright.backend_ptx.resources.occupancy import resident
from tilewright.backend_ptx.resources.registers import OTHER, is_uniform
from tilewright.backend_ptx.resources.shared import EXCHANGES, peak_bytes
from tilewright.tileir.analysis.live import taken
from tilewright.tileir.analysis.places import in_few_places, movable_loads
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Function, Op
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.passes import sinking
from tilewright.tileir.passes.dce import dce

# Reloads take L2 bandwidth in each iteration: tiles that only lower occupancy stay in registers, where a ring
# prefetches the rows (layer norm of 16384 columns fell from 1.00 to 0.85 of the non-persistent kernel's rate on an
# H200). Rows spilled to shared memory are read once more for each phase: only if no more than this many CTAs could run.
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

    def _occupancy(self, registers: int, more: int = 0) -> int:
        """With so many registers in tiles, and `more` bytes of shared memory than the function takes already."""
        shared = more and peak_bytes(self.c.function) + EXCHANGES + more
        return resident(registers + OTHER, 32 * self.c.plan.warps, shared, self.c.target)

    def _change(self) -> None:
        self.changed, self._bodies = True, None
        self.c.forget()

    def reload(self, body: Body) -> None:
        if body.multiplies or not body.phase or not self.movable:
            return
        movable = _with_what_follows(self.movable, self.c.function)
        hoisted = {v for v in taken(body.block) if v.op in movable}  # which the body could load itself
        if hoisted and self._occupancy(body.registers()) == 0:
            self.reloaded |= sinking.reload(body.block, hoisted, movable)
            self._change()
            dce(self.c)

    def sink(self, body: Body) -> None:
        if body.multiplies or not body.step:
            return
        shared = [op for op in self.movable if in_few_places(op.index, self.c.facts)]
        if not shared and not self.reloaded:
            return
        late = sinking.used_late(
            body.block, body.step, _with_what_follows(shared, self.c.function).keys() | self.reloaded)
        if late:
            sinking.sink(body.block, late)
            self._change()

    def spill(self, body: Body) -> None:
        spill = find_spill(body)
        if spill is None:
            return
        kept = body.registers()
        before = self._occupancy(kept)
        # Against spills any saving helps; for higher occupancy nothing may spill.
        needed = spill.stored if before == 0 else max(spill.stored, spill.loaded)
        after = self._occupancy(needed, spill.bytes)
        if before > MOST_SPILLED or after <= before:
            return
        plan, target = self.c.plan, self.c.target
        keep = to_keep(spill, target.registers_per_sm // (after * 32 * plan.warps))
        emit_spill(spill, keep)
        plan.occupancy = min(after, plan.occupancy or after)
        self.c.decide(decisions.rematerialized(
            spill.bytes, (before, kept), (after, needed), [(n, value.hint) for value, n in keep.items()]))
        self._change()


def _with_what_follows(loads: Collection[Op], function: Function) -> dict[Op, None]:
    """Loads, and what is computed from these alone, element by element; in program order."""
    out: dict[Op, None] = {}
    for op in function.walk():
        tiles = [v for v in op.operands if not is_uniform(v)] if op.elementwise or op.view else []
        if op in loads or (tiles and all(v.op in out for v in tiles)):
            out[op] = None
    return out
