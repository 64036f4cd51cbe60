"""Select the instruction of each matrix multiply on the target, and convert operands where it needs that.

    before: %y: tile<128x128xf32> = mma(a=%ta, b=%tb, acc=%x)                               // bfloat16 operands
    after:  %y: tile<128x128xf32> = mma_sync(a=%ta, b=%tb, acc=%x, instruction="mma.m16n8k16.f32.bf16")

Tiles smaller than an instruction's are padded in registers (layouts/mma.py). A few rows are computed as columns of the
transpose, which may be fewer: mma_sync(..., swapped=true). MMAs of float32 operands (which mean float32, not tfloat32),
and the smallest ones, for which it takes fewer cycles, become `mma_fma`, with operands converted to the accumulator's
format; that is exact for every operand format. 8-bit floats become float16, which represents them exactly, if no
tensor-core instruction takes them. If the target has wgmma, MMAs of at least 64 rows become `wgmma`:

    after:  %y: tile<128x128xf32> = wgmma(a=%ta, b=%tb, acc=%x, kind="bf16")

Where an operand lies along m or n, and wgmma reads it along k only, threads read it into the registers of A; for B that
is the transpose, between permutations, which loops then carry:

    after:  %y: tile<128x128xf32> = wgmma(a=%tbT, b=%taT, acc=%xT, kind="tf32", rows_in_pairs=true)

A target lists its matrix units, preferred ones first (`Target.matrix_units`); `SELECTIONS` has a rule for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.instructions.warpgroup import KINDS
from tilewright.backend_ptx.layouts.warpgroup import WARPS
from tilewright.backend_ptx.ops.matmul import MmaFma, MmaSync, Product
from tilewright.backend_ptx.ops.warpgroup import Wgmma
from tilewright.backend_ptx.passes.matmul.choice import FP8, choose, sizes_of, warpgroup_kind
from tilewright.backend_ptx.passes.matmul.operands import dense_axis, is_of_sums
from tilewright.backend_ptx.passes.pipelining.legality import tma_reason
from tilewright.backend_ptx.resources.ladder import DEPTH
from tilewright.backend_ptx.resources.pipes import fma_cycles
from tilewright.tileir import dtypes as dt
from tilewright.tileir.analysis.depth_left import depth_left
from tilewright.tileir.analysis.moved import is_moved_only, load_of, source_of
from tilewright.tileir.analysis.unit import ALL, NONE, Preserved
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Permute, Reshape
from tilewright.tileir.passes.canonicalise import canonicalise
from tilewright.tileir.passes.carry_permuted import carry_permuted
from tilewright.tileir.passes.loop_over_depth import loop_over_depth
from tilewright.tileir.rewrite import Rewriter, rewrite

Selection = Callable[[Rewriter, Mma, Compilation], Value | None]


class Across(NamedTuple):
    """The kind of a wgmma whose A threads hold; `swapped`: it computes the transpose, b^T a^T; `pairs`: A lies along
    m."""

    kind: str
    swapped: bool
    pairs: bool = True


# Elements of accumulators from which MMAs of padding take longer than the branches around them. On an H100, of the time
# without: 3000x5008x776 by 128x256x64 0.97, by 256x256x64 0.96, x824 1.01; 2000x2000x200 0.94; 1000x1032 by 128x128x64,
# with 520 to 1000 deep, 0.99 to 1.02.
LONG = 32768


def select_instructions(c: Compilation) -> Preserved:
    """Afterwards there is no `mma`."""
    if not c.has(Mma):
        return ALL
    most = c.limits.max_depth
    loop_over_depth(c, most or DEPTH, None if most else c.target.shared_per_sm // 2)
    every = [op for op in c.function.walk() if isinstance(op, Mma)]
    across = _agreeing({op: found for op in every if (found := _read_across(op, c))}, every)
    batches = any(len(op.acc.type.shape) > 2 for op in every)
    rewrite(c.function, {Mma: lambda rewriter, op: _rule(rewriter, op, c, across)})
    if batches or any(found.swapped for found in across.values()):
        c.forget()
        carry_permuted(c)
    if batches:  # what is computed with a sum comes before its axes of length 1
        canonicalise(c)
    return NONE


def _read_across(op: Mma, c: Compilation) -> Across | None:
    """How a wgmma computes a product of which one operand lies along m or n, where the unit takes k alone from shared
    memory: as its A, which threads read into registers from where TMA has put it."""
    def lies(value: Value, axis: int) -> bool:
        load = source_of(value)[0].op
        return (isinstance(load, Load) and dense_axis(value) == len(value.type.shape) + axis
                and c.homes[load] is c.homes[op] and not tma_reason(load, c))

    kind, other = (_kind(op, c, swapped) for swapped in (False, True))
    if kind is None or not isinstance(next(iter(c.around(op)), None), (For, While)):
        return None
    if KINDS[kind].transposes:
        return _computed(op, c, kind, other)
    if lies(op.a, -2):
        return Across(kind, False)
    return Across(other, True) if other is not None and is_moved_only(op.a) and lies(op.b, -1) else None


def _computed(op: Mma, c: Compilation, kind: str, other: str | None) -> Across | None:
    """The same of an operand that threads compute in a loop that adds up products. In registers it is where they have
    it; as B it would go through shared memory, where all warps had to wait for it."""
    a, b = (None if is_moved_only(v) else load_of(v)[0] for v in (op.a, op.b))
    swapped, load, value, axis = a is None, a or b, op.b if a is None else op.a, -1 if a is None else -2
    if load is None or c.homes[load] is not c.homes[op] or tma_reason(load, c):
        return None
    if not (op.acc.op is None or isinstance(op.acc.op, Mma)):  # what an iteration computes anew, it uses as it is
        return None
    pairs = load.array.type.dtype.bytes == 1 and dense_axis(value) == len(value.type.shape) + axis
    if swapped:
        return Across(other, True, pairs) if other is not None and is_moved_only(op.a) else None
    return Across(kind, False, True) if pairs else None


def _agreeing(across: Mapping[Mma, Across], every: Sequence[Mma]) -> Mapping[Mma, Across]:
    """Without those of sums of which another product is no transpose."""
    swapped = {op for op, found in across.items() if found.swapped}
    pairs = [(op, op.acc.op) for op in every if isinstance(op.acc.op, Mma)]
    odd = {op for pair in pairs for op in pair if (pair[0] in swapped) is not (pair[1] in swapped)}
    return _agreeing({op: across[op] for op in across if op not in odd}, every) if odd & across.keys() else across


def _kind(op: Mma, c: Compilation, swapped: bool = False) -> str | None:
    """The kind of wgmma that computes an MMA, if the target has it and the hints ask for whole warpgroups."""
    there = _by_warpgroups in map(SELECTIONS.get, c.target.matrix_units)
    whole = (c.hints.num_worker_warps or WARPS) % WARPS == 0
    return warpgroup_kind(op, c.target, swapped) if there and whole else None


def _rule(rewriter: Rewriter, op: Mma, c: Compilation, across: Mapping[Mma, Across]) -> None:
    if op in across:
        rewriter.replace(op.result, _across(rewriter, op, *across[op]))
        return
    for name in c.target.matrix_units:
        made = SELECTIONS[name](rewriter, op, c)
        if made is not None:
            rewriter.replace(op.result, made)
            return
    raise AssertionError(f"no matrix unit of {c.target} computes {op.acc.type}")


def _by_warps(rewriter: Rewriter, op: Mma, c: Compilation) -> Value | None:
    choice, sizes, (held, dtype) = choose(op, c.target), sizes_of(op), (op.acc.type.dtype, op.a.type.dtype)
    if choice is None:
        c.decide(decisions.multiply_adds(sizes, decisions.FLOAT32_OPERANDS, op.span))
        return None
    batch = op.acc.type.size // (sizes[0] * sizes[1])
    others = fma_cycles(sizes, batch, dtype.bytes, held is dt.float64, c.target)
    if others < choice.cycles:
        why = decisions.FEWER_CYCLES.format(others, choice.cycles, choice.instruction)
        c.decide(decisions.multiply_adds(sizes, why, op.span))
        return None
    a, b = (_cast(rewriter, v, choice.operands or v.type.dtype) for v in (op.a, op.b))
    return rewriter.value(MmaSync(a=a, b=b, acc=op.acc, instruction=choice.instruction, swapped=choice.swapped))


def _by_warpgroups(rewriter: Rewriter, op: Mma, c: Compilation) -> Value | None:
    """wgmma has no batch axes; those of length 1 are dropped.

    Tensor cores of sm_90 accumulate products of 8-bit floats with 13 fractional bits (arXiv 2412.19437, section 3.3.2).
    Unless use_fast_acc allows that for all of k, threads add the product of each tile to the accumulator in float32.
    """
    kind = _kind(op, c)
    if kind is None:
        return None
    a, b, acc = (_flat(rewriter, v) for v in (op.a, op.b, op.acc))
    # Threads that turn b anyway put it in the order of k in which they hold a.
    of_sums = a.type.dtype.bytes == 1 and dense_axis(b) == 1 and is_of_sums(a)
    left = depth_left(rewriter, op) if acc.type.size >= LONG else None
    return _in_shape(rewriter, _started(rewriter, op, acc, a=a, b=b, kind=kind, k_of_sums=of_sums, left=left), op)


def _across(rewriter: Rewriter, op: Mma, kind: str, swapped: bool, pairs: bool) -> Value:
    a, b, acc = (_flat(rewriter, v) for v in (op.a, op.b, op.acc))
    if swapped:
        b, a = (rewriter.value(Permute(src=v, axes=(1, 0)), v.hint) for v in (a, b))
        before = acc.op.src if isinstance(acc.op, Permute) else acc
        other = isinstance(before.op, Product) and before.op.unit.asynchronous  # which adds to the same sum
        acc = before if other else rewriter.value(Permute(src=acc, axes=(1, 0)), acc.hint)
    made = _started(rewriter, op, acc, a=a, b=b, kind=kind, rows_in_pairs=pairs)
    return _in_shape(rewriter, rewriter.value(Permute(src=made, axes=(1, 0))) if swapped else made, op)


def _started(rewriter: Rewriter, op: Mma, acc: Value, **given: Any) -> Value:
    if op.a.type.dtype not in FP8 or op.fast_acc:
        return rewriter.value(Wgmma(acc=acc, **given))
    zero = rewriter.value(Constant(value=0.0, type=acc.type.erased()))
    return rewriter.value(Add(lhs=acc, rhs=rewriter.value(Wgmma(acc=zero, **given))))


def _in_shape(rewriter: Rewriter, value: Value, op: Mma) -> Value:
    shape = op.acc.type.shape
    return value if value.type.shape == shape else rewriter.value(Reshape(src=value, shape=shape))


def _flat(rewriter: Rewriter, value: Value) -> Value:
    shape = value.type.shape
    return value if len(shape) == 2 else rewriter.value(Reshape(src=value, shape=shape[-2:]), value.hint)


def _by_threads(rewriter: Rewriter, op: Mma, c: Compilation) -> Value:
    """In the accumulator's format, float32 for float16 accumulators."""
    wanted = op.acc.type.dtype
    held = dt.float32 if wanted is dt.float16 else wanted
    a, b, acc = (_cast(rewriter, v, held) for v in (op.a, op.b, op.acc))
    return _cast(rewriter, rewriter.value(MmaFma(a=a, b=b, acc=acc)), wanted)


def _cast(rewriter: Rewriter, value: Value, dtype: DType) -> Value:
    return value if value.type.dtype is dtype else rewriter.value(Cast(src=value, dtype=dtype), value.hint)


# A rule for each matrix unit: it gives the result of an MMA, or None if the unit cannot compute it.
SELECTIONS: dict[str, Selection] = {"wgmma": _by_warpgroups, "mma.sync": _by_warps, "fma": _by_threads}
