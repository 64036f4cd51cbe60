"""Common dtypes of mixed operands, loose constants becoming typed, implicit casts, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.frontend import advice
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Val, is_loose, is_tile, named, strict_value
from tilewright.tileir.analysis.convert import cast as cast_constant
from tilewright.tileir.analysis.convert import convert_constant
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileError, TileTypeError, TileValueError
from tilewright.tileir.dtypes import DType, bfloat16, bool_, float16, float32, int32, int64, uint64
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.shape import Broadcast, Reshape

Number = bool | int | float
BOOL, INT, FLOAT = 0, 1, 2
_CATEGORY_NAMES = ("bool", "integer", "float")


# -- Categories and common dtypes ------------------------------------------------------------------------------------


def category(x: Val) -> int:
    """BOOL, INT or FLOAT of a dtype, a loose constant or a tile."""
    if isinstance(x, Value):
        x = x.type.dtype
    if isinstance(x, DType):
        return FLOAT if x.is_float else INT if x.is_int else BOOL
    return BOOL if isinstance(x, bool) else INT if isinstance(x, int) else FLOAT


def loose_dtype(value: Number) -> DType:
    """The concrete dtype of a loose constant."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return float32
    for dtype in (int32, int64, uint64):
        low, high = dtype.int_range
        if low <= value <= high:
            return dtype
    shown = value if value.bit_length() <= 256 else f"of {value.bit_length()} bits"
    raise TileValueError(f"the constant {shown} does not fit in 64 bits")


def dtype_of(x: Val) -> DType:
    """The dtype of a tile, the concrete one of a loose constant."""
    if isinstance(x, Value):
        dtype: DType = x.type.dtype
        return dtype
    return loose_dtype(x)


def common_typed(a: DType, b: DType) -> DType | None:
    """The dtype that two typed operands meet in, None where there is none."""
    if a is b:
        return a
    if _restricted(a) or _restricted(b):
        return None
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    if {a, b} == {float16, bfloat16} or (a.is_int and a.is_signed != b.is_signed):
        return None
    return a if a.bitwidth > b.bitwidth else b


def _restricted(dtype: DType) -> bool:
    return not dtype.arithmetic


def common_dtype(what: str, x: Val, y: Val) -> DType:
    """The dtype in which `x what y` is computed; x and y are tiles or loose constants."""
    if is_loose(x) and is_loose(y):
        a, b = loose_dtype(x), loose_dtype(y)
        if category(a) != category(b):
            return a if category(a) > category(b) else b
        return common_typed(a, b) or uint64
    if is_loose(x) or is_loose(y):
        try:
            return _with_loose(what, y.type.dtype, x) if is_loose(x) else _with_loose(what, x.type.dtype, y)
        except TileError as error:
            of_operand("x" if is_loose(x) else "y", error)
            raise
    common = common_typed(x.type.dtype, y.type.dtype)
    if common is None:
        raise no_common_dtype(what, x.type.dtype, y.type.dtype)
    return common


def of_operand(argument: str, error: TileError) -> TileError:
    """The error as one about the operand x or y, which the call or operator underlines."""
    error.subject.argument = argument
    return error


def no_common_dtype(what: str, a: DType, b: DType) -> TileTypeError:
    """The error for operands whose dtypes do not promote."""
    return TileTypeError(
        f"{what}: {a} and {b} have no common type",
        hints=[f"cast one side, for example ct.astype(x, ct.{b if a is bool_ else a})"],
    )


def _with_loose(what: str, dtype: DType, constant: Number) -> DType:
    if category(constant) <= category(dtype):
        if category(constant) == category(dtype) == INT:
            check_range(what, constant, dtype)
        loose_dtype(constant)  # 64 bits hold it
        return dtype
    return loose_dtype(constant)


def check_range(what: str, constant: Number, dtype: DType, hint: str = "cast the tile to a wider dtype first") -> None:
    """A loose int must be a value of the integer dtype that it meets."""
    low, high = dtype.int_range
    if not low <= constant <= high:
        raise TileValueError(
            f"{what}: the constant {constant} is out of range for {dtype} ({low} to {high})", hints=[hint])


# -- Typing values ---------------------------------------------------------------------------------------------------


def typed(t: Translator, value: Val, dtype: DType | None = None, shape: Sequence[int] = ()) -> Value:
    """A tile of `dtype` (default: its own): a loose constant becomes a Constant, a tile is cast as `astype` does."""
    if isinstance(value, Value):
        return value if dtype is None or value.type.dtype is dtype else cast(t, value, dtype)
    dtype = dtype or loose_dtype(value)
    return t.constant(convert(value, dtype), dtype, shape)


def convert(value: Number, dtype: DType) -> Number:
    """A constant in the range and precision of a dtype: integers wrap, floats truncate or round."""
    number: Number = convert_constant(value, dtype)
    return number


def cast(t: Translator, value: Value, dtype: DType) -> Value:
    """Explicit conversion by the default rounding; constants stay constants where their conversion is certain."""
    if value.type.dtype is dtype:
        return value
    constant = strict_value(value)
    known = None if constant is None else cast_constant(constant, value.type.dtype, dtype, RoundingMode.RN)
    return t.emit(Cast, src=value, dtype=dtype) if known is None else t.constant(known, dtype)


def computable(t: Translator, value: Value) -> Value:
    """A tile whose dtype can be computed with: the formats that are for storage become float32, which is exact."""
    return value if value.type.dtype.arithmetic else cast(t, value, float32)


def implicit_cast(t: Translator, what: str, value: Val, dtype: DType) -> Value:
    """`value` where a `dtype` is wanted (language rule: only without loss of kind); refuse what needs astype."""
    if is_loose(value):
        return t.constant(convert(_checked_loose(what, value, dtype), dtype), dtype)
    if not is_tile(value):
        raise TileTypeError(f"{what}: expected a tile or a scalar, got {named(value)}",
                            hints=advice.on_number(value))
    if common_typed(value.type.dtype, dtype) is not dtype:
        raise TileTypeError(
            f"{what}: {value.type.dtype} is not converted to {dtype} implicitly",
            hints=[f"write ct.astype(x, ct.{dtype})"],
        )
    return typed(t, value, dtype)


def _checked_loose(what: str, value: Number, dtype: DType) -> Number:
    if dtype is bool_:
        if value not in (0, 1) or isinstance(value, float):
            raise TileTypeError(f"{what}: the constant {value} is not a bool", hints=["write True or False"])
        return bool(value)
    if category(value) > category(dtype):
        raise TileTypeError(
            f"{what}: the {_CATEGORY_NAMES[category(value)]} constant {value} is not converted to {dtype} implicitly",
            hints=[f"write ct.{dtype}({value})"],
        )
    if dtype.is_int:
        check_range(what, value, dtype, f"ct.{dtype}({value}) wraps it to {convert(value, dtype)}")
    loose_dtype(value)  # 64 bits hold it
    return value


# -- Broadcasting ----------------------------------------------------------------------------------------------------


def broadcast_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """NumPy's rule for two shapes; None where they do not fit."""
    if a == b:
        return a
    n = max(len(a), len(b))
    out = []
    for x, y in zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b, strict=True):
        if x != y and x != 1 and y != 1:
            return None
        out.append(y if x == 1 else x)
    return tuple(out)


def common_shape(what: str, *values: Val) -> tuple[int, ...]:
    """The shape that tiles and constants broadcast to together."""
    shape: tuple[int, ...] = ()
    for v in values:
        if not isinstance(v, Value):
            continue
        new = broadcast_shapes(shape, v.type.shape)
        if new is None:
            raise TileTypeError(
                f"{what}: the shapes {shape} and {v.type.shape} do not fit together",
                hints=["axes are matched from the last one; lengths must be equal or 1 (t[:, None] adds an axis)"],
            )
        shape = new
    return shape


def broadcast(t: Translator, value: Value, shape: tuple[int, ...]) -> Value:
    """Repeat a tile to a shape that it is known to broadcast to."""
    old = value.type.shape
    if old == shape:
        return value
    if not old and type(value.owner) is Constant:
        return t.constant(value.owner.value, value.type.dtype, shape)
    if old and len(old) < len(shape):
        value = t.emit(Reshape, src=value, shape=(1,) * (len(shape) - len(old)) + old)
    return value if value.type.shape == shape else t.emit(Broadcast, src=value, shape=shape)
