"""Changes of dtype."""

from __future__ import annotations

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import directed, integers, narrow, small_integers
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.floats import extended, isnan
from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.ops.matmul import left_outstanding
from tilewright.backend_ptx.resources.registers import STRIP
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.recomputation import is_widening
from tilewright.tileir.core import Op
from tilewright.tileir.dtypes import DType, bfloat16, float16, float32, tfloat32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import convert as ops

_SIZE = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


@lower(ops.Cast)
def cast(ctx: Context, op: ops.Cast) -> None:
    ctx.set(op.result, rounded(ctx, op) or converted(
        ctx.b, ctx.target, ctx[op.src], op.src.type.dtype, op.dtype, op.rounding))


def rounded(ctx: Context, op: Op) -> Val | None:
    """What is rounded to bfloat16 for nothing but float32 again, by one instruction for each element: pairs would have
    to be taken apart. None for others, and where what is to be rounded would stay in many registers meanwhile; sums of
    a product are in registers."""
    narrow = op.operands[0]
    rounds = narrow.op
    if (is_widening(op) and isinstance(rounds, ops.Cast) and ctx[narrow].n <= STRIP and len(ctx.uses[narrow]) == 1
            and rounds.src.type.dtype is float32 and rounds.rounding is RoundingMode.RN
            and ctx.homes[rounds] is ctx.homes[op]
            and (rounds.src in ctx or (rounds.src.op and left_outstanding(rounds.src.op) is not None))):
        one = instruction("cvt.rn.bf16.f32")
        return ctx.b.each(lambda x: ctx.b.bitcast(one.emit1(ctx.b, x), "float"), ctx[rounds.src])
    return None


@lower(ops.Bitcast)
def bitcast(ctx: Context, op: ops.Bitcast) -> None:
    ctx.set(op.result, ctx.b.bitcast(ctx[op.src], elem_of(op.dtype)))


def converted(b: Builder, target: Target, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    """A fragment of dtype `source` as `dest`."""
    if source is dest:
        return v
    if dest is tfloat32 and source in (float32, float16, bfloat16):
        record = _TF32.get(rounding)
        if record is not None and instruction(record).sm <= target.sm:
            return _to_tf32(b, b.cast("fpext", v, "float") if v.elem != "float" else v, record)
    if source.is_float:
        return _from_float(b, target, v, source, dest, rounding)
    return _from_int(b, target, v, source, dest, rounding)


# Where the target has it, one instruction rounds to tf32; narrow.to_tf32 needs six.
_TF32 = {RoundingMode.RN: "cvt.rn.tf32.f32", RoundingMode.RA: "cvt.rna.tf32.f32"}


def _to_tf32(b: Builder, v: Val, record: str) -> Val:
    return b.each(lambda x: b.bitcast(instruction(record).emit1(b, x), "float"), v)


def _from_int(b: Builder, target: Target, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    if dest.is_bool:
        return b.icmp("ne", v, 0)
    signed, elem = source.is_signed, elem_of(dest)
    if dest.is_int:
        return integers.resized(b, v, signed, elem)
    if source.bitwidth == 8 and elem in ("half", "bfloat") and (places := small_integers.places_in_words(v)):
        return small_integers.to_float(b, places, signed, elem)
    if source.bitwidth >= 32 and dest in (bfloat16, tfloat32):
        v = directed.int_to_odd(b, v, signed)
    else:
        if elem == "half" and source.bitwidth == 64:
            # 2**17 is beyond float16; the clamped value is exact in 32 bits and rounds to the same.
            v = b.cast("trunc", integers.clamped(b, v, -1 << 17, 1 << 17, signed), "i32")
        # Integers that float32 cannot hold are far above the largest float8; bfloat16 gets at most 16 bits here.
        exact = elem if elem in ("half", "double") else "float"
        v = b.cast("sitofp" if signed else "uitofp", v, exact)
    if dest is tfloat32:
        return narrow.to_tf32(b, v, rounding)
    return narrow.from_f32(b, dest, v, target) if elem == "i8" else b.cast("fptrunc", v, elem)


def _from_float(b: Builder, target: Target, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    if v.elem == "i8":
        v = narrow.to_float(b, source, v, target)
    if dest.is_bool:
        return b.fcmp("une", extended(b, v), 0.0)
    if dest.is_int:
        return float_to_int(b, v, dest)
    return _float_to_float(b, target, v, source, dest, rounding)


def _float_to_float(b: Builder, target: Target, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    elem = elem_of(dest)
    if elem == "i8":
        return narrow.from_f32(b, dest, _as_f32(b, v), target, rounding)
    if dest is tfloat32:
        return narrow.to_tf32(b, _tf32_source(b, v, rounding), rounding)
    if _SIZE[v.elem] < _SIZE[elem]:
        pairs = v.elem == "bfloat" and elem == "float" and v.const is None and v.n and v.n % 2 == 0
        return _unpacked(b, v) if pairs else b.cast("fpext", v, elem)
    if v.elem == elem:
        return v
    if _SIZE[v.elem] == _SIZE[elem]:  # float16 and bfloat16: exact in float32
        v = b.cast("fpext", v, "float")
    return directed.narrow(b, v, elem, rounding)


def _unpacked(b: Builder, v: Val) -> Val:
    """Pairs of bfloat16 as float32, whose upper half a bfloat16 is. ptxas takes a pair apart first for `cvt`, which
    costs one instruction more for the upper one."""
    words = b.bitcast(v, "i32", v.n // 2)
    low, high = b.shl(words, 16), b.and_(words, 0xFFFF0000)
    both = b.shuffle(low, [i // 2 + (i % 2) * words.n for i in range(v.n)], high)
    return b.bitcast(both, "float")


def _as_f32(b: Builder, v: Val) -> Val:
    """float32 from which one more rounding gives the right float8: exact, or rounded to odd."""
    if v.elem == "double":
        return directed.round_to_odd(b, v)
    return b.cast("fpext", v, "float")


def _tf32_source(b: Builder, v: Val, rounding: RoundingMode) -> Val:
    if v.elem == "double":
        return directed.narrow(b, v, "float", RoundingMode.RZ) if rounding is RoundingMode.RZ else _as_f32(b, v)
    return b.cast("fpext", v, "float")


def float_to_int(b: Builder, v: Val, dest: DType) -> Val:
    """Truncate toward zero; out of range gives the nearest end, NaN 0.

    cvt.rzi saturates by itself, to 32 and 64 bits; narrower results are clamped after it. NaN becomes 0 by itself
    only for a float32 source and a 32-bit destination (PTX ISA, cvt). LLVM's fptosi is the same instruction, but
    poison for all that is NaN or out of range, so that LLVM drops choices which give such values.
    """
    elem, (low, high) = elem_of(dest), dest.int_range
    if v.const is not None:
        return b.const(elem, 0 if v.const != v.const else int(min(max(v.const, low), high)), v.n)
    v = extended(b, v)
    wide = "i64" if dest.bitwidth == 64 else "i32"
    name = f"llvm.nvvm.{v.elem[0]}2{directed.int_word(wide, dest.is_signed)}.rz"
    value = b.each(lambda x: b.call(name, wide, [x]), v)
    if v.elem == "double" or wide == "i64":
        value = b.select(isnan(b, v), b.like(value, 0), value)
    if dest.bitwidth < 32:
        value = integers.clamped(b, value, low, high, dest.is_signed)
    return b.cast("trunc", value, elem)
