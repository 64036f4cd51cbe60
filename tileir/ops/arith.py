"""Constants and element-wise arithmetic on tiles of one shape (the frontend promotes and broadcasts first)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from tilewright.tileir.analysis.floats import holds
from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType, bool_
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.types import TileType, Type


def same_shape(opcode: str, *values: Value) -> None:
    first = values[0].type.shape
    for v in values[1:]:
        require(v.type.shape == first, f"{opcode}: shapes differ: {values[0].type} and {v.type}")


def same_type(opcode: str, *values: Value) -> None:
    first = values[0].type.erased()
    for v in values[1:]:
        if v.type.erased() != first:  # the text of types costs more than the rest of the check
            raise TileTypeError(f"{opcode}: operand types differ: {first} and {v.type}")


class Kind(NamedTuple):
    """The elements that an op computes with: what they are called, and which dtypes have them."""

    name: str
    admits: Callable[[DType], bool]


NUMBERS = Kind("numbers", lambda dtype: dtype.arithmetic and not dtype.is_bool)
INTEGERS = Kind("integers", lambda dtype: dtype.is_int)
FLOATS = Kind("floats", lambda dtype: dtype.is_float and dtype.arithmetic)
ORDERED = Kind("numbers or bools", lambda dtype: dtype.arithmetic)
BITS = Kind("integers or bools", lambda dtype: not dtype.is_float)


def check_kind(opcode: str, kind: Kind, value: Value) -> None:
    if not (isinstance(value.type, TileType) and kind.admits(value.type.dtype)):
        raise TileTypeError(f"{opcode}: expected {kind.name}, got {value.type}")


class Constant(Op, opcode="constant", rematerializable=True, speculatable=True):
    """Every element of the result is `value` (bool, int or float as the dtype asks; already in range and rounded)."""

    value: bool | int | float = attribute()
    type: TileType = attribute()

    def infer(self) -> tuple[Type, ...]:
        dtype = self.type.dtype
        if dtype.is_bool:
            require(isinstance(self.value, bool), f"constant: {self.value!r} is not a bool")
        elif dtype.is_int:
            low, high = dtype.int_range
            ok = isinstance(self.value, int) and not isinstance(self.value, bool) and low <= self.value <= high
            require(ok, f"constant: {self.value!r} is not a {dtype}")
        else:
            ok = isinstance(self.value, float) and holds(self.value, dtype)
            require(ok, f"constant: {self.value!r} is no value of {dtype}")
        return (self.type,)


class Binary(Op, elementwise=True):
    """Two tiles of one type in, one tile of that type out."""

    takes: ClassVar[Kind] = NUMBERS

    lhs: Value = operand()
    rhs: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        same_type(self.opcode, self.lhs, self.rhs)
        check_kind(self.opcode, self.takes, self.lhs)
        return (self.lhs.type.erased(),)


class RoundedBinary(Binary):
    """Arithmetic with IEEE rounding options. Integers wrap and ignore the options."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)


class Add(RoundedBinary, opcode="add", commutative=True, cheap=True, speculatable=True):
    """lhs + rhs. Integers wrap modulo 2^n."""


class Sub(RoundedBinary, opcode="sub", cheap=True, speculatable=True):
    """lhs - rhs. Integers wrap modulo 2^n."""


class Mul(RoundedBinary, opcode="mul", commutative=True, cheap=True, speculatable=True):
    """lhs * rhs. Integers wrap modulo 2^n."""


class Div(RoundedBinary, opcode="div"):
    """lhs / rhs on floats. `rounding` may also be FULL or APPROX (float32). `form` is not FLUSHED."""

    takes = FLOATS
    form: Form = attribute(default=Form.USES, enum=Form)


class Fma(Op, opcode="fma", elementwise=True):
    """a * b + c on floats with one rounding."""

    a: Value = operand()
    b: Value = operand()
    c: Value = operand()
    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        same_type("fma", self.a, self.b, self.c)
        check_kind("fma", FLOATS, self.a)
        return (self.a.type.erased(),)


class FloorDiv(Binary, opcode="floordiv"):
    """Integers: quotient toward minus infinity. Floats: floor(round(lhs / rhs))."""


class CeilDiv(Binary, opcode="cdiv"):
    """Integers: quotient toward plus infinity."""

    takes = INTEGERS


class Mod(Binary, opcode="mod"):
    """Remainder with the sign of the divisor, for integers and floats."""


class Pow(Op, opcode="pow", elementwise=True):
    """lhs ** rhs. Both floats of one dtype, or any arithmetic lhs with an integer rhs (repeated multiplication in
    the dtype of lhs; a negative exponent of a float base gives the reciprocal, of an integer base 0 unless |lhs|
    is 1)."""

    lhs: Value = operand()
    rhs: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        same_shape("pow", self.lhs, self.rhs)
        ok = self.lhs.type.dtype == self.rhs.type.dtype or self.rhs.type.dtype.is_int
        require(ok, f"pow: dtypes do not fit: {self.lhs.type} ** {self.rhs.type}")
        check_kind("pow", NUMBERS, self.lhs)
        return (self.lhs.type.erased(),)


class MinMax(Binary, cheap=True, speculatable=True):
    """NaN operands are ignored unless `propagate_nan`; -0.0 is less than 0.0."""

    takes = ORDERED
    propagate_nan: bool = attribute(default=False)
    ftz: bool = attribute(default=False)


class Min(MinMax, opcode="min", commutative=True):
    """The smaller operand."""


class Max(MinMax, opcode="max", commutative=True):
    """The larger operand."""


class Atan2(Binary, opcode="atan2"):
    """Angle of the point (rhs, lhs), floats."""

    takes = FLOATS


class And(Binary, opcode="and", commutative=True, cheap=True, speculatable=True):
    """Bitwise and of integers or bools."""

    takes = BITS


class Or(Binary, opcode="or", commutative=True, cheap=True, speculatable=True):
    """Bitwise or of integers or bools."""

    takes = BITS


class Xor(Binary, opcode="xor", commutative=True, cheap=True, speculatable=True):
    """Bitwise exclusive or of integers or bools."""

    takes = BITS


class Shl(Binary, opcode="shl", cheap=True, speculatable=True):
    """Shift left. A count outside 0..width-1 gives an unspecified value (both executors: count modulo width)."""

    takes = INTEGERS


class Shr(Binary, opcode="shr", cheap=True, speculatable=True):
    """Shift right, arithmetic for signed and logical for unsigned lhs; counts as in `shl`."""

    takes = INTEGERS


class Compare(Op, elementwise=True, cheap=True, speculatable=True):
    """Ordered comparison, i1 result: with a NaN everything but `ne` is False."""

    lhs: Value = operand()
    rhs: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        same_type(self.opcode, self.lhs, self.rhs)
        return (self.lhs.type.erased().with_dtype(bool_),)


class Eq(Compare, opcode="eq", commutative=True):
    """lhs == rhs."""


class Ne(Compare, opcode="ne", commutative=True):
    """lhs != rhs; NaN differs from everything."""


class Lt(Compare, opcode="lt"):
    """lhs < rhs."""


class Le(Compare, opcode="le"):
    """lhs <= rhs."""


class Gt(Compare, opcode="gt"):
    """lhs > rhs."""


class Ge(Compare, opcode="ge"):
    """lhs >= rhs."""


class Select(Op, opcode="select", elementwise=True, cheap=True, speculatable=True):
    """cond ? lhs : rhs, per element."""

    cond: Value = operand()
    lhs: Value = operand()
    rhs: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        same_type("select", self.lhs, self.rhs)
        same_shape("select", self.cond, self.lhs)
        require(self.cond.type.dtype is bool_, f"select: the condition is {self.cond.type}, not a bool tile")
        return (self.lhs.type.erased(),)
