"""Emitters of arithmetic, comparisons, bits and selection (interp/handlers/arith.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.interp.formats import constant as held_constant
from tilewright.interp.handlers.arith import power_of_two
from tilewright.interp.jit.emit import EMITTERS, NEAREST, Emit, Emitter, Name, double, register
from tilewright.tileir import dtypes as dt
from tilewright.tileir.ops import arith


@EMITTERS.register(arith.Constant)
def constant(op: arith.Constant, e: Emitter, args: list[Name]) -> Name:
    dtype = op.type.dtype
    if dtype.is_float:
        return double(float(held_constant(op.value, dtype)))
    return str(op.value).lower() if dtype.is_bool else str(op.value)


def _nearest(op: Any) -> bool:
    """Is this the rounding of the CPU?"""
    return op.rounding in NEAREST and not op.ftz


def _binary(of_float: str, of_int: str | None) -> Emit:
    def rule(op: Any, e: Emitter, args: list[Name]) -> Name | None:
        dtype = op.lhs.type.dtype
        if not dtype.is_float:
            return None if of_int is None or dtype.is_bool else e(f"{of_int} {register(dtype)} {args[0]}, {args[1]}")
        if not _nearest(op):
            return None
        wide = e(f"{of_float} {register(dtype)} {args[0]}, {args[1]}")
        if dtype is dt.bfloat16 and of_float in ("fmul", "fdiv"):
            # float32 itself rounds below its normal range, so its result may be rounded twice.
            small = e(f"fcmp olt float {e.call('llvm.fabs.f32', 'float', wide)}, {double(2.0**-126)}")
            e.doubtful(e(f"and i1 {small}, {e(f'fcmp one float {wide}, 0.0')}"))
        return e.rounded(wide, dtype)
    return rule


EMITTERS.add(arith.Add, _binary("fadd", "add"))
EMITTERS.add(arith.Sub, _binary("fsub", "sub"))
EMITTERS.add(arith.Mul, _binary("fmul", "mul"))
EMITTERS.add(arith.Div, _binary("fdiv", None))


@EMITTERS.register(arith.Fma)
def fma(op: arith.Fma, e: Emitter, args: list[Name]) -> Name | None:
    dtype = op.a.type.dtype
    if not _nearest(op):
        return None
    if dtype in (dt.float32, dt.float64):
        return e.call(f"llvm.fma.f{dtype.bitwidth}", register(dtype), *args)
    a, b, c = (e.wide(x) for x in args)
    product = e(f"fmul double {a}, {b}")  # exact
    total = e(f"fadd double {product}, {c}")
    return e.nearest(_odd_sum(e, product, c, total), dtype)


def _odd_sum(e: Emitter, a: Name, b: Name, s: Name) -> Name:
    """a + b rounded to odd, where s is that sum rounded to nearest (rounding.two_sum, rounding.to_odd)."""
    t = e(f"fsub double {s}, {a}")
    left = e.do("fsub double", a, e.do("fsub double", s, t))
    error = e.do("fadd double", left, e.do("fsub double", b, t))
    bits = e.bits(s, "double")
    even = e(f"icmp eq i64 {e(f'and i64 {bits}, 1')}, 0")
    finite = e(f"fcmp one double {e.call('llvm.fabs.f64', 'double', s)}, {double(float('inf'))}")
    fix = e(f"and i1 {e(f'and i1 {even}, {finite}')}, {e(f'fcmp one double {error}, 0.0')}")
    signs = e(f"fcmp ogt double {error}, 0.0"), e(f"fcmp ogt double {s}, 0.0")
    step = e.select(e(f"icmp eq i1 {signs[0]}, {signs[1]}"), "i64", "1", "-1")
    return e.bits(e.select(fix, "i64", e(f"add i64 {bits}, {step}"), bits), "i64")


@EMITTERS.register(arith.FloorDiv)
def floordiv(op: arith.FloorDiv, e: Emitter, args: list[Name]) -> Name | None:
    dtype, shift = op.lhs.type.dtype, power_of_two(op.rhs)
    if shift is None or not dtype.is_int:
        return None
    return e(f"{'ashr' if dtype.is_signed else 'lshr'} {register(dtype)} {args[0]}, {shift}")


@EMITTERS.register(arith.Mod)
def mod(op: arith.Mod, e: Emitter, args: list[Name]) -> Name | None:
    dtype, shift = op.lhs.type.dtype, power_of_two(op.rhs)
    if shift is None or not dtype.is_int:
        return None
    return e(f"and {register(dtype)} {args[0]}, {(1 << shift) - 1}")


def _extreme(order: str, zeros: str) -> Emit:
    """`zeros` combines the bits of equal operands, which differ at most in the sign of a zero."""
    def rule(op: Any, e: Emitter, args: list[Name]) -> Name | None:
        a, b = args
        dtype = op.lhs.type.dtype
        type_ = register(dtype)
        if not dtype.is_float:
            sign = "s" if dtype.is_signed else "u"
            return e.select(e(f"icmp {sign}{order} {type_} {a}, {b}"), type_, a, b)
        if op.ftz:
            return None
        one, other = e.bits(a, type_), e.bits(b, type_)
        ints = "i64" if type_ == "double" else "i32"
        same = e.bits(e(f"{zeros} {ints} {one}, {other}"), ints)
        out = e.select(e(f"fcmp o{order} {type_} {a}, {b}"), type_, a, b)
        out = e.select(e(f"fcmp oeq {type_} {a}, {b}"), type_, same, out)
        for x, chosen in ((b, b), (a, a)) if op.propagate_nan else ((b, a), (a, b)):
            out = e.select(e.nan(x, type_), type_, chosen, out)
        return out
    return rule


EMITTERS.add(arith.Max, _extreme("gt", "and"))
EMITTERS.add(arith.Min, _extreme("lt", "or"))


def _bits(instruction: str) -> Emit:
    return lambda op, e, args: e(f"{instruction} {register(op.lhs.type.dtype)} {args[0]}, {args[1]}")


EMITTERS.add(arith.And, _bits("and"))
EMITTERS.add(arith.Or, _bits("or"))
EMITTERS.add(arith.Xor, _bits("xor"))


def _shift(of: Callable[[Any], str]) -> Emit:
    def rule(op: Any, e: Emitter, args: list[Name]) -> Name | None:
        dtype = op.lhs.type.dtype
        type_ = register(dtype)
        return e(f"{of(dtype)} {type_} {args[0]}, {e(f'and {type_} {args[1]}, {dtype.bitwidth - 1}')}")
    return rule


EMITTERS.add(arith.Shl, _shift(lambda dtype: "shl"))
EMITTERS.add(arith.Shr, _shift(lambda dtype: "ashr" if dtype.is_signed else "lshr"))


def _compare(word: str) -> Emit:
    def rule(op: Any, e: Emitter, args: list[Name]) -> Name | None:
        dtype = op.lhs.type.dtype
        if dtype.is_float:
            how = f"fcmp {'u' if word == 'ne' else 'o'}{word}"
        else:
            how = f"icmp {word if word in ('eq', 'ne') else ('s' if dtype.is_signed else 'u') + word}"
        return e(f"{how} {register(dtype)} {args[0]}, {args[1]}")
    return rule


for _compared in (arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge):
    EMITTERS.add(_compared, _compare(_compared.opcode))


@EMITTERS.register(arith.Select)
def select(op: arith.Select, e: Emitter, args: list[Name]) -> Name:
    return e.select(args[0], register(op.lhs.type.dtype), args[1], args[2])
