"""The number of slots of each ring, from shared memory, registers, hints, and the trip count.

One rule holds for all engines, with numbers of their own: as many slots as hide the latency, or as the hints ask for,
if they fit beside everything else. Fewer than `least` slots make no ring. Rings that TMA or threads fill are live
throughout the kernel and share its memory; those of cp.async are live only in their loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.engines import CP_ASYNC, TMA_LOAD
from tilewright.backend_ptx.passes.pipelining.legality import multiplies
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Ring, Transfer
from tilewright.backend_ptx.resources.occupancy import AIM, IN_FLIGHT, resident, resident_aim, shared_of_cta
from tilewright.backend_ptx.resources.registers import OTHER, live_registers
from tilewright.backend_ptx.resources.shared import buffer_bytes, loop_bytes, other_bytes, staged_bytes
from tilewright.backend_ptx.targets import KIB
from tilewright.tileir.analysis.branches import branches_of_all, exclusive, most_at_once
from tilewright.tileir.analysis.moved import source_of
from tilewright.tileir.analysis.neighbours import moves_elements
from tilewright.tileir.carried import body_of
from tilewright.tileir.core import Op
from tilewright.tileir.engines import THREADS, Engine
from tilewright.tileir.ops.memory import Gather
from tilewright.tileir.plan import Decision


class Appetite(NamedTuple):
    """Slots of an engine's rings without limits, the most that hints can ask for, and the fewest."""

    usual: int
    most: int
    least: int = 2


# More slots than usual do not hide more latency: copies for three iterations, outstanding during the compute of one,
# cover it.
APPETITES = {TMA_LOAD: Appetite(6, 8), CP_ASYNC: Appetite(4, 8), THREADS: Appetite(3, 3)}
# Slots for operands that threads gather and that they compute, beside TMA's: the first pair that leaves TMA ENOUGH
# slots.
FILLED, ENOUGH = ((4, 3), (3, 3), (3, 2)), 3
# Copies that only hide latency (no thread needs another's elements) must move at least this much per iteration, or this
# much in each thread, in whole vectors, and the loop must have this many iterations: otherwise they cost more than they
# hide. A launch has enough blocks of those that walk over tiles for an SM: these need copies only where occupancy does
# not hide the latency.
ENOUGH_BYTES, ENOUGH_EACH = 4 * KIB, 64
# Bytes of a ring of such copies up to which it has more slots than usual: in grids that leave an SM few CTAs, no others
# hide the latency. On an H100 sums of 128 rows of 262144 float32 numbers in tiles of 512 take 233 us without a ring, 95
# with 4 slots and 61 with 8, of 16384 rows of 8192 177, 176 and 175.
LEAST_RING = 16 * KIB
LEAST_EXCHANGE = 8 * KIB  # of a conversion, where a whole one leaves no ring
ENOUGH_ITERATIONS = 4
WIDE = 16


def slots_that_fit(appetite: Appetite, room: int, size: int, hints: Sequence[int] = (), most: int | None = None) -> int:
    """Slots of `size` bytes in `room`, never more than `most`; 0 if these make no ring."""
    wanted = min(max(hints), appetite.most) if hints else appetite.usual
    slots = min(max(appetite.least, wanted if most is None else min(wanted, most)), room // size)
    return slots if appetite.least <= min(slots, appetite.most) else 0


class Depths:
    """Decides engine by engine; earlier engines take memory from later ones. The methods set the slots of rings and
    give the decision."""

    def __init__(self, c: Compilation) -> None:
        self.c, self.function, self.target = c, c.function, c.target
        self.gone = set[Op]()  # what carried transfers replace
        self.rings: list[Ring] = []

    def _appetite(self, engine: Engine, spare: int = 0) -> Appetite:
        """The appetite of an engine whose rings need `spare` slots more, within the limits of the plan."""
        usual, most, least = APPETITES[engine]
        limit = self.c.limits.max_stages or usual + spare + most
        return Appetite(min(usual + spare, limit), min(most, limit), least + spare)

    def carry(self, channels: Sequence[Channel]) -> None:
        """Record channels that have got their slots."""
        self.rings += dict.fromkeys(c.ring for c in channels)
        self.gone.update(*(t.replaced for c in channels for t in c.transfers))

    # ---- TMA: rings of the kernel ------------------------------------------------------------------------------------

    def of_kernel(self, rings: Sequence[Ring], filled: Collection[Op]) -> Decision:
        """As below. Where there is no ring, because a whole result changes its layout before it is stored, say, it does
        so sub-tile by sub-tile, in more instructions but for once."""
        made, before = self._of_kernel(rings, filled), self.c.limits
        if not any(ring.slots for ring in rings) and before.max_exchange is None:
            self.function.limits = replace(before, max_exchange=LEAST_EXCHANGE)
            made = self._of_kernel(rings, filled)
            if not any(ring.slots for ring in rings):
                self.function.limits = before
        return made

    def _of_kernel(self, rings: Sequence[Ring], filled: Collection[Op]) -> Decision:
        """As many slots as fit for all rings. Those of loops around the others' have two, and what is filled once has
        one, where these keep as many as without them, or ENOUGH. Where two of each do not fit, what threads have read
        before an iteration ends has one: its next tile comes while they compute with this one. `filled`: the operands
        that threads stage into slots of the remaining memory."""
        inner = [ring for ring in rings if multiplies(ring.channels[0].region)]
        outer = {ring: 1 if ring.channels[0].once else 2 for ring in rings if ring not in inner}
        room, total = self._room(rings, filled), self._bytes(inner)
        taken = sum(slots * ring.bytes for ring, slots in outer.items())
        alone = self._room(inner, filled) if outer else room
        if (room - taken) // total < min(ENOUGH, alone // total):
            room, outer, taken = alone, {}, 0
        many = inner if (room - taken) // total >= 2 else [ring for ring in inner if not ring.read_early]
        least = self._bytes([ring for ring in inner if ring not in many])
        for ring in many:
            each = self._bytes(many, ring)
            ring.slots = slots_that_fit(self._appetite(TMA_LOAD), room - taken - least, each, ring.latencies)
        if not any(r.slots for r in many):
            return decisions.no_rings(room, total)
        for ring, slots in (*outer.items(), *((ring, 1) for ring in inner if ring not in many)):
            ring.slots = slots
        return decisions.rings([r.slots for r in (*outer, *inner)], room, total)

    def _room(self, rings: Sequence[Ring], filled: Collection[Op]) -> int:
        """The bytes that are left for rings, beside those that threads fill."""
        replaced = {op for r in rings for c in r.channels for t in c.transfers for op in (*t.stages, *t.conversions)}
        total = self._bytes(rings)
        other = other_bytes(self.function, replaced)
        room = shared_of_cta(self.c.hints.occupancy, self.target) - other
        if room // total < 2:
            room = self.target.shared_per_block - other
        sizes = [(isinstance(source_of(s.operands[0])[0].op, Gather), staged_bytes(s)) for s in set(filled) - replaced]
        gathered, computed = (sum(size for of_gather, size in sizes if of_gather is which) for which in (True, False))
        beside = ((g - 1) * gathered + (c - 1) * computed for g, c in FILLED)
        return next((room - b for b in beside if (room - b) // total >= ENOUGH), room)

    def _bytes(self, rings: Sequence[Ring], beside: Ring | None = None) -> int:
        """Of one slot of each, or of those that share an execution with one: loops in branches that exclude each other
        have theirs at the same place."""
        at = {ring: branches_of_all(self.c, [c.region for c in ring.channels]) for ring in rings}
        return most_at_once((ring.bytes, w) for ring, w in at.items() if not (beside and exclusive(w, at[beside])))

    # ---- cp.async: rings of a loop -----------------------------------------------------------------------------------

    def of_loop(self, channel: Channel, iterations: int | None) -> Decision:
        """Slots for the channel of a loop with at most so many iterations (None: unknown); transfers without slots
        leave it."""
        span = channel.loop.span
        if iterations is not None and iterations < 2:
            return decisions.no_pipeline(decisions.RUNS_ONCE, span)
        gone = self.gone.union(*((*t.conversions, *t.stages) for t in channel.transfers))
        other = loop_bytes(self.function, body_of(channel.loop), gone) + self._ring_bytes()
        # Else other CTAs hide the latency, as they do without a loop.
        ring = multiplies(channel.loop) or not moves_elements(self.function)
        channel.transfers = [t for t in channel.transfers if (ring and t.exchanged) or self._pays(t, iterations, other)]
        if not channel.transfers:
            return decisions.no_pipeline(decisions.TOO_LITTLE, span)
        least = channel.least
        while channel.transfers:
            size = sum(buffer_bytes(t.type) for t in channel.transfers)
            why = self._fit(channel, size, iterations, other)
            if why:
                names = [(t.name, t.exchanged) for t in channel.transfers]
                return decisions.pipeline(names, channel.ring.slots, size, why, span)
            left = min(channel.transfers, key=lambda t: (t.exchanged, -t.type.bytes))
            channel.transfers.remove(left)
            other += left.type.bytes * (len(left.conversions) + len(left.stages))  # then through buffers of their own
        return decisions.no_pipeline(decisions.slots_do_not_fit(least, self.target.shared_per_block), span)

    def _pays(self, transfer: Transfer, iterations: int | None, other: int) -> bool:
        """Whether copies that no other thread reads pay. `other`: shared memory of each CTA beside them."""
        if transfer.latency is not None:
            return True
        if transfer.width != WIDE or (iterations is not None and iterations < ENOUGH_ITERATIONS):
            return False
        threads, size = 32 * self.c.plan.warps, transfer.type.bytes
        if size >= ENOUGH_BYTES or size < ENOUGH_EACH * threads or not self.c.plan.walked:
            return size >= min(ENOUGH_BYTES, ENOUGH_EACH * threads)
        ctas = resident(live_registers(self.function) + OTHER, threads, other, self.target)
        return ctas * size < IN_FLIGHT

    def _fit(self, channel: Channel, size: int, iterations: int | None, other: int) -> str:
        """Slots for the transfers of a channel at the highest occupancy that leaves room, and the reason; "" if even
        the lowest leaves none."""
        hints, least = channel.ring.latencies, channel.least
        appetite = self._appetite(CP_ASYNC, least - 2)
        if not (self.c.plan.walked or any(t.exchanged for t in channel.transfers)):
            appetite = appetite._replace(usual=max(appetite.usual, min(appetite.most, LEAST_RING // size)))
        free, wanted = (slots_that_fit(appetite, appetite.most * size, size, hints, n) for n in (None, iterations))
        fewest = max(self.c.plan.occupancy, 1)
        registers, threads = live_registers(self.function, body_of(channel.loop)), 32 * self.c.plan.warps
        aim = max(fewest, resident_aim(registers, threads, self.c.hints.occupancy, self.target))
        for ctas in range(aim, fewest - 1, -1):
            room = shared_of_cta(ctas, self.target)
            slots = slots_that_fit(appetite, room - other, size, hints, iterations)
            # Two CTAs per SM hide as much latency as one more slot.
            if slots >= (least + 1 if ctas > 1 and wanted > least else least):
                channel.ring.slots = slots
                return decisions.depth(
                    max(hints, default=None), iterations if wanted < free else None, room if slots < wanted else None,
                    ctas)
        return ""

    def _ring_bytes(self) -> int:
        return sum(r.slots * buffer_bytes(t) for r in self.rings for t in r.types)

    # ---- threads: operands that they compute -------------------------------------------------------------------------

    def of_staged(self, channels: Sequence[Channel]) -> list[Decision]:
        """The remaining memory goes to these channels, first ones first. Without a producer, room for a second CTA per
        SM is kept."""
        if not channels:
            return []
        room = shared_of_cta(self.c.hints.occupancy, self.target)
        if not self.c.plan.roles:
            room = min(room, shared_of_cta(AIM, self.target))
        room -= other_bytes(self.function, self.gone) + self._ring_bytes()
        made = []
        for ring in dict.fromkeys(channel.ring for channel in channels):
            each = sum(map(buffer_bytes, ring.types))
            ring.slots = slots_that_fit(self._appetite(THREADS), room + each, each)
            if ring.slots:
                room -= (ring.slots - 1) * each
                made.append(decisions.staged(ring.slots, each, ring.channels[0].loop.span))
        return made
