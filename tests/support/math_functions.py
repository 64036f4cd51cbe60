"""Functions of the math library on arrays: the LLVM text that the GPU gets, run by the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.module import KernelText
from tilewright.backend_ptx.mathlib import emit
from tilewright.backend_ptx.simulator import simulate_text
from tilewright.backend_ptx.simulator.numbers import approximate
from tilewright.backend_ptx.simulator.ops import intrinsics

Array = Any
GLOBAL = "ptr addrspace(1)"
ELEMENTS = {"float16": "half", "float32": "float", "float64": "double"}
MOST_THREADS = 1 << 14  # of a block: NumPy works on all of them at once


def run(name: str, *inputs: Array, lanes: int = 0) -> Array:
    """The function of each element, as vectors of `lanes` elements a thread (0: scalars)."""
    b, each = Builder(), max(lanes, 1)
    threads = min(MOST_THREADS, -(-len(inputs[0]) // each))
    block, thread = (b.call(f"llvm.nvvm.read.ptx.sreg.{word}.x", "i32", []) for word in ("ctaid", "tid"))
    elem, size = ELEMENTS[inputs[0].dtype.name], inputs[0].itemsize
    offset = b.cast("sext", b.mul(b.add(b.mul(block, threads), thread), each * size), "i64")
    names = [*(f"in{i}" for i in range(len(inputs))), "out"]
    *sources, target = (b.gep(Val(GLOBAL, 0, f"%{n}"), offset) for n in names)
    b.store(emit(b, name, *(b.load(elem, lanes, s, size) for s in sources)), target, size)
    b.ret()
    text = KernelText("k", [(GLOBAL, n) for n in names], threads).text(b)
    blocks = -(-len(inputs[0]) // (threads * each))
    padded = [np.resize(x, blocks * threads * each) for x in inputs]
    out = np.zeros_like(padded[0])
    simulate_text(text, "k", blocks, threads, [*padded, out], races=False)
    return out[: len(inputs[0])]


@contextmanager
def approximations_off(by: float) -> Iterator[None]:
    """Inside, ex2, rcp and rsqrt are off by so many units in the last place, up or down by chance."""
    random = np.random.default_rng(1)

    def moved(function: str, ftz: bool, x: Array) -> Array:
        result = approximate.approximate(function, ftz, x)
        exact = approximate.FUNCTIONS[function](x.astype(np.longdouble))
        noise = random.choice([-by, by], result.shape)
        off = (exact + noise * np.spacing(np.abs(result))).astype(x.dtype)
        normal = np.isfinite(result) & (np.abs(result) >= np.finfo(x.dtype).tiny)
        return np.where(normal & (result != exact), off, result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intrinsics, "approximate", moved)
        yield
