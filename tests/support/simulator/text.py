"""Small hand-written kernels for the simulator's tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator import simulate_text

TID = "%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
BAR = 'call void asm sideeffect "bar.sync 0;", "~{memory}"() convergent nounwind'
WARP_BAR = 'call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() convergent nounwind'


def module(body: str, params: str, more: str = "") -> str:
    """A module with the kernel @k; the body starts with an entry block that has %tid."""
    return f"{more}\ndefine ptx_kernel void @k({params}) {{\nentry:\n  {TID}\n{body}\n}}\n"


def run(
    body: str, params: str, args: list[Any], *, more: str = "", grid: int = 1, threads: int = 64, **how: Any
) -> None:
    """Run the kernel that `module` makes."""
    simulate_text(module(body, params, more), "k", grid, threads, args, **how)


def per_thread(
    code: str, out: str, *, threads: int = 64, params: str = "", args: list[Any] | None = None
) -> np.ndarray:
    """Run code that defines %r of LLVM type `out`; returns its value in every thread."""
    kinds = {"i8": "u1", "i16": "u2", "i32": "u4", "i64": "u8", "float": "f4", "double": "f8", "half": "f2"}
    result = np.zeros(threads, kinds[out])
    body = f"""{code}
  %at = getelementptr {out}, ptr addrspace(1) %out, i32 %tid
  store {out} %r, ptr addrspace(1) %at
  ret void"""
    extra = f", {params}" if params else ""
    run(body, f"ptr addrspace(1) %out{extra}", [result, *(args or [])], threads=threads)
    return result
