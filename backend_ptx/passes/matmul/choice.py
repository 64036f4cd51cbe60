"""The tensor-core instruction for a matrix multiply, by dtypes, sizes and target."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.instructions.warpgroup import KINDS
from tilewright.backend_ptx.layouts.warpgroup import LEAST_COLUMNS, ROWS
from tilewright.backend_ptx.resources.pipes import tensor_cycles
from tilewright.backend_ptx.targets import Target
from tilewright.tileir import dtypes as dt
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.matmul import Mma

FP8 = (dt.float8_e4m3fn, dt.float8_e5m2)
_EIGHT_BITS = (*FP8, dt.int8, dt.uint8)


class Choice(NamedTuple):
    """The name of an instruction, the dtype that both operands need (None: as they are), whether it computes the
    transpose, and the cycles that it takes."""

    instruction: str
    operands: DType | None
    swapped: bool
    cycles: float


def warpgroup_kind(op: Mma, target: Target, swapped: bool = False) -> str | None:
    """The kind of wgmma that computes an MMA, or its transpose, by its name in instructions/warpgroup.py; None if there
    is none."""
    m, n, k = sizes_of(op)
    a, b = op.a, op.b
    if swapped:
        m, n, a, b = n, m, b, a
    if any(size != 1 for size in op.acc.type.shape[:-2]) or m < ROWS or n < LEAST_COLUMNS:
        return None
    types = tuple(_ptx_type(v.type.dtype) for v in (op.acc, a, b))
    found = [name for name, kind in KINDS.items()
             if (kind.acc, kind.a, kind.b) == types and k >= kind.k and target.ptx >= kind.ptx]
    return found[0] if found else None


def _ptx_type(dtype: DType) -> str:
    """The name of an operand's dtype in instructions."""
    return dtype.ir.replace("i", "s")


def sizes_of(op: Mma) -> tuple[int, int, int]:
    """m, n and k."""
    m, k = op.a.type.shape[-2:]
    return m, op.b.type.shape[-1], k


def choose(op: Mma, target: Target) -> Choice | None:
    """The tensor-core instruction of the fewest cycles, of equal ones of the fewest and smallest instructions; None
    if no instruction takes such operands.

    Tiles smaller than the instruction are padded. Few rows are columns of the transpose, whose instructions are
    narrower.
    """
    a, b, acc = (v.type.dtype for v in (op.a, op.b, op.acc))
    operands: DType | None = None
    m, n, k = sizes_of(op)
    if a in FP8:
        found_of = instruction(_named(a, b, acc)[0])
        if not (target.has_fp8_mma and target.ptx >= found_of.ptx and k >= found_of.facts["shape"][2]):
            a = b = operands = dt.float16
    if a is dt.float32:
        return None
    batch = op.acc.type.size // (m * n)
    found: list[tuple[float, int, int, Choice]] = []
    for swapped, types, sizes in ((False, (a, b), (m, n, k)), (True, (b, a), (n, m, k))):
        for record in _named(*types, acc):
            shape = instruction(record).facts["shape"]
            *tiles, steps = (-(-size // least) for size, least in zip(sizes, shape, strict=True))
            each = shape[0] * shape[1] * shape[2] * a.bytes
            cycles = tensor_cycles(batch * prod(tiles), steps, each, target)
            found.append((cycles, prod(tiles) * steps, each, Choice(record, operands, swapped, cycles)))
    return min(found, key=lambda choice: choice[:3])[3]


def _named(a: DType, b: DType, acc: DType) -> tuple[str, ...]:
    """The instructions, longest k first."""
    types = tuple(map(_ptx_type, (acc, a, b)))
    if a is dt.float64:
        return ("mma.m8n8k4.f64.f64",)
    if a in _EIGHT_BITS:
        return tuple(f"mma.m16n8k{k}.{types[0]}.{types[1]}.{types[2]}" for k in ((32,) if a in FP8 else (32, 16)))
    return tuple(f"mma.m16n8k{k}.{types[0]}.{types[1]}" for k in ((8, 4) if a is dt.tfloat32 else (16, 8)))
