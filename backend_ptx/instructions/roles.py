"""Registers of warpgroups with different roles: a warpgroup gives registers to the block's pool or takes some."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.backend_ptx.instructions.record import Instruction

MIN_REGISTERS, MAX_REGISTERS = 24, 256


def records() -> Iterator[Instruction]:
    """All warps of a warpgroup execute it. `inc` waits until the pool has enough; the kernel needs "nvvm.maxntid"."""
    for count in range(MIN_REGISTERS, MAX_REGISTERS + 1, 8):
        for way in ("inc", "dec"):
            yield Instruction(f"setmaxnreg.{way}.{count}", f"setmaxnreg.{way}.sync.aligned.u32 {count};", (), (),
                              "set_registers", {"count": count, "more": way == "inc"}, reads=True, writes=True,
                              convergent=True, sm=90, ptx=80, exact=True)
