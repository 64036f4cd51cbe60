"""Binary arithmetic, comparison and bitwise functions and operators; `where`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.frontend import advice, folding
from tilewright.frontend.calls.constants import fold_typed
from tilewright.frontend.calls.options import check_rounding, flag
from tilewright.frontend.calls.registry import add_rule, call_rule
from tilewright.frontend.promotion import (
    BOOL,
    FLOAT,
    INT,
    broadcast,
    category,
    check_range,
    common_dtype,
    common_shape,
    computable,
    convert,
    dtype_of,
    no_common_dtype,
    of_operand,
    typed,
)
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, known, named
from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType, bool_, float32, int8, int16, int32, uint8, uint16
from tilewright.tileir.enums import Form
from tilewright.tileir.ops import arith as ops
from tilewright.tileir.ops.math import Not

Number = bool | int | float


@dataclass(frozen=True, slots=True)
class Binary:
    """How a binary function promotes (`kind`), folds and is spelled in the IR."""

    kind: str  # "arithmetic", "divide", "compare", "bitwise", "shift", "integer", "float"
    op: type[Op]
    fold: Callable[[Any, Any], Any]


BINARY: dict[str, Binary] = {
    "add": Binary("arithmetic", ops.Add, operator.add),
    "sub": Binary("arithmetic", ops.Sub, operator.sub),
    "mul": Binary("arithmetic", ops.Mul, operator.mul),
    "truediv": Binary("divide", ops.Div, operator.truediv),
    "floordiv": Binary("arithmetic", ops.FloorDiv, operator.floordiv),
    "cdiv": Binary("integer", ops.CeilDiv, folding.ceil_div),
    "mod": Binary("arithmetic", ops.Mod, operator.mod),
    "minimum": Binary("arithmetic", ops.Min, folding.minimum),
    "maximum": Binary("arithmetic", ops.Max, folding.maximum),
    "atan2": Binary("float", ops.Atan2, math.atan2),
    "bitwise_and": Binary("bitwise", ops.And, operator.and_),
    "bitwise_or": Binary("bitwise", ops.Or, operator.or_),
    "bitwise_xor": Binary("bitwise", ops.Xor, operator.xor),
    "bitwise_lshift": Binary("shift", ops.Shl, folding.shift_left),
    "bitwise_rshift": Binary("shift", ops.Shr, operator.rshift),
    "equal": Binary("compare", ops.Eq, operator.eq),
    "not_equal": Binary("compare", ops.Ne, operator.ne),
    "less": Binary("compare", ops.Lt, operator.lt),
    "less_equal": Binary("compare", ops.Le, operator.le),
    "greater": Binary("compare", ops.Gt, operator.gt),
    "greater_equal": Binary("compare", ops.Ge, operator.ge),
}


def number(what: str, value: Val, argument: str = "x", other: Val = None) -> Any:
    """An operand: a tile or a loose constant as a plain number. `argument` is its name, `other` the second operand."""
    if is_tile(value):
        return value
    if is_loose(value):
        return folding.plain(value)
    message = f"expected a tile or a number, got {named(value)}"
    raise of_operand(argument, TileTypeError(f"{what}: {message}", hints=advice.on_number(value, other)))


def numbers(what: str, x: Val, y: Val) -> tuple[Any, Any]:
    """Both operands of a binary function."""
    return number(what, x, "x", y), number(what, y, "y", x)


def binary(t: Translator, name: str, x: Val, y: Val, what: str = "", **options: Any) -> Val:
    """`x op y` with promotion, broadcasting and folding; `what` is how the user wrote the operation."""
    spec = BINARY[name]
    what = what or name
    x, y = numbers(what, x, y)
    if is_loose(x) and is_loose(y):
        if spec.kind in ("bitwise", "shift", "integer"):
            _refuse_floats(what, x, y, bools=spec.kind != "shift")
        return folding.run(what, spec.fold, x, y)
    dtype = operand_dtype(what, spec.kind, x, y)
    fields = {k: v for k, v in options.items() if v is not None}
    if fields:
        check_rounding(what, name, dtype, options)
    left, right = known(x), known(y)
    if left is not None and right is not None:
        return fold_typed(t, what, spec.op, spec.fold, (left, right), dtype, **fields)
    if "rounding" in fields and "form" in spec.op.fields:
        fields["form"] = Form.ACCURATE
    shape = common_shape(what, x, y)
    lhs, rhs = (broadcast(t, computable(t, typed(t, v, dtype, shape if is_loose(v) else ())), shape) for v in (x, y))
    return t.emit(spec.op, lhs=lhs, rhs=rhs, **fields)


def operand_dtype(what: str, kind: str, x: Val, y: Val) -> DType:
    """The dtype that both operands are brought to."""
    if kind == "bitwise":
        return _bitwise_dtype(what, x, y)
    dtype = common_dtype(what, x, y)
    if kind == "compare":
        return dtype
    if not dtype.arithmetic:
        raise TileTypeError(
            f"{what}: {dtype} can be stored and converted but not computed with",
            hints=["compute in another type: ct.astype(x, ct.float32)"],
        )
    if kind == "divide":
        return dtype if dtype.is_float else float32
    if kind in ("shift", "integer"):
        _refuse_floats(what, x, y, bools=kind == "integer")
    if kind == "float" and not dtype.is_float:
        raise TileTypeError(f"{what}: expected floats, got {dtype}", hints=["cast with ct.astype(x, ct.float32)"])
    if dtype is bool_:
        raise TileTypeError(f"{what}: not possible on bools", hints=["cast with ct.astype(x, ct.int32), or use & | ^"])
    return dtype


def _refuse_floats(what: str, *values: Val, bools: bool) -> None:
    # A float beside & is mostly a comparison without parentheses: t > 0 & t < 2 is t > (0 & t) < 2.
    about = [f"comparisons need parentheses beside {what}: (a > 0) {what} (b < 2)"] if what in ("&", "|", "^") else []
    for argument, v in zip("xy", values, strict=True):
        if category(v) == FLOAT or (not bools and category(v) == BOOL):
            hints = [*about, *(["cast with ct.astype(x, ct.int32)"] if is_tile(v) else [])]
            raise of_operand(argument, TileTypeError(f"{what}: expected integers, got {named(v)}", hints=hints))


def _width(dtype: DType) -> int:
    return dtype.bitwidth


def _bitwise_dtype(what: str, x: Val, y: Val) -> DType:
    """Bitwise operands are not promoted; a loose constant takes the other side's dtype."""
    _refuse_floats(what, x, y, bools=True)
    if not is_loose(x) and not is_loose(y):
        if x.type.dtype is not y.type.dtype:
            raise TileTypeError(
                f"{what}: both sides must have the same type, got {x.type.dtype} and {y.type.dtype}",
                hints=[f"cast one side, for example ct.astype(x, ct.{max(x.type.dtype, y.type.dtype, key=_width)})"],
            )
        return dtype_of(x)
    constant, dtype = (x, y.type.dtype) if is_loose(x) else (y, x.type.dtype)
    if category(constant) == BOOL and dtype is int8:
        raise no_common_dtype(what, bool_, dtype)
    if category(constant) == INT and dtype is bool_:
        return dtype_of(constant)
    if dtype.is_int:
        check_range(what, constant, dtype)
    return dtype  # type: ignore[no-any-return]


# -- The functions ---------------------------------------------------------------------------------------------------


def _rounded(name: str) -> Callable[..., Val]:
    def rule(t: Translator, x: Val, y: Val, /, *, rounding_mode: Val = None, flush_to_zero: Val = False) -> Val:
        return binary(t, name, x, y, rounding=rounding_mode, ftz=flag(name, "flush_to_zero", flush_to_zero) or None)

    return rule


def _extreme(name: str) -> Callable[..., Val]:
    def rule(t: Translator, x: Val, y: Val, /, *, flush_to_zero: Val = False, propagate_nan: Val = False) -> Val:
        ftz = flag(name, "flush_to_zero", flush_to_zero) or None
        return binary(t, name, x, y, ftz=ftz, propagate_nan=flag(name, "propagate_nan", propagate_nan) or None)

    return rule


def _plain(name: str) -> Callable[..., Val]:
    def rule(t: Translator, x: Val, y: Val, /) -> Val:
        return binary(t, name, x, y)

    return rule


for _name in ("add", "sub", "mul", "truediv"):
    add_rule(_name, _rounded(_name), getattr(operator, _name))
for _name in ("minimum", "maximum"):
    add_rule(_name, _extreme(_name))
for _name, *_sames in (
    ("floordiv", operator.floordiv), ("cdiv",), ("mod", operator.mod), ("atan2",),
    ("bitwise_and", operator.and_), ("bitwise_or", operator.or_), ("bitwise_xor", operator.xor),
    ("bitwise_lshift", operator.lshift), ("bitwise_rshift", operator.rshift),
    ("equal", operator.eq), ("not_equal", operator.ne), ("less", operator.lt), ("less_equal", operator.le),
    ("greater", operator.gt), ("greater_equal", operator.ge),
):
    add_rule(_name, _plain(_name), *_sames)


@call_rule("pow", operator.pow, pow)
def pow_rule(t: Translator, x: Val, y: Val, /) -> Val:
    return power(t, x, y)


def power(t: Translator, x: Val, y: Val, what: str = "pow") -> Val:
    """`x ** y`."""
    x, y = numbers(what, x, y)
    left, right = known(x), known(y)
    if left is not None and right is not None:
        if is_loose(x) and is_loose(y):
            return folding.run(what, folding.power, left, right)
        return fold_typed(t, what, ops.Pow, folding.power, (left, right), common_dtype(what, x, y))
    base, exponent = dtype_of(x), dtype_of(y)
    if base is bool_ or exponent is bool_ or not (base.arithmetic and exponent.arithmetic):
        raise TileTypeError(f"{what}: expected numbers, got {base} and {exponent}",
                            hints=["cast with ct.astype(x, ct.int32) or ct.astype(x, ct.float32)"])
    # A small integer exponent multiplies repeatedly in the type of the base, whatever it promotes to.
    by_multiplying = exponent in (int8, int16, int32, uint8, uint16) if base.is_float else exponent.is_int
    if not by_multiplying:
        base = exponent = operand_dtype(what, "arithmetic", x, y)
    elif not base.is_float:
        base = exponent = common_dtype(what, x, y)
    shape = common_shape(what, x, y)
    lhs, rhs = (broadcast(t, typed(t, v, d), shape) for v, d in ((x, base), (y, exponent)))
    return t.emit(ops.Pow, lhs=lhs, rhs=rhs)


@call_rule("clamp")
def clamp(t: Translator, x: Val, low: Val, high: Val, /) -> Val:
    raised = binary(t, "maximum", x, low, "clamp", **_keeping_nan("clamp", x, low))
    return binary(t, "minimum", raised, high, "clamp", **_keeping_nan("clamp", raised, high))


def _keeping_nan(what: str, x: Val, y: Val) -> dict[str, Any]:
    """The option by which NaNs win, of operands that may hold some."""
    x, y = numbers(what, x, y)
    return {"propagate_nan": True} if common_dtype(what, x, y).is_float else {}


@call_rule("divmod", divmod)
def divmod_(t: Translator, x: Val, y: Val, /) -> Val:
    x, y = numbers("divmod", x, y)
    if known(x) is None or known(y) is None:
        _refuse_floats("divmod", x, y, bools=True)
    return binary(t, "floordiv", x, y, "divmod"), binary(t, "mod", x, y, "divmod")


@call_rule("where")
def where(t: Translator, cond: Val, x: Val, y: Val, /) -> Val:
    cond = number("where", cond, "cond")
    x, y = numbers("where", x, y)
    dtype = common_dtype("where", x, y)
    shape = common_shape("where", cond, x, y)
    cond = broadcast(t, as_bool(t, cond), shape)
    lhs, rhs = (broadcast(t, typed(t, v, dtype), shape) for v in (x, y))
    return t.emit(ops.Select, cond=cond, lhs=lhs, rhs=rhs)


def as_bool(t: Translator, value: Val) -> Value:
    """`value != 0` as a bool tile."""
    return typed(t, value, bool_)


def zero_test(t: Translator, value: Value) -> Value:
    """`value == 0`, element-wise: what `not` means on tiles."""
    if value.type.dtype is bool_:
        return t.emit(Not, src=value)
    value = computable(t, value)
    zero = t.constant(convert(0, value.type.dtype), value.type.dtype, value.type.shape)
    return t.emit(ops.Eq, lhs=value, rhs=zero)
