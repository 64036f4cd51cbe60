"""Element-wise ops of every dtype reach PTX that ptxas accepts, on the oldest target and on Hopper, without spills."""

from __future__ import annotations

import pytest
from support.lowering_kernels import assemble, elementwise, ptx_of
from support.lowering_sets import FP8, KERNELS, NUMBERS, named, one, two

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Function
from tilewright.tileir.ops import arith, convert
from tilewright.tileir.parser import parse


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


PRODUCTS = """func @products(%x: array<?xu32, strides=1, align=16>, %y: array<?xu64, strides=1, align=16>) {
  %zero: i32 = constant(value=0, type=tile<i32>)
  %t: tile<128xu32> = load(array=%x, index=(%zero), shape=(128), steps=(128), order=(0))
  %u: tile<128xu64> = load(array=%y, index=(%zero), shape=(128), steps=(128), order=(0))
  %wide: tile<128xu64> = cast(src=%t, dtype=u64)
  %m: tile<128xu64> = constant(value=3528531795, type=tile<128xu64>)
  %both: tile<128xu64> = mul(lhs=%wide, rhs=%m)
  %c: tile<128xu64> = constant(value=32, type=tile<128xu64>)
  %high: tile<128xu64> = shr(lhs=%both, rhs=%c)
  %all: tile<128xu64> = mul(lhs=%u, rhs=%wide)
  %mixed: tile<128xu64> = xor(lhs=%high, rhs=%all)
  %out: tile<128xu64> = xor(lhs=%mixed, rhs=%both)
  store(array=%y, index=(%zero), value=%out, steps=(128), order=(0))
  return()
}
"""


def test_both_halves_of_a_product_are_one_instruction() -> None:
    """Of numbers of 32 bits in 64: LLVM had made a mul.hi.u32 and a mul.lo of each product of Philox."""
    text = ptx_of(parse(PRODUCTS), "sm_90a")
    assert text.count("mul.lo.s64") == 2 and text.count("mul.wide.u32") >= 2 and "mul.hi" not in text


MASKED = """func @masked(%x: array<?xf32, strides=1, align=16>, %y: array<?x{dtype}, strides=1, align=16>, %n: i32) {{
  %zero: i32 = constant(value=0, type=tile<i32>)
  %t: tile<1024xf32> = load(array=%x, index=(%zero), shape=(1024), steps=(1024), order=(0))
  %i: tile<1024xi32> = iota(size=1024, dtype=i32)
  %m: tile<1024xi32> = broadcast(src=%n, shape=(1024))
  %inside: tile<1024xi1> = lt(lhs=%i, rhs=%m)
  %rest: tile<1024xf32> = constant(value=0x0p+0, type=tile<1024xf32>)
  %s: tile<1024xf32> = select(cond=%inside, lhs=%t, rhs=%rest)
  %u: tile<1024x{dtype}> = cast(src=%s, dtype={dtype})
  store(array=%y, index=(%zero), value=%u, steps=(1024), order=(0))
  return()
}}
"""


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_what_a_mask_chooses_is_narrowed_two_at_a_time(dtype: str) -> None:
    """LLVM moves the conversion in front of a choice whose other side is a number, and then converts one by one."""
    lines = ptx_of(parse(MASKED.format(dtype=dtype)), "sm_90a")
    assert f"cvt.rn.{dtype}x2.f32" in lines and f"cvt.rn.{dtype}.f32" not in lines


def test_nothing_is_contracted() -> None:
    function = elementwise("muladd", [dt.float32] * 2, [two(arith.Mul), two(arith.Add)])
    body = function.body
    product = next(op for op in body.ops if isinstance(op, arith.Mul))
    total = next(op for op in body.ops if isinstance(op, arith.Add))
    total.lhs = product.result
    text = ptx_of(function, "sm_90a")
    assert "fma" not in text and "mul.rn.f32" in text and "add.rn.f32" in text
