"""Occupancy: CTAs per SM, from the registers of a thread and the shared memory of a CTA."""

from __future__ import annotations

from tilewright.backend_ptx.resources.registers import OTHER, estimated_registers
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.core import Function

RESERVED = KIB  # of each CTA's shared memory, by the runtime
# Two CTAs hide most of each other's latency; a plan gives up no tile for a third.
AIM = 2
# Of rows in a loop, whose CTAs wait for each other more than once in an iteration, four of half the warps hide more.
FOUR = 4
# Bytes of loads that must be outstanding in an SM to hide the latency of memory. On an H200, persistent rows of 1024
# bfloat16 elements reached 0.93 of the non-persistent kernel's rate with 32 KiB (layer norm, 16 CTAs), and at least
# 0.97 with 42 KiB (RMS norm, 21 CTAs).
IN_FLIGHT = 40 * KIB
# Warps of an SM that hide too little of the latency of memory: where no ring prefetches rows, weights are loaded again.
# Of a copy's rate on an H100, with weights that stay and that are loaded again: layer norm of 1001 bfloat16 columns (16
# warps) 0.74 and 0.82, RMS norm (21 warps) 0.90 and 0.88.
FEW_WARPS = 16
WARP, PARTS = 32, 4  # threads of a warp; parts of an SM, each with a quarter of its registers
STEP = 8  # registers are given out in steps of so many


def by_registers(each: int, threads: int, target: Target) -> int:
    """CTAs that fit the registers of an SM, each part of which gives some to warps in steps (as `cuda_occupancy.h` of
    CUDA counts them)."""
    given_out = -(-max(each, STEP) // STEP) * STEP * WARP
    return target.registers_per_sm // PARTS // given_out * PARTS // -(-threads // WARP)


def resident(each: int, threads: int, shared: int, target: Target) -> int:
    """CTAs that fit an SM: `each` registers in each thread, `shared` bytes in each CTA."""
    if each > target.registers_per_thread or shared + RESERVED > target.shared_per_block:
        return 0
    return min(by_registers(each, threads, target), target.shared_per_sm // (shared + RESERVED))


def resident_aim(registers: int, threads: int, wanted: int | None, target: Target) -> int:
    """CTAs per SM for which a plan leaves shared memory: as many as the hint `occupancy` asks for, else AIM where the
    registers allow it. `registers` is what tiles take in each thread."""
    if wanted is not None:
        return wanted
    each = min(registers + OTHER, target.registers_per_thread) * threads
    return max(1, min(AIM, target.registers_per_sm // each, target.threads_per_sm // threads))


def shared_of_cta(occupancy: int | None, target: Target) -> int:
    """Shared memory of each of the CTAs that the hint `occupancy` wants on an SM."""
    if occupancy is None or occupancy == 1:
        return target.shared_per_block
    return target.shared_per_sm // occupancy - RESERVED


def register_cap(ctas: int, threads: int, target: Target) -> int:
    """Registers that ptxas gives each thread at an occupancy of `ctas`. It spreads their warps over the parts of an SM
    and counts those of the fullest, and registers in steps (13.0: 128 for 3 CTAs of 160 threads, 96 for 2 of 288)."""
    warps = max(1, ctas) * -(-threads // WARP)
    each = target.registers_per_sm // (-(-warps // PARTS) * PARTS * WARP)
    return min(each // STEP * STEP, target.registers_per_thread)


def spare_registers(function: Function, target: Target) -> int:
    """Registers that each thread may take beside its tiles, of which strips are no complete ones, for as many CTAs to
    fit an SM."""
    needed, threads = estimated_registers(function, strips=True), 32 * function.plan.all_warps
    return register_cap(resident(needed, threads, function.plan.shared_bytes, target), threads, target) - needed
