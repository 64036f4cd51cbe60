"""Functions of one tile: exp, sqrt, abs, negation, bitwise not, ..."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tilewright.frontend import folding, overloads
from tilewright.frontend.advice import on_number
from tilewright.frontend.calls.arith import number, zero_test
from tilewright.frontend.calls.constants import fold_typed
from tilewright.frontend.calls.options import check_rounding, flag
from tilewright.frontend.calls.registry import add_rule, call_rule
from tilewright.frontend.promotion import cast, computable, convert, dtype_of, of_operand, typed
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, known, named
from tilewright.tileir.core import OPS, Op, Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType, bool_, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, float32, int32, uint8
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.ops import math as ops
from tilewright.tileir.ops.arith import And, Xor
from tilewright.tileir.ops.convert import Bitcast

# Each function of floats is declared by its op: name, meaning for constants, options. No function is named here.
FLOAT_FUNCTIONS: dict[str, type[ops.FloatUnary]] = {
    name: op for name, op in OPS.items() if issubclass(op, ops.FloatUnary)
}


def unary(t: Translator, name: str, x: Val, **options: Any) -> Val:
    """A float function by name."""
    op = FLOAT_FUNCTIONS[name]
    x = number(name, x)
    constant = known(x)
    if is_loose(x):
        return folding.run(name, op.on_number, x)
    dtype = dtype_of(x)
    if not dtype.is_float:
        if not op.converts and constant is None:
            raise of_operand("x", TileTypeError(f"{name}: expected floats, got {named(x)}",
                                                hints=["cast with ct.astype(x, ct.float32)"]))
        dtype = float32
    fields = {k: v for k, v in options.items() if v is not None}
    if fields:
        check_rounding(name, name, dtype, options)
        if "form" in op.fields and options.get("rounding") not in (None, RoundingMode.APPROX):
            fields["form"] = Form.ACCURATE
    if constant is not None and dtype is not float8_e8m0fnu:
        computed = dtype if dtype.arithmetic else float32
        result = fold_typed(t, name, op, op.on_number, (constant,), computed, **fields)
        return stored(t, name, result, dtype)
    return stored(t, name, t.emit(op, src=computable(t, typed(t, x, dtype)), **fields), dtype)


def stored(t: Translator, what: str, result: Value, dtype: DType) -> Value:
    """The result of a function of `dtype`, which was computed in float32 where that format is for storage alone."""
    if dtype.arithmetic or result.type.dtype is bool_:
        return result
    if dtype is float8_e8m0fnu:
        # It has no rounding to nearest, and the rounding direction is unspecified.
        raise TileTypeError(f"{what}: {dtype} can be stored and converted but not computed with",
                            hints=["compute in another type: ct.astype(x, ct.float32)"])
    return cast(t, result, dtype)


def _rule_of(name: str, op: type[ops.FloatUnary]) -> Callable[..., Val]:
    """The call rule, whose options are those that the op has fields for."""

    def plain(t: Translator, x: Val, /) -> Val:
        return unary(t, name, x)

    def rounded(t: Translator, x: Val, /, *, rounding_mode: Val = None) -> Val:
        return unary(t, name, x, rounding=rounding_mode)

    def flushed(t: Translator, x: Val, /, *, flush_to_zero: Val = False) -> Val:
        return unary(t, name, x, ftz=flag(name, "flush_to_zero", flush_to_zero) or None)

    def both(t: Translator, x: Val, /, *, rounding_mode: Val = None, flush_to_zero: Val = False) -> Val:
        return unary(t, name, x, rounding=rounding_mode, ftz=flag(name, "flush_to_zero", flush_to_zero) or None)

    rules = {(False, False): plain, (True, False): rounded, (False, True): flushed, (True, True): both}
    return rules["rounding" in op.fields, "ftz" in op.fields]


for _name, _op in FLOAT_FUNCTIONS.items():
    add_rule(_name, _rule_of(_name, _op))


# -- Functions of any number -----------------------------------------------------------------------------------------


def _folded(t: Translator, x: Val, dtype: DType, what: str, fold: Callable[[Any], Any]) -> Val:
    """`fold` of a constant: loose stays loose, strict becomes a constant of `dtype`."""
    value = folding.run(what, fold, known(x))  # type: ignore[arg-type]
    return value if is_loose(x) else t.constant(convert(value, dtype), dtype)


# Conversions to these saturate, so that infinity would not survive a way through float32.
_SIGN_AND_BYTE = (float8_e4m3fn, float8_e5m2)


def _with_sign_bits(t: Translator, x: Value, op: type[Op], mask: int) -> Val:
    """Codes with their sign bit changed."""
    bits = t.emit(Bitcast, src=x, dtype=uint8)
    changed = t.emit(op, lhs=bits, rhs=t.constant(mask, uint8, x.type.shape))
    return t.emit(Bitcast, src=changed, dtype=x.type.dtype)


def negate(t: Translator, x: Val, what: str = "-") -> Val:
    """`-x`; a bool becomes int32 first."""
    x = number(what, x)
    dtype = int32 if dtype_of(x) is bool_ else dtype_of(x)
    if known(x) is not None:
        return _folded(t, x, dtype, what, operator.neg)
    if not dtype.has_sign:
        raise of_operand("x", TileTypeError(f"{what}: {dtype} has no negative values",
                                            hints=["compute in another type: ct.astype(x, ct.float32)"]))
    if dtype in _SIGN_AND_BYTE:
        return _with_sign_bits(t, x, Xor, 0x80)
    return stored(t, what, t.emit(ops.Neg, src=computable(t, typed(t, x, dtype))), dtype)


@call_rule("negative", operator.neg)
def negative(t: Translator, x: Val, /) -> Val:
    return negate(t, x, "negative")


@call_rule("positive", operator.pos)
def positive(t: Translator, x: Val, /) -> Val:
    x = number("+", x)
    if is_loose(x):
        return +x
    return typed(t, x, int32) if x.type.dtype is bool_ else x


@call_rule("abs", abs, operator.abs)
def absolute(t: Translator, x: Val, /) -> Val:
    found = overloads.called(t, "__abs__", x)
    if found:
        return found[0]
    x = number("abs", x)
    if known(x) is not None:
        return _folded(t, x, dtype_of(x), "abs", lambda v: v if isinstance(v, bool) else abs(v))
    dtype = x.type.dtype
    if dtype in _SIGN_AND_BYTE:
        return _with_sign_bits(t, x, And, 0x7F)
    return x if dtype is bool_ or not dtype.has_sign else stored(t, "abs", t.emit(ops.Abs, src=computable(t, x)), dtype)


@call_rule("bitwise_not")
def bitwise_not(t: Translator, x: Val, /) -> Val:
    return _inverted(t, x, "bitwise_not")


def _inverted(t: Translator, x: Val, what: str) -> Val:
    x = number(what, x)
    if dtype_of(x).is_float:
        message = f"{what}: expected integers or bools, got {named(x)}"
        raise of_operand("x", TileTypeError(message, hints=["compare first: ~(x > 0); or ct.bitcast(x, ct.int32)"]))
    if known(x) is not None:
        return _folded(t, x, dtype_of(x), what, lambda v: not v if isinstance(v, bool) else ~v)
    return t.emit(ops.Not, src=x)


@call_rule("invert", operator.invert)
def invert_rule(t: Translator, x: Val, /) -> Val:
    return invert(t, x, "invert")


def invert(t: Translator, x: Val, what: str = "~") -> Val:
    """`~x`."""
    if isinstance(x, bool):
        raise TileTypeError(f"{what}: not possible on a bool constant", hints=["write not x"])
    return _inverted(t, x, what)


@call_rule("logical_not", operator.not_)
def logical_not(t: Translator, x: Val, /) -> Val:
    """`not x`: element-wise on tiles."""
    if x is None:
        raise of_operand("x", TileTypeError("not: expected a bool, a number or a tile, got None",
                                            hints=["write x is None"]))
    constant = known(x)
    if constant is not None:
        return not constant if is_loose(x) else t.constant(not constant, bool_)
    if isinstance(x, (str, tuple)):
        return not x
    if not is_tile(x):
        message = f"not: expected a bool, a number or a tile, got {named(x)}"
        raise of_operand("x", TileTypeError(message, hints=on_number(x)))
    value: Value = x
    return zero_test(t, value)
