"""The emitted LLVM text, run by the simulator, against the formulas on NumPy; loops over lanes included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.llvm.module import KernelText
from tilewright.backend_ptx.mathlib import emit
from tilewright.backend_ptx.mathlib.evaluate import NumpyBuilder, Value
from tilewright.backend_ptx.simulator import simulate_text

THREADS = 32
GLOBAL = "ptr addrspace(1)"
FORMATS = {"float": np.float32, "double": np.float64}
ONE = ("exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "rsqrt")


def run(name: str, elem: str, lanes: int, *inputs: Any) -> Any:
    """The function of each element, `lanes` elements a thread, by the text that the GPU would get."""
    b = Builder()
    thread = b.value_call("llvm.nvvm.read.ptx.sreg.tid.x", "i32", [])
    offset = b.cast("sext", b.mul(thread, max(lanes, 1)), "i64")
    names = [*(f"in{i}" for i in range(len(inputs))), "out"]
    *sources, target = (b.gep(Val(GLOBAL, 0, f"%{n}"), offset, elem) for n in names)
    align = inputs[0].itemsize
    b.store(emit(b, name, *(b.load(elem, lanes, s, align) for s in sources)), target, align)
    b.ret()
    out = np.zeros_like(inputs[0])
    text = KernelText("k", [(GLOBAL, n) for n in names], THREADS).text(b)
    simulate_text(text, "k", 1, THREADS, [*inputs, out])
    return out


def arguments(elem: str, count: int, seed: int) -> Any:
    """Small, large (for the long reduction of sin) and special numbers, so that lanes of one thread differ."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, count)
    x[::3] = rng.uniform(-1, 1, len(x[::3])) * 2.0 ** rng.integers(-120, 120, len(x[::3]))
    x[::11] = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0], len(x[::11]))
    return x.astype(FORMATS[elem])


@pytest.mark.parametrize("lanes", [0, 1, 2, 4])
@pytest.mark.parametrize("elem", FORMATS)
@pytest.mark.parametrize("name", [*ONE, "atan2", "pow"])
def test_text_computes_the_formula(name: str, elem: str, lanes: int) -> None:
    count = THREADS * max(lanes, 1)
    inputs = [arguments(elem, count, seed) for seed in range(1 if name in ONE else 2)]
    builder: Any = NumpyBuilder()
    values: list[Any] = [Value(elem, x) for x in inputs]
    expected: Any = emit(builder, name, *values)
    got = run(name, elem, lanes, *inputs)
    with np.errstate(all="ignore"):
        # The simulator's ex2, rcp and rsqrt may be rounded another way in the last place.
        np.testing.assert_allclose(got, expected.array, rtol=8 * np.finfo(FORMATS[elem]).eps, atol=0)
    zero = got == 0
    assert np.array_equal(np.signbit(got[zero]), np.signbit(expected.array[zero]))
