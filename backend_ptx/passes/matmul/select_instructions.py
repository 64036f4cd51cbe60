"""Choose how each matrix product is computed on the target, and convert operands where the choice asks for it.

    before: %y: tile<128x128xf32> = mma(a=%ta, b=%tb, acc=%x)                               // bfloat16 operands
    after:  %y: tile<128x128xf32> = mma_sync(a=%ta, b=%tb, acc=%x, instruction="mma.m16n8k16.f32.bf16")

float32 products (which mean real float32) and tiles smaller than an instruction's become `mma_fma`, with operands
converted to the accumulator's format; that is exact for every operand format. 8-bit floats without tensor cores for
them become float16, which holds them exactly. Where the target has wgmma, products of at least 64 rows become `wgmma`:

    after:  %y: tile<128x128xf32> = wgmma(a=%ta, b=%tb, acc=%x, kind="bf16")
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.instructions.warpgroup import KINDS
from tilewright.backend_ptx.layouts.mma import Fragment
from tilewright.backend_ptx.layouts.warpgroup import LEAST_COLUMNS, ROWS, WARPS
from tilewright.backend_ptx.ops.matmul import MmaFma, MmaSync
from tilewright.backend_ptx.ops.warpgroup import Wgmma
from tilewright.backend_ptx.targets import Target
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.shape import Reshape
from tilewright.tileir.rewrite import Rewriter, rewrite

_PTX_TYPE = {
    dt.float16: "f16", dt.bfloat16: "bf16", dt.tfloat32: "tf32", dt.float32: "f32", dt.float64: "f64",
    dt.int8: "s8", dt.uint8: "u8", dt.int32: "s32", dt.float8_e4m3fn: "e4m3", dt.float8_e5m2: "e5m2",
}
_FP8 = (dt.float8_e4m3fn, dt.float8_e5m2)
_EIGHT_BITS = (*_FP8, dt.int8, dt.uint8)


class Choice(NamedTuple):
    """The name of the instruction and the dtype that both operands need (None: as they are)."""

    instruction: str
    operands: DType | None = None


def select_instructions(c: Compilation) -> None:
    """Afterwards there is no `mma`."""
    function, target = c.function, c.target
    groups = target.has_wgmma and _whole_warpgroups(c.hints.num_worker_warps)
    rewrite(function, lambda rewriter, op: _rule(rewriter, op, target, groups))


def _whole_warpgroups(wanted: int | None) -> bool:
    return wanted is None or wanted % WARPS == 0


def _rule(rewriter: Rewriter, op: Op, target: Target, groups: bool) -> None:
    if not isinstance(op, Mma):
        rewriter.keep(op)
        return
    kind = warpgroup_kind(op, target) if groups else None
    if kind is not None:
        rewriter.replace(op.result, _by_warpgroups(rewriter, op, kind))
        return
    choice = choose(op.a.type.dtype, op.b.type.dtype, op.acc.type.dtype, _sizes(op), target)
    if choice is None:
        rewriter.replace(op.result, _by_fma(rewriter, op))
        return
    a, b = (_cast(rewriter, v, choice.operands or v.type.dtype) for v in (op.a, op.b))
    made = MmaSync(a=a, b=b, acc=op.acc, instruction=choice.instruction)
    rewriter.replace(op.result, rewriter.value(made))


def warpgroup_kind(op: Mma, target: Target) -> str | None:
    """The kind of wgmma that computes a product, None where none does: the name in instructions/warpgroup.py."""
    m, n, k = _sizes(op)
    if any(size != 1 for size in op.acc.type.shape[:-2]) or m < ROWS or n < LEAST_COLUMNS:
        return None
    types = tuple(_PTX_TYPE.get(v.type.dtype) for v in (op.acc, op.a, op.b))
    found = [name for name, kind in KINDS.items()
             if (kind.acc, kind.a, kind.b) == types and k >= kind.k and target.ptx >= kind.ptx]
    return found[0] if found else None


def warpgroup_fragment(kind: str) -> Fragment:
    """How a warp holds A and the accumulator: as for the mma.sync of the same operands."""
    k = KINDS[kind].k
    return Fragment(16, 8, k, k // 8)


def _by_warpgroups(rewriter: Rewriter, op: Mma, kind: str) -> Value:
    """wgmma has no batches; those of length 1 go.

    Tensor cores of sm_90 add products of 8-bit floats with 13 bits behind the point (arXiv 2412.19437, section 3.3.2):
    unless use_fast_acc allows that for all of k, each tile's product is added to the accumulator in float32.
    """
    a, b, acc = (_flat(rewriter, v) for v in (op.a, op.b, op.acc))
    if op.a.type.dtype in _FP8 and not op.fast_acc:
        zero = rewriter.value(Constant(value=0.0, type=acc.type.erased()))
        part = rewriter.value(Wgmma(a=a, b=b, acc=zero, kind=kind))
        made = rewriter.value(Add(lhs=acc, rhs=part))
    else:
        made = rewriter.value(Wgmma(a=a, b=b, acc=acc, kind=kind))
    return made if acc is op.acc else rewriter.value(Reshape(src=made, shape=op.acc.type.shape))


def _flat(rewriter: Rewriter, value: Value) -> Value:
    shape = value.type.shape
    return value if len(shape) == 2 else rewriter.value(Reshape(src=value, shape=shape[-2:]), value.hint)


def _sizes(op: Mma) -> tuple[int, int, int]:
    m, k = op.a.type.shape[-2:]
    return m, op.b.type.shape[-1], k


def choose(a: DType, b: DType, acc: DType, sizes: tuple[int, int, int], target: Target) -> Choice | None:
    """The tensor-core instruction for a product of these dtypes, None where plain multiply-adds do it."""
    operands: DType | None = None
    if a in _FP8:
        (record,) = _named(a, b, acc)
        if not (target.has_fp8_mma and target.ptx >= instruction(record).ptx and _fits(record, sizes)):
            a = b = operands = dt.float16
    if a is dt.float32:
        return None
    fitting = [record for record in _named(a, b, acc) if _fits(record, sizes)]
    return Choice(fitting[0], operands) if fitting else None


def _named(a: DType, b: DType, acc: DType) -> tuple[str, ...]:
    """The instructions, that with the longest k first."""
    types = _PTX_TYPE[acc], _PTX_TYPE[a], _PTX_TYPE[b]
    if a is dt.float64:
        return ("mma.m8n8k4.f64.f64",)
    if a in _EIGHT_BITS:
        return tuple(f"mma.m16n8k{k}.{types[0]}.{types[1]}.{types[2]}" for k in ((32,) if a in _FP8 else (32, 16)))
    return tuple(f"mma.m16n8k{k}.{types[0]}.{types[1]}" for k in ((8, 4) if a is dt.tfloat32 else (16, 8)))


def _fits(record: str, sizes: tuple[int, int, int]) -> bool:
    return all(size >= least for size, least in zip(sizes, instruction(record).facts["shape"], strict=True))


def fragment_of(record: str) -> Fragment:
    """The fragment of an instruction."""
    data = instruction(record).facts
    m, n, k = data["shape"]
    pack = {"f64": 1, "tf32": 1, "f16": 2, "bf16": 2}.get(str(data["a"]), 4)
    return Fragment(m, n, k, pack)


def _by_fma(rewriter: Rewriter, op: Mma) -> Value:
    """In the accumulator's format, float32 for float16 accumulators."""
    wanted = op.acc.type.dtype
    held = dt.float32 if wanted is dt.float16 else wanted
    a, b, acc = (_cast(rewriter, v, held) for v in (op.a, op.b, op.acc))
    return _cast(rewriter, rewriter.value(MmaFma(a=a, b=b, acc=acc)), wanted)


def _cast(rewriter: Rewriter, value: Value, dtype: DType) -> Value:
    return value if value.type.dtype is dtype else rewriter.value(Cast(src=value, dtype=dtype), value.hint)
