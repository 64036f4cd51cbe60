"""Changes of dtype."""

from __future__ import annotations

from tilewright.backend_ptx.instructions.table import instruction
from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower import directed, narrow
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.floats import isnan
from tilewright.backend_ptx.lower.fragments import elem_of
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.dtypes import DType, bfloat16, float16, float32, tfloat32
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import convert as ops

_SIZE = {"half": 16, "bfloat": 16, "float": 32, "double": 64}


@lower(ops.Cast)
def cast(ctx: Context, op: ops.Cast) -> None:
    ctx.set(op.result, converted(ctx.b, ctx.target, ctx[op.src], op.src.type.dtype, op.dtype, op.rounding))


@lower(ops.Bitcast)
def bitcast(ctx: Context, op: ops.Bitcast) -> None:
    ctx.set(op.result, ctx.b.bitcast(ctx[op.src], elem_of(op.dtype)))


def converted(b: Builder, target: Target, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    """A fragment of dtype `source` as `dest`."""
    if source is dest:
        return v
    for dtype in (source, dest):
        if elem_of(dtype) == "i8" and dtype.is_float:
            narrow.check_supported(dtype, target, dtype is dest)
    if dest is tfloat32 and source in (float32, float16, bfloat16):
        record = _TF32.get(rounding)
        if record is not None and instruction(record).sm <= target.sm:
            return _to_tf32(b, b.cast("fpext", v, "float") if v.elem != "float" else v, record)
    if source.is_float:
        return _from_float(b, target, v, source, dest, rounding)
    return _from_int(b, v, source, dest, rounding)


# Where the target has it, one instruction rounds to tf32; narrow.to_tf32 needs six.
_TF32 = {RoundingMode.RN: "cvt.rn.tf32.f32", RoundingMode.RA: "cvt.rna.tf32.f32"}


def _to_tf32(b: Builder, v: Val, record: str) -> Val:
    return b.each(lambda x: b.bitcast(instruction(record).emit1(b, x), "float"), v)


def _from_int(b: Builder, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    if dest.is_bool:
        return b.icmp("ne", v, 0)
    if dest.is_int:
        return _int_to_int(b, v, source, dest)
    signed = source.is_signed
    elem = elem_of(dest)
    if dest is bfloat16 and source.bitwidth >= 32:
        return b.cast("fptrunc", directed.int_to_odd(b, v, signed), elem)
    if dest is tfloat32 and source.bitwidth >= 32:
        return narrow.to_tf32(b, directed.int_to_odd(b, v, signed), rounding)
    word = "sitofp" if signed else "uitofp"
    if elem in ("half", "float", "double"):
        if elem == "half" and source.bitwidth == 64:
            # 2**17 is beyond float16; the clamped value is exact in 32 bits and rounds to the same.
            v = _clamped(b, v, signed, 1 << 17)
        value = b.cast(word, v, elem)
        return narrow.to_tf32(b, value, rounding) if dest is tfloat32 else value
    # Integers that float32 cannot hold are far above the largest float8; bfloat16 gets at most 16 bits here.
    value = b.cast(word, v, "float")
    return b.cast("fptrunc", value, elem) if elem == "bfloat" else narrow.from_f32(b, dest, value)


def _clamped(b: Builder, v: Val, signed: bool, bound: int) -> Val:
    if signed:
        v = b.intrinsic("llvm.smax", [v, b.like(v, -bound)])
        return b.cast("trunc", b.intrinsic("llvm.smin", [v, b.like(v, bound)]), "i32")
    return b.cast("trunc", b.intrinsic("llvm.umin", [v, b.like(v, bound)]), "i32")


def _int_to_int(b: Builder, v: Val, source: DType, dest: DType) -> Val:
    elem = elem_of(dest)
    if source.bitwidth == dest.bitwidth:
        return v
    if source.bitwidth > dest.bitwidth:
        return b.cast("trunc", v, elem)
    return b.cast("sext" if source.is_signed else "zext", v, elem)


def _from_float(b: Builder, target: Target, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    if v.elem == "i8":
        v = narrow.to_float(b, source, v, target)
    if dest.is_bool:
        wide = b.cast("fpext", v, "float") if _SIZE[v.elem] == 16 else v
        return b.fcmp("une", wide, 0.0)
    if dest.is_int:
        return float_to_int(b, v, dest)
    return _float_to_float(b, v, source, dest, rounding)


def _float_to_float(b: Builder, v: Val, source: DType, dest: DType, rounding: RoundingMode) -> Val:
    elem = elem_of(dest)
    if elem == "i8":
        return narrow.from_f32(b, dest, _as_f32(b, v), rounding)
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
    if v.const is not None:
        return b.const(elem_of(dest), _saturated(float(v.const), dest), v.n)
    if v.elem in ("half", "bfloat"):
        v = b.cast("fpext", v, "float")
    elem = "i64" if dest.bitwidth == 64 else "i32"
    name = f"llvm.nvvm.{_TO_INT[v.elem, elem, dest.is_signed]}.rz"
    value = b.each(lambda x: b.value_call(name, elem, [x]), v)
    if v.elem == "double" or elem == "i64":
        value = b.select(isnan(b, v), b.like(value, 0), value)
    if dest.bitwidth >= 32:
        return value
    low, high = dest.int_range
    if dest.is_signed:
        value = b.intrinsic("llvm.smax", [value, b.like(value, low)])
        value = b.intrinsic("llvm.smin", [value, b.like(value, high)])
    else:
        value = b.intrinsic("llvm.umin", [value, b.like(value, high)])
    return b.cast("trunc", value, elem_of(dest))


_TO_INT = {
    ("float", "i32", True): "f2i", ("float", "i32", False): "f2ui", ("float", "i64", True): "f2ll",
    ("float", "i64", False): "f2ull", ("double", "i32", True): "d2i", ("double", "i32", False): "d2ui",
    ("double", "i64", True): "d2ll", ("double", "i64", False): "d2ull",
}


def _saturated(value: float, dest: DType) -> int:
    if value != value:
        return 0
    low, high = dest.int_range
    return low if value <= low else high if value >= high else int(value)
