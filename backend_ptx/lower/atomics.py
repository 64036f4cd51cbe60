"""Atomic operations: one instruction for every element, by the thread that owns it.

LLVM's atomicrmw ignores orders and scopes, so the instructions come from the table. Around an operation that releases
or acquires, insert_barriers synchronises the CTA: what its other threads did before is then released with it, and what
they do afterwards sees what was acquired (PTX ISA, memory consistency model: causality order runs through barriers).
"""

from __future__ import annotations

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.lower.access import both
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.gather import Elements
from tilewright.backend_ptx.lower.memory import order_of
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import atomics as ops

_WORD = {"xchg": "exch"}
_FLOAT_ADD = {dt.float16: "noftz.f16", dt.bfloat16: "noftz.bf16", dt.float32: "f32", dt.float64: "f64"}


def _kind(op: str, dtype: DType) -> str:
    """The instruction's type."""
    if op in ("xchg", "cas", "and", "or", "xor"):
        return f"b{dtype.bitwidth}"
    if dtype.is_float:
        return _FLOAT_ADD[dtype]
    # Sums wrap alike for both signs, and only u64 has an addition.
    return f"{'s' if dtype.is_signed and op != 'add' else 'u'}{dtype.bitwidth}"


@lower(ops.AtomicRmw)
def atomic_rmw(ctx: Context, op: ops.AtomicRmw) -> None:
    if op.kind == "add" and op.array.type.dtype is dt.bfloat16 and not ctx.target.has_bf16_atomic:
        raise TileUnsupportedFeatureError(
            f"atomic_add on bfloat16 does not exist on {ctx.target}",
            hints=["add into a float32 array, or compile for sm_90 or newer"])
    _each(ctx, op, op.kind, [op.value])


@lower(ops.AtomicCas)
def atomic_cas(ctx: Context, op: ops.AtomicCas) -> None:
    _each(ctx, op, "cas", [op.expected, op.desired])


def _each(ctx: Context, op: ops.Atomic, name: str, values: list[Value]) -> None:
    b = ctx.b
    record = instruction(f"atom.{_WORD.get(name, name)}.{_kind(name, op.array.type.dtype)}.{order_of(op)}")
    register = record.operands[2]
    elements = Elements(ctx, op)
    lanes = range(elements.lanes)
    inside, pointers = elements.predicate(lanes), elements.pointers(lanes)
    mine = owner(ctx, ctx.layout(op.result))
    given = [ctx.vector(v) for v in values]
    out = []
    for i in lanes:
        operands = [b.bitcast(b.extract(v, i), register) for v in given]
        # Where nothing happens a compare-and-swap returns what it expected.
        otherwise = operands[0] if name == "cas" else b.const(register, 0)
        predicate = both(b, mine, None if inside is None else b.extract(inside, i)) or b.const("i1", 1)
        out.append(b.bitcast(record.emit1(b, pointers[i], predicate, otherwise, *operands), given[0].elem))
    ctx.set(op.result, b.vector(out) if op.shape else out[0])
