"""Software pipelining: a loop prefetches the tiles of later iterations while it computes the current one.

    before: %r = for(...) .loop(%k: i32, %acc: tile<128x256xf32>) {
                %t: tile<128x64xbf16> = load(array=%a, index=(%i, %k), ...)
                %a: shared<128x64xbf16> = stage(src=%t)
                %y = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                yield(values=(%y))
            }
    after:  %ring: shared<4, 128x64xbf16> = shared_alloc(...)
            %r, %n, %q = for(...) .loop(%k: i32, %acc, %slot: i32, %parity: i32) {
                ... wait until slot %slot is empty, start the copy into it, wait for the copy ...
                %a: shared<128x64xbf16> = shared_view(buffer=%ring, slot=%slot, ...)
                %y = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                ... release the slot of the iteration before ...
                yield(values=(%y, %slot + 1 == 4 ? 0 : %slot + 1, ...))
            }

There are four steps, engine by engine in the order of preference: which tiles an engine may carry (legality.py), how
many slots they get (depth.py), the code that the engine supplies (tma.py, cp_async.py, staging.py), and at the end
slots, barriers and phases (emit.py). The decisions `rings`, `pipeline` and `staged` give the number of slots, and for
every other load the reason why it stays a load.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.bulk import TmaAcquire
from tilewright.backend_ptx.ops.engines import CP_ASYNC, TMA_LOAD
from tilewright.backend_ptx.ops.units import UNITS
from tilewright.backend_ptx.passes.clusters.multicast import share_in_cluster
from tilewright.backend_ptx.passes.matmul.operands import still_read
from tilewright.backend_ptx.passes.pipelining import legality
from tilewright.backend_ptx.passes.pipelining.acquire_once import acquire_once
from tilewright.backend_ptx.passes.pipelining.carriers import AsyncCopies, Handing, Staging, Tma
from tilewright.backend_ptx.passes.pipelining.depth import Depths
from tilewright.backend_ptx.passes.pipelining.emit import Carrier, Expander
from tilewright.backend_ptx.passes.pipelining.transfers import Channel
from tilewright.backend_ptx.roles import plan_roles
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.builder import Constants
from tilewright.tileir.engines import THREADS, Engine
from tilewright.tileir.iterations import most_iterations
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.load_ahead import load_ahead

LATE_SLOTS = 3  # without which MMAs that the next iteration waits for could still read what a warp stores there
CARRIERS: dict[Engine, type[Carrier]] = {TMA_LOAD: Tma, CP_ASYNC: AsyncCopies, THREADS: Staging}


def pipeline_loops(c: Compilation) -> Preserved:
    """Needs layouts, staged operands and waits for MMAs; conversions must still be `convert_layout`."""
    function = c.function
    if not any(isinstance(op, (For, While)) for op in function.walk()):
        return ALL
    choice = _Choice(c)
    if c.target.has_tma and any(UNITS[name].reads_shared for name in c.target.matrix_units):
        choice.tma()
    choice.copies()
    choice.staged()
    if not choice.channels and not c.has(TmaAcquire):
        return load_ahead(c) if c.limits.extras else ALL
    c.plan.stages = tuple(ring.slots for ring in choice.depths.rings)
    constants = Constants(function)
    carriers = [_carrier(ch)(ch, constants, c.facts, c.plan.warps) for ch in choice.channels]
    Expander(function, carriers, constants).run()
    c.forget()
    acquire_once(c)
    c.forget()
    dce(c)
    return NONE


def _carrier(channel: Channel) -> type[Carrier]:
    return Handing if channel.engine is THREADS and channel.release is not None else CARRIERS[channel.engine]


class _Choice:
    """The channels of a function that get slots, engine by engine."""

    def __init__(self, c: Compilation) -> None:
        self.c = c
        self.depths = Depths(c)
        running = still_read(c)
        self.handed = legality.stage_early(c, running)
        self.late, self.running = running & self.handed, running - self.handed
        self.channels: list[Channel] = []

    def tma(self) -> None:
        channels, refused = legality.find_tma(self.c)
        if channels:
            rings = list(dict.fromkeys(c.ring for c in channels))
            self.c.decide(self.depths.of_kernel(rings, self.running | self.handed))
        channels = self._carry(channels)
        self.c.decide(*refused, *share_in_cluster(self.c, channels))
        plan, limits = self.c.plan, self.c.limits
        if channels:
            plan.roles = plan_roles(plan.teams * plan.warps, self.c.hints.occupancy, self.c.target,
                                    limits.allow_register_reallocation, limits.producer_ease)
            self.c.decide(decisions.roles(plan.roles))
        else:
            plan.teams = 1

    def copies(self) -> None:
        channels, refused = legality.find_copies(self.c, self.c.plan.warps, self.depths.gone)
        for channel in channels:
            found = list(channel.transfers)
            self.c.decide(self.depths.of_loop(channel, most_iterations(channel.loop, self.c.facts)))
            if channel.ring.slots:
                left = [t for t in found if t not in channel.transfers]
                self.c.decide(*(legality.stays("pipeline", t.source, decisions.TOO_LITTLE) for t in left))
        self.c.decide(*refused)
        self._carry(channels)

    def staged(self) -> None:
        channels = legality.find_staged(self.c, self.running, self.handed, self.depths.gone)
        self.c.decide(*self.depths.of_staged(channels))
        for channel in channels:
            if channel.ring.slots < LATE_SLOTS and not self.late.isdisjoint(t.source for t in channel.transfers):
                channel.release = None
        self._carry(channels)

    def _carry(self, channels: Sequence[Channel]) -> list[Channel]:
        """Keep the channels that have got slots."""
        kept = [c for c in channels if c.ring.slots]
        self.depths.carry(kept)
        self.channels += kept
        return kept
