"""CTAs that fit an SM, by each of its resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.backend_ptx.resources.occupancy import RESERVED, WARP, by_registers, register_cap
from tilewright.backend_ptx.resources.registers import estimated_registers
from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.core import Function

if TYPE_CHECKING:
    from tilewright.inspecting.stages import Stages


# Of the memory that L1 and shared memory have together, what is never shared: 256, 192 and 128 KiB against 228, 164 and
# 100 (CUDA C++ Programming Guide, "Compute Capabilities").
UNSHARED = 28 * KIB


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`threads` of a CTA; `registers` of each, by ptxas where they are `assembled`, else as plans estimate them;
    `shared` bytes of a CTA; `allowed`: CTAs per SM that each resource alone would allow; `slots`: warps that an SM
    holds; `l1_bytes`: what shared memory leaves of an SM's memory for L1."""

    threads: int
    registers: int
    assembled: bool
    shared: int
    allowed: dict[str, int]
    slots: int
    l1_bytes: int

    @property
    def resident(self) -> int:
        """CTAs per SM."""
        return min(self.allowed.values())

    @property
    def limited(self) -> list[str]:
        """The resources that no more CTAs fit."""
        return [name for name, count in self.allowed.items() if count == self.resident]

    @property
    def warps(self) -> int:
        """Warps per SM."""
        return self.resident * -(-self.threads // 32)


def occupancy_of(stages: Stages, function: Function) -> Occupancy:
    """Of a machine function. ptxas counts the registers where it is installed; its code is what `stages` compile."""
    target, plan = stages.target, function.plan
    threads = 32 * plan.all_warps * plan.packed
    assembled = has_ptxas()
    if assembled:
        made = stages.compiled
        each = assemble(made.ptx, made.target, kernel=made.name, level=stages.hints.opt_level).registers
    else:
        each = min(estimated_registers(function), register_cap(max(plan.occupancy, 1), threads, target))
    limits = limits_of(each, threads, plan.shared_bytes, target)
    resident = min(limits.values())
    l1 = target.shared_per_sm + UNSHARED - resident * (plan.shared_bytes + RESERVED if plan.shared_bytes else 0)
    return Occupancy(threads, each, assembled, plan.shared_bytes, limits, target.threads_per_sm // 32, l1)


def limits_of(registers: int, threads: int, shared: int, target: Target) -> dict[str, int]:
    """CTAs that fit an SM by each of its resources."""
    return {
        "registers": by_registers(registers, threads, target),
        "shared memory": target.shared_per_sm // (shared + RESERVED),
        "threads": target.threads_per_sm // (-(-threads // WARP) * WARP),
        "CTA slots": target.blocks_per_sm}
