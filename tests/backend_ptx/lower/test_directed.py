"""Rounding in each direction, in the simulator as in the interpreter: numbers beside and between those of the narrower
format, of both signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.interp_cases import array_dtype, bits
from support.lowering_kernels import elementwise
from support.lowering_sets import one

from tilewright.backend_ptx.simulator import simulate_function
from tilewright.interp import compile_function
from tilewright.tileir.dtypes import bfloat16, float16, float32, float64
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, convert

N = 512
MODES = [RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP, RoundingMode.RA]


def between(source: Any, target: Any) -> Any:
    """Numbers of the source: those of the target, the middles of neighbours, and what lies beside both."""
    host, width = array_dtype(target), np.dtype(array_dtype(target)).itemsize
    pick = np.random.default_rng(width)
    exponents = {2: 0x7800, 4: 0x7F000000}[width] if target is not bfloat16 else 0x7F00
    codes = np.concatenate([[0, 1, 2, exponents], pick.integers(0, exponents, N // 16)])[:N // 16].astype(f"u{width}")
    low, high = (c.view(host).astype(np.float64) for c in (codes, codes + np.array(1, codes.dtype)))
    step = (high - low) / 64
    found = np.concatenate([low, low + step, (low + high) / 2, (low + high) / 2 + step, (low + high) / 2 - step,
                            high - step, low * 2, high])
    with np.errstate(over="ignore"):
        return np.concatenate([found, -found]).astype(array_dtype(source))


@pytest.mark.parametrize("source, target", [
    (float64, float32), (float64, float16), (float64, bfloat16), (float32, float16), (float32, bfloat16)], ids=str)
def test_conversions(source: Any, target: Any) -> None:
    function = elementwise("to", [source], [one(convert.Cast, dtype=target, rounding=mode) for mode in MODES])
    x = between(source, target)
    wanted, got = ([np.zeros(N, array_dtype(target)) for _ in MODES] for _ in range(2))
    with np.errstate(all="ignore"):
        compile_function(function).run((2, 1, 1), [x, *wanted])
        simulate_function(function, (2, 1, 1), [x, *got], "sm_90a")
    for mode, want, have in zip(MODES, wanted, got, strict=True):
        wrong = np.flatnonzero(bits(want) != bits(have))
        assert not len(wrong), f"{mode}: {x[wrong[0]]!r} gave {have[wrong[0]]!r}, expected {want[wrong[0]]!r}"
    assert len({want.tobytes() for want in wanted}) == len(MODES), "the numbers tell all modes apart"


@pytest.mark.parametrize("dtype", [float64, float32, float16, bfloat16], ids=str)
@pytest.mark.parametrize("cls", [arith.Add, arith.Sub, arith.Mul], ids=lambda c: c.opcode)
def test_arithmetic(dtype: Any, cls: Any) -> None:
    modes = MODES[:4]
    function = elementwise("op", [dtype, dtype], [lambda a, b, m=mode: cls(lhs=a, rhs=b, rounding=m) for mode in modes])
    pick = np.random.default_rng(3)
    x, y = ((pick.standard_normal(N) * 2.0 ** pick.integers(-9, 9, N)).astype(array_dtype(dtype)) for _ in range(2))
    y[:8] = -x[:8]
    wanted, got = ([np.zeros(N, array_dtype(dtype)) for _ in modes] for _ in range(2))
    compile_function(function).run((2, 1, 1), [x, y, *wanted])
    simulate_function(function, (2, 1, 1), [x, y, *got], "sm_90a")
    for mode, want, have in zip(modes, wanted, got, strict=True):
        wrong = np.flatnonzero(bits(want) != bits(have))
        assert not len(wrong), (
            f"{mode}: {x[wrong[0]]!r}, {y[wrong[0]]!r} gave {have[wrong[0]]!r}, expected {want[wrong[0]]!r}")
    assert len({want.tobytes() for want in wanted}) == len(modes)
