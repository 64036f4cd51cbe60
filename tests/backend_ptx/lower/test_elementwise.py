"""Element-wise ops of every dtype reach PTX that ptxas accepts, on the oldest target and on Hopper, without spills."""

from __future__ import annotations

import pytest
from support.lowering_kernels import assemble, elementwise, ptx_of
from support.lowering_sets import FP8, KERNELS, NUMBERS, named, one, two

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Function
from tilewright.tileir.ops import arith, convert


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("function", KERNELS, ids=named)
def test_ptxas_accepts(function: Function, target: str) -> None:
    report = assemble(ptx_of(function, target), target)
    assert " 0 bytes spill stores" in report


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("function", [
    *(elementwise(f"to8_{s.ir}", [s], [one(convert.Cast, dtype=d) for d in FP8]) for s in NUMBERS),
    *(elementwise(f"from8_{s.ir}", [s], [one(convert.Cast, dtype=d) for d in (*NUMBERS, *FP8) if d is not s])
      for s in FP8),
], ids=named)
def test_float8(function: Function, target: str) -> None:
    assemble(ptx_of(function, target), target)


def test_narrow_integers_stay_short() -> None:
    """<N x i8> packed and unpacked for every operation took over a thousand lines (see lower/integers.py)."""
    function = elementwise("narrow", [dt.int8] * 2, [two(arith.Add)], shape=(2048,))
    assert len(ptx_of(function, "sm_90a").splitlines()) < 200


def test_bfloat16_arithmetic_is_native_where_the_target_has_it() -> None:
    function = elementwise("native", [dt.bfloat16] * 2, [two(arith.Add), two(arith.Mul)])
    assert "add.rn.bf16x2" in ptx_of(function, "sm_90a")
    assert "add.rn.bf16x2" not in ptx_of(function, "sm_80")


def test_nothing_is_contracted() -> None:
    function = elementwise("muladd", [dt.float32] * 2, [two(arith.Mul), two(arith.Add)])
    body = function.body
    product = next(op for op in body.ops if isinstance(op, arith.Mul))
    total = next(op for op in body.ops if isinstance(op, arith.Add))
    total.lhs = product.result
    text = ptx_of(function, "sm_90a")
    assert "fma" not in text and "mul.rn.f32" in text and "add.rn.f32" in text
