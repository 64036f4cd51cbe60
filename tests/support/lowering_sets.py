"""The kernels of the lowering tests: every element-wise op of every dtype, grouped."""

from __future__ import annotations

from typing import Any

from support.lowering_kernels import Make, elementwise

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Function, Op
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import RoundingMode as RM
from tilewright.tileir.ops import arith, convert, math

INTS = (dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64)
FLOATS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)
NUMBERS = (dt.bool_, *INTS, *FLOATS, dt.tfloat32)
FP8 = (dt.float8_e4m3fn, dt.float8_e5m2)
COMPARISONS = (arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge)
INTEGER = (arith.Add, arith.Sub, arith.Mul, arith.FloorDiv, arith.CeilDiv, arith.Mod, arith.Min, arith.Max,
           arith.And, arith.Or, arith.Xor, arith.Shl, arith.Shr)
FLOAT = (arith.Add, arith.Sub, arith.Mul, arith.Div, arith.FloorDiv, arith.Mod, arith.Min, arith.Max)


def two(cls: type[Op], **options: Any) -> Make:
    return lambda x, y: cls(lhs=x, rhs=y, **options)


def one(cls: type[Op], **options: Any) -> Make:
    return lambda x, *rest: cls(src=x, **options)


def integers(dtype: DType) -> Function:
    classes: list[type[Op]] = [math.Neg, math.Abs, math.Not, *math.BitCount.__subclasses__()]
    unary = [one(c) for c in classes]
    return elementwise(f"int_{dtype.ir}", [dtype] * 2, [*map(two, INTEGER), *map(two, COMPARISONS), *unary])


def bools() -> Function:
    ops = (arith.And, arith.Or, arith.Xor, arith.Min, arith.Max, *COMPARISONS)
    return elementwise("bools", [dt.bool_] * 2, [*map(two, ops), one(math.Not)])


def floats(dtype: DType) -> Function:
    nan = [two(c, propagate_nan=True) for c in (arith.Min, arith.Max)]
    tests = math.FloatTest.__subclasses__()
    classes: list[type[Op]] = [math.Neg, math.Abs, *tests, math.Sqrt, *math.Integral.__subclasses__()]
    unary = [one(c) for c in classes]
    fma: Make = lambda x, y: arith.Fma(a=x, b=y, c=x)  # noqa: E731
    return elementwise(f"float_{dtype.ir}", [dtype] * 2, [*map(two, FLOAT), *map(two, COMPARISONS), *nan, *unary, fma])


def directed(dtype: DType) -> Function:
    ops = (arith.Add, arith.Sub, arith.Mul, arith.Div)
    return elementwise(f"directed_{dtype.ir}", [dtype] * 2,
                       [two(c, rounding=mode) for c in ops for mode in (RM.RZ, RM.RM, RM.RP)])


def flushing() -> Function:
    ops = [two(c, ftz=True) for c in (arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Min, arith.Max)]
    fast = [two(arith.Div, rounding=m) for m in (RM.FULL, RM.APPROX)]
    fast += [one(c, rounding=RM.APPROX) for c in (math.Sqrt, math.Exp, math.Tanh)]
    return elementwise("flushing", [dt.float32] * 2,
                       [*ops, *fast, *(one(c, ftz=True) for c in (math.Sqrt, math.Exp2, math.Rsqrt))])


def casts(source: DType) -> Function:
    return elementwise(f"cast_{source.ir}", [source],
                       [one(convert.Cast, dtype=d) for d in NUMBERS if d is not source])


def directed_casts() -> Function:
    pairs = [(dt.float32, RM.RZ), (dt.float32, RM.RM), (dt.float32, RM.RP), (dt.bfloat16, RM.RZ),
             (dt.float16, RM.RZ), (dt.tfloat32, RM.RZ)]
    return elementwise("directed_casts", [dt.float64], [one(convert.Cast, dtype=d, rounding=m) for d, m in pairs])


def powers(dtype: DType) -> Function:
    return elementwise(f"pow_{dtype.ir}", [dtype, dt.int32], [two(arith.Pow)])


KERNELS = [
    *map(integers, INTS), bools(), *map(floats, FLOATS), *map(directed, FLOATS), flushing(), *map(casts, NUMBERS),
    directed_casts(), *map(powers, (dt.int32, dt.float16, dt.float32)),
]


def named(function: Function) -> str:
    return function.name
