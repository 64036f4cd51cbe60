"""The tensor-core instruction for a matrix multiply, by dtypes, sizes and target."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.instructions.warpgroup import KINDS
from tilewright.backend_ptx.layouts.warpgroup import LEAST_COLUMNS, ROWS
from tilewright.backend_ptx.targets import Target
from tilewright.tileir import dtypes as dt
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.matmul import Mma

_PTX_TYPE = {
    dt.float16: "f16", dt.bfloat16: "bf16", dt.tfloat32: "tf32", dt.float32: "f32", dt.float64: "f64",
    dt.int8: "s8", dt.uint8: "u8", dt.int32: "s32", dt.float8_e4m3fn: "e4m3", dt.float8_e5m2: "e5m2",
}
FP8 = (dt.float8_e4m3fn, dt.float8_e5m2)
_EIGHT_BITS = (*FP8, dt.int8, dt.uint8)


class Choice(NamedTuple):
    """The name of the instruction and the dtype that both operands need (None: as they are)."""

    instruction: str
    operands: DType | None = None


def warpgroup_kind(op: Mma, target: Target) -> str | None:
    """The kind of wgmma that computes an MMA, by its name in instructions/warpgroup.py; None if there is none."""
    m, n, k = sizes_of(op)
    if any(size != 1 for size in op.acc.type.shape[:-2]) or m < ROWS or n < LEAST_COLUMNS:
        return None
    types = tuple(_PTX_TYPE.get(v.type.dtype) for v in (op.acc, op.a, op.b))
    found = [name for name, kind in KINDS.items()
             if (kind.acc, kind.a, kind.b) == types and k >= kind.k and target.ptx >= kind.ptx]
    return found[0] if found else None


def sizes_of(op: Mma) -> tuple[int, int, int]:
    """m, n and k."""
    m, k = op.a.type.shape[-2:]
    return m, op.b.type.shape[-1], k


def choose(a: DType, b: DType, acc: DType, sizes: tuple[int, int, int], target: Target) -> Choice | None:
    """The tensor-core instruction for these dtypes; None if FMA instructions compute the MMA."""
    operands: DType | None = None
    if a in FP8:
        (record,) = _named(a, b, acc)
        if not (target.has_fp8_mma and target.ptx >= instruction(record).ptx and _fits(record, sizes)):
            a = b = operands = dt.float16
    if a is dt.float32:
        return None
    fitting = [record for record in _named(a, b, acc) if _fits(record, sizes)]
    return Choice(fitting[0], operands) if fitting else None


def _named(a: DType, b: DType, acc: DType) -> tuple[str, ...]:
    """The instructions, longest k first."""
    types = _PTX_TYPE[acc], _PTX_TYPE[a], _PTX_TYPE[b]
    if a is dt.float64:
        return ("mma.m8n8k4.f64.f64",)
    if a in _EIGHT_BITS:
        return tuple(f"mma.m16n8k{k}.{types[0]}.{types[1]}.{types[2]}" for k in ((32,) if a in FP8 else (32, 16)))
    return tuple(f"mma.m16n8k{k}.{types[0]}.{types[1]}" for k in ((8, 4) if a is dt.tfloat32 else (16, 8)))


def _fits(record: str, sizes: tuple[int, int, int]) -> bool:
    return all(size >= least for size, least in zip(sizes, instruction(record).facts["shape"], strict=True))
