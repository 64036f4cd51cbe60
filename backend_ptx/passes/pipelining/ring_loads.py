"""Loads that feed products of warpgroups: a producer warp brings tiles by TMA into rings of slots, far ahead.

    before: %r = for(lower=%l, upper=%u, step=%s, init=(%x)) .loop(%k: i32, %acc: tile<128x256xf32>) {
                %t: tile<128x64xbf16> = load(array=%a, index=(%i, %k), ...)
                %a: shared<128x64xbf16> = stage(src=%t)
                %y = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                yield(values=(%y))
            }
            %0 = wgmma_wait(accs=(%r))
    after:  %ring: shared<4, 128x64xbf16> = shared_alloc(...)
            %full: shared<4, i64> = shared_alloc(...) ; %empty likewise ; mbarrier_init of both
            %r, %n, %q = for(..., init=(%x, %zero, %zero)) .loop(%k: i32, %acc, %slot: i32, %parity: i32) {
                mbarrier_wait(barriers=%empty, slot=%slot, parity=%parity ^ 1, role="producer")
                mbarrier_expect(barriers=%full, slot=%slot, bytes=16384)
                tma_load(buffer=%ring, barriers=%full, slot=%slot, array=%a, index=(%i, %k), ...)
                mbarrier_wait(barriers=%full, slot=%slot, parity=%parity)
                %a: shared<128x64xbf16> = shared_view(buffer=%ring, slot=%slot, ...)
                %y = wgmma(a=%a, b=%b, acc=%acc, kind="bf16")
                wgmma_wait(accs=(), pending=1)                              // the round before is done with its slot
                mbarrier_arrive(barriers=%empty, slot=%slot - 1, active=%k > %l)
                yield(values=(%y, %slot + 1 == 4 ? 0 : %slot + 1, ...))
            }
            %0 = wgmma_wait(accs=(%r))
            mbarrier_arrive(barriers=%empty, slot=%n - 1, active=%l < %u)

Loads of a loop whose slots are released at the same place share mbarriers: they are a group, and have rings of as many
slots. Loops that come one after the other use the same rings where their tiles fit. Slot and parity go through all
loops and branches around, so that the producer runs on into the next round of an outer loop while consumers
still work on this one. The text is one program in order; roles.py takes it apart.
"""

from __future__ import annotations

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.units import UNITS
from tilewright.backend_ptx.passes.clusters.multicast import share_in_cluster
from tilewright.backend_ptx.passes.pipelining.ring_candidates import Scope, has_products
from tilewright.backend_ptx.passes.pipelining.ring_depth import decide_slots
from tilewright.backend_ptx.passes.pipelining.ring_groups import Group, find_groups, share_rings
from tilewright.backend_ptx.passes.pipelining.ring_rewrite import Rings
from tilewright.backend_ptx.roles import plan_roles
from tilewright.tileir.analysis.uses import uses
from tilewright.tileir.ops import control
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.plan import Decision


def ring_loads(c: Compilation) -> None:
    """Needs staged operands and waits for products; conversions must still be `convert_layout`."""
    function, target = c.function, c.target
    if not (target.has_tma and any(UNITS[name].reads_shared for name in target.matrix_units)):
        return
    users = uses(function)
    scope = Scope(function, users)
    groups: list[Group] = []
    reports: list[Decision] = []
    for loop in [op for op in function.walk() if isinstance(op, control.For)]:
        if not has_products(loop):
            continue
        found, left = find_groups(loop, scope)
        groups += found
        reports += left
    rings = share_rings(groups, scope)
    if rings:
        reports.insert(0, decide_slots(function, rings, {s for g in groups for c in g.loads for s in c.stages}, target))
    groups = [g for g in groups if g.ring.slots > 1]
    reports += share_in_cluster(function, groups)
    c.decide(*reports)
    if not groups:
        return
    c.plan.stages = tuple(ring.slots for ring in rings)
    c.plan.roles = plan_roles(c.plan.warps, c.hints.occupancy, target, c.limits.allow_register_reallocation)
    c.decide(decisions.roles(c.plan.roles))
    Rings(function, groups, users).run()
    c.forget()
    dce(c)
