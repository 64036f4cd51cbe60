"""Small kernels written by hand, step by step, for the simulator's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from support.simulator.hopper import SMEM, descriptor, emit

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.simulator import simulate_text

OUT = Val("ptr addrspace(1)", 0, "%out")


class Kernel:
    """A kernel in the making; %out receives one word per thread."""

    def __init__(self) -> None:
        self.b = Builder()
        self.tid = self.special("tid.x")
        self.base = self.b.cast("ptrtoint", Val("ptr addrspace(3)", 0, "@smem"), "i32")

    def special(self, name: str) -> Val:
        """A special register."""
        return self.b.call(f"llvm.nvvm.read.ptx.sreg.{name}", "i32", [])

    def fill(self, word: int, count: int, first: int = 0) -> None:
        """All of 128 threads write `count` words each of shared memory."""
        for i in range(count):
            place = self.b.add(self.b.add(self.base, self.b.mul(self.tid, 4)), 4 * first + 512 * i)
            emit(self.b, "st.shared.b32", place, Val("i1", 0, "true"), self.b.const("i32", word))

    def out(self, value: Val, thread: Val | None = None) -> None:
        """The word of this thread, numbered in its block, or of another."""
        at = self.b.gep(OUT, self.b.mul(thread or self.tid, 4))
        emit(self.b, "st.global.b32", at, Val("i1", 0, "true"), self.b.bitcast(value, "i32"))

    def only(self, condition: Val, inside: Callable[[], None]) -> None:
        then, after = self.b.label("then"), self.b.label("after")
        self.b.cbr(condition, then, after)
        self.b.start(then)
        inside()
        self.b.br(after)
        self.b.start(after)

    def run(self, args: list[Any], params: str, threads: int, grid: int = 1, **how: Any) -> None:
        self.b.ret()
        head = "\n".join(self.b.head())
        text = f"{SMEM}\n{head}\ndefine ptx_kernel void @k({params}) #0 {{\n{self.b.text()}}}\n"
        simulate_text(text, "k", grid, threads, args, 1 << 14, **how)

    def result(self, threads: int = 128, grid: int = 1, **how: Any) -> np.ndarray:
        out = np.zeros(threads * grid, np.float32)
        self.run([out], "ptr addrspace(1) %out", threads, grid, **how)
        return out

    def descriptor(self, offset: int) -> Val:
        """Rows of 128 bytes along k at an offset of shared memory."""
        start = self.b.cast("zext", self.b.lshr(self.b.add(self.base, offset), 4), "i64")
        return self.b.or_(start, self.b.const("i64", descriptor(128, 16, 1024)))
