"""Floating-point operations of an op, by what executes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.tileir.core import Op
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import arith, convert, fold, math, matmul, reduce
from tilewright.tileir.rules import RuleTable

SPECIAL = "special"
"""Functions such as exp and sqrt, each counted as one operation, on units of their own."""

INTEGER = "integer"
"""Operations on tiles of integers. They are no FLOPs."""

# Operands of matrix products as datasheets call them. Products of float32, which no tensor core takes, are
# multiply-adds of threads.
TENSOR = {"float16": "f16", "bfloat16": "bf16", "tfloat32": "tf32", "float8_e4m3fn": "f8", "float8_e5m2": "f8",
          "int8": "i8", "uint8": "i8", "float4_e2m1fn": "f4", "float64": "f64"}
# They cost less than an addition, or compute nothing.
FREE = (arith.Constant, arith.Select, convert.Cast, convert.Bitcast, math.Neg, math.Abs, math.FloatTest)
SIMPLE = (math.Floor, math.Ceil, math.Trunc, math.Round)


def flops_of(op: Op) -> tuple[str, int] | None:
    """What executes an op, and how many operations that are; None for one that computes nothing."""
    found = RULES.of(op)
    if found is not None:
        return found(op)
    if not op.elementwise or isinstance(op, FREE):
        return None
    return _each(op, 1)


def vector(dtype: DType) -> str:
    """What adds and multiplies this dtype: threads compute 16-bit floats as float32."""
    if not dtype.is_float:
        return INTEGER
    return "f64" if dtype.bitwidth == 64 else "f32"


def _each(op: Op, times: int) -> tuple[str, int] | None:
    """So many operations for each element of the result. Scalars of integers are indices, which are not counted."""
    type_ = op.results[0].type
    if type_.dtype.is_bool or (not type_.dtype.is_float and not type_.shape):
        return None
    return vector(type_.dtype), times * type_.size


def _fma(op: arith.Fma) -> tuple[str, int] | None:
    return _each(op, 2)


def _free(op: Op) -> None:
    return None


def _special(op: Op) -> tuple[str, int] | None:
    size = op.results[0].type.size
    return (vector(op.results[0].type.dtype), size) if isinstance(op, SIMPLE) else (SPECIAL, size)


def _product(op: matmul.Mma | matmul.MmaScaled) -> tuple[str, int]:
    dtype = op.a.type.dtype
    kind = TENSOR.get(dtype.name)
    return f"tensor {kind}" if kind else vector(dtype), 2 * op.acc.type.size * op.a.type.shape[-1]


def _reduction(op: reduce.Reduction | reduce.ArgReduction) -> tuple[str, int] | None:
    src = op.src.type
    return vector(src.dtype), src.size - op.results[0].type.size


def _fold(op: fold.Fold) -> tuple[str, int] | None:
    """The body, once for each element that joins another."""
    src = op.srcs[0].type
    joins = src.size - src.size // src.shape[op.axis]
    inner = [found for part in op.combine.ops if (found := flops_of(part)) is not None]
    kinds = [kind for kind, _ in inner if kind != INTEGER]
    return (kinds[0], joins * sum(n for kind, n in inner if kind != INTEGER)) if kinds else None


RULES: RuleTable[Callable[[Any], tuple[str, int] | None]] = RuleTable("count of operations", {
    arith.Fma: _fma, math.FloatUnary: _special, math.FloatTest: _free, math.StopGradient: _free,
    arith.Pow: _special, arith.Atan2: _special,
    matmul.Mma: _product, matmul.MmaScaled: _product, reduce.Reduction: _reduction, reduce.ArgReduction: _reduction,
    fold.Fold: _fold,
})
